use slob_engine::{EngineError, ErrorKind};

/// Decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunErrorKind {
    /// Nothing was changed.
    Usage,
    /// What was done is kept.
    Failed,
    Interrupted,
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    pub kind: RunErrorKind,
    message: String,
}

impl RunError {
    pub(crate) fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(RunErrorKind::Usage, message)
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(RunErrorKind::Failed, message)
    }

    pub(crate) fn interrupted(what: &str) -> Self {
        Self::new(RunErrorKind::Interrupted, format!("{what} was interrupted"))
    }

    pub(crate) fn with_advice(mut self, advice: &str) -> Self {
        self.message = format!("{}; {advice}", self.message);
        self
    }

    /// Before anything is changed, missing privileges, missing space and a refused connection are usage errors too.
    pub(crate) fn while_preparing(error: EngineError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Usage | ErrorKind::Privilege | ErrorKind::Space | ErrorKind::Connection => {
                RunErrorKind::Usage
            }
            _ => RunErrorKind::Failed,
        };
        Self { kind, ..error.into() }
    }
}

impl From<EngineError> for RunError {
    fn from(error: EngineError) -> Self {
        let kind = match error.kind() {
            ErrorKind::Usage => RunErrorKind::Usage,
            ErrorKind::Cancelled => RunErrorKind::Interrupted,
            _ => RunErrorKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

pub(crate) fn panicked(who: &str) -> EngineError {
    EngineError::new(ErrorKind::Fatal, who, "panicked: this is a fault of this program, please report it")
}
