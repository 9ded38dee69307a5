//! Where records live: `RESULTS_DIR/<UTC timestamp>-<name>/`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::abandoned::{END, remove_abandoned};
use crate::course::Mark;
use crate::error::RecordError;
use crate::files::{RUN_FILE, SERIES_FILE, partial_folder};
use crate::marks::MarkBox;
use crate::model::Record;
use crate::series_csv;

/// A run's directory while it is being written. It has a temporary name, which [`list_runs`](crate::list_runs) does not see, until
/// [`RunDirectory::publish`] renames it: there is no half record that could be taken for a whole one.
#[derive(Debug)]
pub struct RunDirectory {
    id: String,
    temporary: PathBuf,
    published: PathBuf,
    marks: MarkBox,
}

impl RunDirectory {
    /// Makes the directory, before the run: if it can't be made, nothing has been lost yet. The name is the time
    /// in UTC and the run's name, with a number if that is taken.
    ///
    /// # Errors
    /// If `results` can't be written to.
    pub fn create(results: &Path, started: Timestamp, name: &str) -> Result<Self, RecordError> {
        fs::create_dir_all(results).map_err(RecordError::io("creating the results folder", results))?;
        // One at a time: a folder that is not locked yet passes for an abandoned one. A file system without locks is left with
        // that risk.
        let turn = File::open(results).map_err(RecordError::io("opening the results folder", results))?;
        let _ = turn.lock();
        remove_abandoned(results);
        let stamp = started.strftime("%Y%m%dT%H%M%SZ");
        for attempt in 1.. {
            let id = match attempt {
                1 => format!("{stamp}-{name}"),
                n => format!("{stamp}-{name}-{n}"),
            };
            let (temporary, published) = (partial_folder(results, &id), results.join(&id));
            if published.exists() {
                continue;
            }
            match fs::create_dir(&temporary) {
                // Published since it was looked for.
                Ok(()) if published.exists() => {
                    let _ = fs::remove_dir(&temporary);
                }
                Ok(()) => {
                    let marks = MarkBox::create(&temporary)?;
                    return Ok(Self { id, temporary, published, marks });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RecordError::io("creating the run's folder", temporary)(error)),
            }
        }
        unreachable!("an endless range ended")
    }

    /// The run's identity: the name the directory will have.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was marked since the directory was made, in order, with times from the start of the sessions; and how many marks
    /// are left out because there were more than a record keeps (1,000).
    #[must_use]
    pub fn marks(&self, started: Timestamp) -> (Vec<Mark>, usize) {
        self.marks.read(started)
    }

    /// Where files can be put until the directory is published.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Writes a file of the run.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, name: &str, content: &str) -> Result<(), RecordError> {
        let path = self.temporary.join(name);
        fs::write(&path, content).map_err(RecordError::io("writing", path))
    }

    /// Writes the record and its series, makes them durable, and gives the directory its name. Returns that.
    ///
    /// # Errors
    /// If anything can't be written: half a record helps nobody, so that the temporary directory is then removed, and with it
    /// what it takes of the room that is missing. If it can't be renamed it stays, with the whole record.
    pub fn publish(self, record: &Record) -> Result<PathBuf, RecordError> {
        if let Err(error) = self.write_all(record) {
            self.discard();
            return Err(error);
        }
        self.marks.remove();
        fs::rename(&self.temporary, &self.published)
            .map_err(RecordError::io("renaming the run's folder to", &self.published))?;
        sync_directory(self.published.parent());
        Ok(self.published)
    }

    fn write_all(&self, record: &Record) -> Result<(), RecordError> {
        let path = self.temporary.join(RUN_FILE);
        let file = File::create(&path).map_err(RecordError::io("creating", &path))?;
        let mut writer = BufWriter::new(file);
        serde_json::to_writer(&mut writer, record).map_err(|source| RecordError::Io {
            step: "writing",
            path: path.clone(),
            source: source.into(),
        })?;
        writer.write_all(END).map_err(RecordError::io("writing", &path))?;
        let file = writer.into_inner().map_err(|error| RecordError::io("writing", &path)(error.into()))?;
        file.sync_all().map_err(RecordError::io("writing", &path))?;
        self.write(SERIES_FILE, &series_csv(record))
    }

    /// Removes the directory: for runs that were refused before they began.
    pub fn discard(self) {
        // Nothing was measured; a folder that can't be removed is hidden and does no harm.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// Makes a rename durable where the file system allows that to be asked for; where not, nothing can be done.
fn sync_directory(path: Option<&Path>) {
    if let Some(directory) = path.and_then(|path| File::open(path).ok()) {
        let _ = directory.sync_all();
    }
}
