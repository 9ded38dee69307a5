//! Translates errors of SQLite, our VFS and the operating system into the engine's.

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use slob_engine::{EngineError, ErrorKind};

use crate::vfs::{IoFault, Meter};

/// Prefers the better message of a fault of the VFS, which must come from this thread.
pub(crate) fn failed(step: impl Into<String>, error: &rusqlite::Error, meter: &Meter) -> EngineError {
    let code = error.sqlite_error_code();
    let io_related =
        matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull));
    let fault = if io_related { meter.take_fault() } else { None };
    let extended = match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.extended_code),
        _ => None,
    };
    let no_shared_memory = extended == Some(SQLITE_IOERR_SHMSIZE);
    let kind = match fault {
        Some(fault) if !no_shared_memory => return from_fault(step, &fault),
        _ if no_shared_memory => ErrorKind::Space,
        _ => code.map_or(ErrorKind::Fatal, kind_of),
    };
    let message = match code {
        _ if no_shared_memory => {
            "no room is left for the shared memory file (-shm) beside the database file".into()
        }
        Some(ErrorCode::DiskFull) => "no room is left on the file system".into(),
        Some(ErrorCode::ReadOnly) => {
            "the database file, its folder or the whole file system can only be read".into()
        }
        _ => error.to_string(),
    };
    let result = EngineError::new(kind, step, message).advised(advice(kind));
    match extended {
        Some(extended) => result.with_code(format!("SQLite result code {extended}")),
        None => result,
    }
}

fn from_fault(step: impl Into<String>, fault: &IoFault) -> EngineError {
    let (errno, opened, otherwise) = match fault {
        IoFault::NoDirectIo { .. } => return EngineError::new(ErrorKind::Usage, step, fault.to_string()),
        IoFault::Open { path, errno } => (*errno, Some(path), ErrorKind::Connection),
        IoFault::Transfer { errno, .. } => (*errno, None, ErrorKind::Fatal),
    };
    let kind = match errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => ErrorKind::Space,
        Errno::ROFS | Errno::ACCESS | Errno::PERM => ErrorKind::Privilege,
        Errno::MFILE | Errno::NFILE => ErrorKind::Usage,
        _ => otherwise,
    };
    let (message, advice) = match (errno, opened) {
        (Errno::MFILE, _) => (too_many_files(), Some(MORE_FILES)),
        (Errno::ROFS, Some(path)) => (
            format!("{path} can't be opened for writing: the file system is mounted read-only"),
            Some("mount it for writing, or name another folder with TARGET"),
        ),
        _ => (fault.to_string(), advice(kind)),
    };
    EngineError::new(kind, step, message).advised(advice)
}

const MORE_FILES: &str = "raise `ulimit -n`: each session needs about 4 descriptors (8 with a hot schema), so 512 sessions need about 2,100 (4,200)";

fn too_many_files() -> String {
    match getrlimit(Resource::Nofile).current {
        Some(limit) => format!("too many open files: the limit is {limit}"),
        None => "too many open files".into(),
    }
}

pub(crate) fn kind_of(code: ErrorCode) -> ErrorKind {
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

const RELOAD: &str = "the file is damaged; remove the schema with `slob drop` and load it again";

fn advice(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Retryable => Some("another program uses the file; end it"),
        ErrorKind::Space => Some("make room, or name another folder with TARGET"),
        ErrorKind::Privilege | ErrorKind::Connection => Some(
            "check that the folder and the file exist and that this user may write to them, or name another folder with TARGET",
        ),
        ErrorKind::Data => Some(RELOAD),
        _ => None,
    }
}

pub(crate) fn damaged(step: impl Into<String>, message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Data, step, message).with_advice(RELOAD)
}

pub(crate) fn os_failed(step: impl Into<String>, error: &std::io::Error) -> EngineError {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Privilege,
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Space,
        _ => ErrorKind::Fatal,
    };
    EngineError::new(kind, step, error.to_string()).advised(advice(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi::{self, SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_READONLY_DIRECTORY};

    fn sqlite(code: i32) -> EngineError {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        failed("opening x", &error, &Meter::default())
    }

    #[test]
    fn a_full_file_system_is_reported_as_such() {
        for code in [SQLITE_IOERR_SHMSIZE, SQLITE_FULL] {
            let error = sqlite(code);
            assert_eq!(error.kind(), ErrorKind::Space);
            assert!(error.to_string().contains("no room is left"), "{error}");
        }
    }

    #[test]
    fn the_error_number_of_opening_decides_the_kind() {
        let kind = |errno| from_fault("opening x", &IoFault::Open { path: "/x".into(), errno });
        for (errno, expected, words) in [
            (Errno::MFILE, ErrorKind::Usage, "ulimit -n"),
            (Errno::ROFS, ErrorKind::Privilege, "mounted read-only"),
            (Errno::ACCESS, ErrorKind::Privilege, "Permission denied"),
            (Errno::NOSPC, ErrorKind::Space, "No space left"),
            (Errno::NOENT, ErrorKind::Connection, "No such file"),
        ] {
            let error = kind(errno);
            assert_eq!(error.kind(), expected, "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(sqlite(SQLITE_CANTOPEN).kind(), ErrorKind::Connection);
        assert_eq!(sqlite(SQLITE_READONLY_DIRECTORY).kind(), ErrorKind::Privilege);
    }
}
