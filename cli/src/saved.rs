//! Where saved runs are: in a results folder and wherever names lead, or with `--from` on a board alone.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use slob_record::{RecordError, find_run, find_run_in, find_runs, find_runs_in, list_runs};
use tempfile::TempDir;

/// A results folder, or one with the runs of a board.
pub(crate) struct Results {
    folder: PathBuf,
    /// The published folders of a board; removed at the end.
    folders: Option<TempDir>,
}

impl Deref for Results {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.folder
    }
}

impl From<&Path> for Results {
    fn from(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), folders: None }
    }
}

impl Results {
    pub(crate) fn of_board(folder: PathBuf, folders: TempDir) -> Self {
        Self { folder, folders: Some(folders) }
    }

    /// Where a name leads if it is a path. On a board its last part is that of a published folder: a folder of this machine, which
    /// others do not have, is never read in its place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match &self.folders {
            Some(folders) if self.is_elsewhere(name) => folders.path().join(last_part(name)),
            _ => PathBuf::from(name),
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
        self.folders.is_some() && Path::new(name) != self.folder
    }
}

fn last_part(name: &str) -> &str {
    Path::new(name).file_name().and_then(|part| part.to_str()).unwrap_or(name)
}
