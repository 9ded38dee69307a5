//! Where saved runs are: in a results folder and wherever names lead, or with `--from` on a board alone.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use slob_record::{RecordError, find_run, find_run_in, find_runs, find_runs_in, list_runs};
use tempfile::TempDir;

/// A results folder, or one with the runs of a board.
pub(crate) struct Results {
    folder: PathBuf,
    /// The published folders of a board, removed at the end, and its address.
    board: Option<(TempDir, String)>,
}

impl Deref for Results {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

impl From<&Path> for Results {
    fn from(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), board: None }
    }
}

impl Results {
    pub(crate) fn of_board(folder: PathBuf, folders: TempDir, place: String) -> Self {
        Self { folder, board: Some((folders, place)) }
    }

    /// Where a name leads if it is a path. On a board its last part is that of a published folder: a folder of this machine, which
    /// others do not have, is never read in its place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match &self.board {
            Some((folders, _)) if self.is_elsewhere(name) => folders.path().join(last_part(name)),
            _ => PathBuf::from(name),
        }
    }

    /// As the function of that name.
    pub(crate) fn find_runs(&self, name: &str) -> Result<Vec<PathBuf>, RecordError> {
        let folder = self.path(name);
        match self.is_elsewhere(name) {
            true if folder.is_dir() => list_runs(&folder),
            true => find_runs_in(self, last_part(name)).map_err(|error| self.named(error)),
            false => find_runs(self, name),
        }
    }

    /// As the function of that name.
    pub(crate) fn find_run(&self, name: &str) -> Result<PathBuf, RecordError> {
        match self.is_elsewhere(name) {
            true => find_run_in(self, last_part(name)).map_err(|error| self.named(error)),
            false => find_run(self, name),
        }
    }

    /// The folder that stands for a board says nothing to its readers.
    fn named(&self, error: RecordError) -> RecordError {
        match (error, &self.board) {
            (RecordError::NoRun { name, .. }, Some((_, board))) => {
                RecordError::NotOnBoard { name, board: board.clone() }
            }
            (RecordError::TooFarBack { name, count, .. }, Some((_, board))) => {
                RecordError::TooFarBack { name, count, path: board.into() }
            }
            (error, _) => error,
        }
    }

    fn is_elsewhere(&self, name: &str) -> bool {
        self.board.is_some() && Path::new(name) != self.folder
    }
}

fn last_part(name: &str) -> &str {
    Path::new(name).file_name().and_then(|part| part.to_str()).unwrap_or(name)
}
