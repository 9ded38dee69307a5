//! Errors that people can act on.

use std::fmt;

/// Result of a call to an engine.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// Kind of a failure: it decides the exit code, and on a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is invalid as it was made. Nothing was changed.
    Usage,
    /// The server is unreachable, or went away.
    Connection,
    /// The role or the file permissions are insufficient.
    Privilege,
    /// No space is left for data or log.
    Space,
    /// A conflict with other work. The operation may succeed when repeated.
    Retryable,
    /// Ended by [`crate::Cancel`].
    Cancelled,
    /// Stored data are damaged.
    Data,
    /// Anything else.
    Fatal,
}

/// An engine's error: the step, the target, the message of the server or the system, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    kind: ErrorKind,
    step: String,
    message: String,
    code: Option<String>,
    advice: Option<String>,
}

impl EngineError {
    /// An error of a step, such as "opening ./data/slob3.db", with the message of the server or the system.
    pub fn new(kind: ErrorKind, step: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, step: step.into(), message: message.into(), code: None, advice: None }
    }

    /// Adds the server's own code, such as an SQLSTATE.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds the remedy.
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds the remedy, if there is one.
    pub fn advised(self, advice: Option<&str>) -> Self {
        Self { advice: advice.map(str::to_owned).or(self.advice), ..self }
    }

    /// Changes the kind, where the context says more than the server's code.
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The server's own code, if it gave one.
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
