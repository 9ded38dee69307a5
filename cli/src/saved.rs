//! Where saved runs are: in a results folder and wherever names lead, or with `--from` on a board alone.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use slob_record::{RecordError, find_run, find_run_in, find_runs, find_runs_in, list_runs};

use crate::board;

/// A results folder, or one with the runs of a board.
#[derive(Clone)]
pub(crate) struct Results {
    folder: PathBuf,
    is_board: bool,
}

impl Deref for Results {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

impl From<&Path> for Results {
    fn from(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), is_board: false }
    }
}

impl Results {
    pub(crate) fn of_board(folder: PathBuf) -> Self {
        Self { folder, is_board: true }
    }

    /// Where a name leads if it is a path. On a board its last part is that of a published folder: a folder of this machine, which
    /// others do not have, is never read in its place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self.is_elsewhere(name) {
            true => board::folder_in(self, last_part(name)),
            false => PathBuf::from(name),
        }
    }

    /// As the function of that name.
    pub(crate) fn find_runs(&self, name: &str) -> Result<Vec<PathBuf>, RecordError> {
        let folder = self.path(name);
        match self.is_elsewhere(name) {
            true if folder.is_dir() => list_runs(&folder),
            true => find_runs_in(self, last_part(name)),
            false => find_runs(self, name),
        }
    }

    /// As the function of that name.
    pub(crate) fn find_run(&self, name: &str) -> Result<PathBuf, RecordError> {
        if self.is_elsewhere(name) { find_run_in(self, last_part(name)) } else { find_run(self, name) }
    }

    fn is_elsewhere(&self, name: &str) -> bool {
        self.is_board && Path::new(name) != self.folder
    }
}

fn last_part(name: &str) -> &str {
    Path::new(name).file_name().and_then(|part| part.to_str()).unwrap_or(name)
}
