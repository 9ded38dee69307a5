//! Every single operation into a file while the run goes on, where that was asked for.
//!
//! A thread of its own writes, so that a slow disk does not hold up the timeline. A list has an end: see [`MOST_KEPT`].

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use slob_record::{KeptOperation, OperationsWriter, RecordError};

use crate::session::panicked;
use crate::tally::{MOST_KEPT, Tally};

/// Hands on what the sessions report. What fails ends the file, and not the run.
#[derive(Debug, Default)]
pub(crate) struct OperationsFile {
    at_work: Option<AtWork>,
    path: PathBuf,
    trouble: Option<String>,
}

impl OperationsFile {
    /// Begins the file in the run's directory, if it is `asked` for.
    pub(crate) fn begin(asked: bool, directory: &Path) -> Self {
        let mut file = Self { path: directory.to_path_buf(), ..Self::default() };
        if asked {
            match start(directory) {
                Ok(at_work) => file.at_work = Some(at_work),
                Err(trouble) => file.trouble = Some(trouble),
            }
        }
        file
    }

    /// Whether sessions are to report each operation.
    pub(crate) fn is_wanted(&self) -> bool {
        self.at_work.is_some()
    }

    /// Takes what was reported since the last call, as far as it can be had without waiting.
    pub(crate) fn collect(&self, tally: &Tally) {
        let Some((sender, _)) = &self.at_work else { return };
        // A thread that is gone has failed, which is told at the end.
        let _ = sender.send(tally.drain_free_kept());
    }

    /// Ends the file. Returns what a reader must know.
    pub(crate) fn finish(&mut self, tally: &Tally) -> Option<String> {
        if let Some((sender, thread)) = self.at_work.take() {
            let _ = sender.send(tally.drain_kept());
            drop(sender);
            let written = thread.join().map_err(|_| panicked("the writer of operations").to_string());
            let ended = written.and_then(|written| {
                let writer = written.map_err(|error| error.to_string())?;
                writer.finish(!tally.kept_too_few()).map_err(|error| error.to_string())
            });
            if let Err(trouble) = ended {
                // What it takes of the room is the record's.
                OperationsWriter::remove(&self.path);
                self.trouble = Some(trouble);
            }
        }
        if let Some(trouble) = self.trouble.take() {
            return Some(format!("The operations were not kept: {trouble}."));
        }
        tally
            .kept_too_few()
            .then(|| format!("Not every operation was kept: the list ends with about the first {MOST_KEPT}."))
    }
}

type AtWork = (Sender<Vec<KeptOperation>>, JoinHandle<Result<OperationsWriter, RecordError>>);

fn start(directory: &Path) -> Result<AtWork, String> {
    let mut writer = OperationsWriter::create(directory).map_err(|error| error.to_string())?;
    let (sender, operations) = mpsc::channel::<Vec<KeptOperation>>();
    let work = move || {
        for some in operations {
            writer.write(&some)?;
        }
        Ok(writer)
    };
    let thread = thread::Builder::new().name("operations".into()).spawn(work);
    Ok((sender, thread.map_err(|error| error.to_string())?))
}
