//! Errors of saving and reading.

use std::io;
use std::path::PathBuf;

/// Why a record could not be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("{step} {}: {source}", path.display())]
    Io {
        /// What was being done, such as "reading".
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a record.
    #[error("{} is not a run record: {source}", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        source: serde_json::Error,
    },
    /// The file was written by a later release.
    #[error(
        "{} has record version {found}; this release reads versions up to {known}: use a newer one",
        path.display()
    )]
    Version {
        /// Which file.
        path: PathBuf,
        /// The version found.
        found: u64,
        /// The latest version known here.
        known: u32,
    },
    /// No run of that name.
    #[error("there is no run '{name}' ({} holds no {})", path.display(), crate::RUN_FILE)]
    NoRun {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
}

impl RecordError {
    pub(crate) fn io(step: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { step, path, source }
    }
}
