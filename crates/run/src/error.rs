//! Errors of loading and running.

use std::fmt;

use slob_engine::{EngineError, ErrorKind};

/// What the error means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunErrorKind {
    /// The request can't be carried out: nothing was touched.
    Usage,
    /// The load or run failed: what was done is kept.
    Failed,
    /// The user ended it.
    Interrupted,
}

/// Why a load or run did not happen or did not succeed.
#[derive(Clone, Debug)]
pub struct RunError {
    kind: RunErrorKind,
    message: String,
}

impl RunError {
    /// A request that can't be carried out; the message says why and what to do instead.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: RunErrorKind::Usage, message: message.into() }
    }

    /// A failure on the way.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: RunErrorKind::Failed, message: message.into() }
    }

    /// The user's wish to stop.
    #[must_use]
    pub fn interrupted(what: &str) -> Self {
        Self { kind: RunErrorKind::Interrupted, message: format!("{what} was interrupted") }
    }

    /// With what to do next.
    #[must_use]
    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        self.message = format!("{}; {advice}", self.message);
        self
    }

    /// What the error means.
    #[must_use]
    pub fn kind(&self) -> RunErrorKind {
        self.kind
    }

    /// An engine's error while something was being prepared: usage errors stay usage errors.
    pub(crate) fn while_preparing(error: &EngineError) -> Self {
        match error.kind() {
            ErrorKind::Usage | ErrorKind::Privilege | ErrorKind::Space => Self::usage(error.to_string()),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RunError {}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        match error.kind() {
            ErrorKind::Usage => Self::usage(error.to_string()),
            ErrorKind::Cancelled => Self { kind: RunErrorKind::Interrupted, message: error.to_string() },
            _ => Self::failed(error.to_string()),
        }
    }
}
