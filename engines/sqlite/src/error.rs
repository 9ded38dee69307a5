//! From SQLite's errors to the engine's.

use rusqlite::ErrorCode;
use slob_engine::{EngineError, ErrorKind};

use crate::library::InitError;
use crate::vfs::{IoFault, Meter};

/// Translates an error of SQLite that happened in `step`. What our VFS knows of it is the better message.
pub(crate) fn failed(step: impl Into<String>, error: &rusqlite::Error, meter: &Meter) -> EngineError {
    let code = error.sqlite_error_code();
    let io_related =
        matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull));
    if io_related && let Some(fault) = meter.take_fault() {
        return from_fault(step, &fault);
    }
    let kind = code.map_or(ErrorKind::Fatal, kind_of);
    let mut result = EngineError::new(kind, step, error.to_string());
    if let rusqlite::Error::SqliteFailure(failure, _) = error {
        result = result.with_code(format!("SQLite result code {}", failure.extended_code));
    }
    match advice(kind) {
        Some(advice) => result.with_advice(advice),
        None => result,
    }
}

fn from_fault(step: impl Into<String>, fault: &IoFault) -> EngineError {
    let kind = match fault {
        IoFault::NoDirectIo { .. } => ErrorKind::Usage,
        IoFault::Os { .. } => ErrorKind::Fatal,
    };
    EngineError::new(kind, step, fault.to_string())
}

fn kind_of(code: ErrorCode) -> ErrorKind {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Retryable,
        ErrorCode::DiskFull => ErrorKind::Space,
        ErrorCode::PermissionDenied | ErrorCode::ReadOnly => ErrorKind::Privilege,
        ErrorCode::CannotOpen => ErrorKind::Connection,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => ErrorKind::Data,
        ErrorCode::OperationInterrupted => ErrorKind::Cancelled,
        _ => ErrorKind::Fatal,
    }
}

fn advice(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Retryable => Some("another program uses the file; end it"),
        ErrorKind::Space => Some("make room, or name another folder with TARGET"),
        ErrorKind::Privilege | ErrorKind::Connection => {
            Some("check that the folder and the file exist and that this user may write to them")
        }
        ErrorKind::Data => Some("the file is damaged; remove the schema with `slob drop` and load it again"),
        _ => None,
    }
}

/// Translates an error of the operating system.
pub(crate) fn os_failed(step: impl Into<String>, error: &std::io::Error) -> EngineError {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Privilege,
        std::io::ErrorKind::StorageFull => ErrorKind::Space,
        _ => ErrorKind::Fatal,
    };
    EngineError::new(kind, step, error.to_string())
}

impl From<InitError> for EngineError {
    fn from(error: InitError) -> Self {
        Self::new(ErrorKind::Fatal, "setting up SQLite", error.to_string())
    }
}
