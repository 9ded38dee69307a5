//! Errors that people can act on.

use std::fmt;

/// The result of an engine's call.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// Decides exit code and retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is invalid. Nothing was changed.
    Usage,
    /// The server is unreachable, or went away.
    Connection,
    /// Rights of the role or of files are insufficient.
    Privilege,
    /// Data or log have no space.
    Space,
    /// A conflict with other work: repeating may succeed.
    Retryable,
    /// Ended by [`crate::Cancel`].
    Cancelled,
    /// Stored data are damaged.
    Data,
    /// Anything else.
    Fatal,
}

/// Step, message of the server or the system, and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineError {
    kind: ErrorKind,
    step: String,
    message: String,
    code: Option<String>,
    advice: Option<String>,
}

impl EngineError {
    /// A step is such as "opening ./data/slob3.db".
    pub fn new(kind: ErrorKind, step: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, step: step.into(), message: message.into(), code: None, advice: None }
    }

    /// Adds the server's code, such as an SQLSTATE.
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds the remedy.
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds another remedy to the one that is there.
    pub fn or_advice(mut self, other: &str) -> Self {
        let advice = self.advice.take().map(|advice| advice + "; ").unwrap_or_default();
        self.with_advice(advice + other)
    }

    /// Adds the remedy, if any.
    pub fn advised(self, advice: Option<&str>) -> Self {
        Self { advice: advice.map(str::to_owned).or(self.advice), ..self }
    }

    /// Changes the kind, if the context says more than the code.
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The server's code, if any.
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
