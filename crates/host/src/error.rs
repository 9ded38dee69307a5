use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// The call has no path.
    #[error("{call} failed: {source}")]
    System { call: &'static str, source: io::Error },
    #[error("{} does not read as expected: {what}", path.display())]
    Unexpected { path: PathBuf, what: String },
    #[error("there is no process {pid} (it may have ended)")]
    NoSuchProcess { pid: u32 },
    #[error("{} does not exist: create it first, or name another path", path.display())]
    NoSuchPath { path: PathBuf },
    #[error("{} is not a folder: name the folder that is to hold the files", path.display())]
    NotAFolder { path: PathBuf },
    #[error("cannot create a file in {}: {source}; choose a folder this user may write to", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error(
        "{} has {free_bytes} bytes free, and the scratch file needs {needed_bytes}: free some space, \
         choose another folder, or ask for a smaller file",
        path.display()
    )]
    NotEnoughSpace { path: PathBuf, needed_bytes: u64, free_bytes: u64 },
    #[error(
        "the file system of {} refuses direct I/O: {source}; choose another folder, or go on without direct I/O \
         (the page cache then serves part of the reads)",
        path.display()
    )]
    DirectIoRefused { path: PathBuf, source: io::Error },
    #[error("the probe cannot run this plan: {what}")]
    BadPlan { what: String },
}

impl HostError {
    /// An argument of `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source: source.into() }
    }

    pub(crate) fn unexpected(path: &Path, what: impl Into<String>) -> Self {
        Self::Unexpected { path: path.to_path_buf(), what: what.into() }
    }
}
