//! What can go wrong when the host is asked.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of this room: what was tried, where, and what to do next where that is known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A system call on a path failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "read", "open".
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A system call without a path failed.
    #[error("{call} failed: {source}")]
    System {
        /// The name of the call.
        call: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of the kernel does not read as this version of OpenSLOB expects.
    #[error("{} does not read as expected: {what}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What is missing or odd.
        what: String,
    },
    /// No process has this number (any more).
    #[error("there is no process {pid} (it may have ended)")]
    NoSuchProcess {
        /// The number asked for.
        pid: u32,
    },
    /// The path does not exist.
    #[error("{} does not exist: create it first, or name another path", path.display())]
    NoSuchPath {
        /// The path asked for.
        path: PathBuf,
    },
    /// A folder was expected.
    #[error("{} is not a folder: name the folder that is to hold the files", path.display())]
    NotAFolder {
        /// The path asked for.
        path: PathBuf,
    },
    /// No file can be created in the folder.
    #[error("cannot create a file in {}: {source}; choose a folder this user may write to", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The folder's file system does not take the scratch file.
    #[error(
        "{} has {free_bytes} bytes free, and the scratch file needs {needed_bytes}: free some space, \
         choose another folder, or ask for a smaller file",
        path.display()
    )]
    NotEnoughSpace {
        /// The folder.
        path: PathBuf,
        /// Size of the scratch file.
        needed_bytes: u64,
        /// Bytes that an ordinary user may still write there.
        free_bytes: u64,
    },
    /// The file system refuses `O_DIRECT`.
    #[error(
        "the file system of {} refuses direct I/O: {source}; choose another folder, or go on without direct I/O \
         (the page cache then serves part of the reads)",
        path.display()
    )]
    DirectIoRefused {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The probe was asked for something it cannot do.
    #[error("the probe cannot run this plan: {what}")]
    BadPlan {
        /// Which value, and what it must be.
        what: String,
    },
}

impl HostError {
    /// For `map_err`: an I/O failure with its action and place.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn unexpected(path: &Path, what: impl Into<String>) -> Self {
        Self::Unexpected { path: path.to_path_buf(), what: what.into() }
    }

    /// The failure of the latest libc call of this thread.
    pub(crate) fn last_os_error(call: &'static str) -> Self {
        Self::System { call, source: io::Error::last_os_error() }
    }
}
