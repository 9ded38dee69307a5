//! Failures and their exit codes.
//!
//! 0 success; 1 a verdict failed with `--strict` or a requirement of a gate, ABORT_ON ended a run, verification found faults, or
//! some of several records could not be read; 2 bad usage or configuration, nothing was changed; 3 the load or run failed,
//! results are kept; 4 the answer is not known; 130 interrupted.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use slob_campaign::CampaignError;
use slob_demand::DemandError;
use slob_engine::{EngineError, ErrorKind};
use slob_host::HostError;
use slob_live::ServeError;
use slob_record::RecordError;
use slob_run::{RunError, RunErrorKind, WatchError};
use slob_spec::{BadTarget, SpecErrors};

pub(crate) const JUDGED: u8 = 1;

pub(crate) fn strict_code(strict: bool, are_good: bool) -> ExitCode {
    ExitCode::from(if strict && !are_good { JUDGED } else { 0 })
}

pub(crate) fn outcome_code(outcome: slob_page::Outcome) -> ExitCode {
    ExitCode::from(match outcome {
        slob_page::Outcome::Passed => 0,
        slob_page::Outcome::Failed => JUDGED,
        slob_page::Outcome::NotKnown => NOT_KNOWN,
    })
}

pub(crate) const PARTLY: u8 = 1;
const USAGE: u8 = 2;
const FAILED: u8 = 3;
pub(crate) const NOT_KNOWN: u8 = 4;
pub(crate) const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    messages: Vec<String>,
}

pub(crate) type Outcome = Result<ExitCode, Failure>;

impl Failure {
    /// Nothing was changed.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: USAGE, messages: vec![message.to_string()] }
    }

    /// The message was shown already.
    pub(crate) fn said() -> Self {
        Self { code: USAGE, messages: Vec::new() }
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self { code: FAILED, messages: vec![message.to_string()] }
    }

    /// The message must say how to go on.
    pub(crate) fn interrupted(message: impl Display) -> Self {
        Self { code: INTERRUPTED, messages: vec![message.to_string()] }
    }

    pub(crate) fn after_work(self) -> Self {
        Self { code: if self.code == USAGE { FAILED } else { self.code }, ..self }
    }

    pub(crate) fn messages(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        self.messages.join("; ")
    }

    /// `None` if the user ended it.
    pub(crate) fn refusal(&self) -> Option<String> {
        (!self.is_interruption()).then(|| self.text())
    }

    /// Wrong paths and missing permissions are bad usage; full disks and failed devices are failures.
    fn of_system(source: &io::Error, error: &dyn Display) -> Self {
        use io::ErrorKind::{
            AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound,
            PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        };
        match source.kind() {
            PermissionDenied => {
                Self::usage(format!("{error}; name a folder or file that this account may use"))
            }
            AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory | NotFound
            | ReadOnlyFilesystem => Self::usage(error),
            QuotaExceeded | StorageFull => Self::failed(format!("{error}; make room there")),
            _ => Self::failed(error),
        }
    }

    pub(crate) fn is_interruption(&self) -> bool {
        self.code == INTERRUPTED
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl From<SpecErrors> for Failure {
    fn from(errors: SpecErrors) -> Self {
        // The parameters know no engine.
        let with_forms = |error: &String| match error.contains(&BadTarget::Scheme.to_string()) {
            true => format!("{error} This build knows {}.", crate::registry::target_forms()),
            false => error.clone(),
        };
        Self { code: USAGE, messages: errors.errors().iter().map(with_forms).collect() }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match error.kind {
            RunErrorKind::Usage => USAGE,
            RunErrorKind::Failed => FAILED,
            RunErrorKind::Interrupted => INTERRUPTED,
        };
        Self { code, messages: vec![error.to_string()] }
    }
}

/// Opening a target changes nothing: a server that refuses or can't be reached is bad usage.
impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error.kind() {
            ErrorKind::Usage | ErrorKind::Privilege | ErrorKind::Space | ErrorKind::Connection => {
                Self::usage(error)
            }
            _ => Self::failed(error),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        match error {
            // The profile so far is kept.
            WatchError::Engine(error) if error.kind() == ErrorKind::Connection => Self::failed(error),
            WatchError::Engine(error) => error.into(),
            WatchError::NotCounted => Self::usage(error),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match &error {
            RecordError::Io { source, .. } => Self::of_system(source, &error),
            _ => Self::usage(error),
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        match &error {
            HostError::Io { source, .. } | HostError::System { source, .. } => {
                Self::of_system(source, &error)
            }
            _ => Self::usage(error),
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::usage(error)
    }
}

impl From<DemandError> for Failure {
    fn from(error: DemandError) -> Self {
        match error {
            DemandError::Usage(message) => Self::usage(message),
            DemandError::Failed(message) => Self::failed(message),
        }
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        match error {
            CampaignError::File(error) => error.into(),
            _ => Self::usage(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_failure_and_a_wrong_path_is_bad_usage() {
        let failure = |kind: io::ErrorKind| {
            let path = std::path::PathBuf::from("state.json");
            Failure::from(CampaignError::from(RecordError::io("writing", path)(kind.into())))
        };
        let code = |kind| failure(kind).code;
        assert_eq!(code(io::ErrorKind::StorageFull), FAILED);
        assert!(failure(io::ErrorKind::StorageFull).text().ends_with("make room there"));
        assert_eq!(code(io::ErrorKind::Other), FAILED);
        assert_eq!(code(io::ErrorKind::NotFound), USAGE);
        assert_eq!(code(io::ErrorKind::PermissionDenied), USAGE);
    }
}
