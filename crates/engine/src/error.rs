//! What went wrong, in a form that people can act on.

use std::fmt;

/// What sort of failure it is; decides the exit code and whether a retry makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request can't be carried out as it was made: nothing was touched.
    Usage,
    /// The server can't be reached, or went away.
    Connection,
    /// The role or the file permissions do not allow it.
    Privilege,
    /// No room is left for data or log.
    Space,
    /// A conflict with other work; the same operation may succeed when repeated.
    Retryable,
    /// Ended by [`crate::Cancel`].
    Cancelled,
    /// Stored data are not what they must be.
    Data,
    /// Anything else.
    Fatal,
}

/// An engine's error: what failed, in which step, on which target, with the server's own words and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    kind: ErrorKind,
    step: String,
    message: String,
    code: Option<String>,
    advice: Option<String>,
}

impl EngineError {
    /// An error of a step, such as "opening ./data/slob3.db", with what the server or system said.
    pub fn new(kind: ErrorKind, step: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, step: step.into(), message: message.into(), code: None, advice: None }
    }

    /// Adds the server's own code, such as an SQLSTATE.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same as another sort of failure, where the place it happened in says more than the server's code.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The server's own code, if it gave one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.message)?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        if let Some(advice) = &self.advice {
            write!(f, "; {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for EngineError {}
