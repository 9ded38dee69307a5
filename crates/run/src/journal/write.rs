//! Writing the journal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use slob_engine::{EngineError, ErrorKind};
use slob_method::{Action, Op};

use super::TITLE;
use crate::RunError;
use crate::prepare::Prepared;

/// A journal that is being written; shared by all sessions.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    begun: Instant,
    pen: Mutex<Pen>,
}

#[derive(Debug)]
struct Pen {
    file: File,
    /// What is written next; its memory is used again.
    text: String,
}

impl Journal {
    /// Begins the journal of a run that was prepared.
    ///
    /// # Errors
    /// If the file is there already or can't be made, or the run will update nothing.
    pub fn create(path: &Path, prepared: &Prepared) -> Result<Self, RunError> {
        let refuse = |why: String| RunError::usage(format!("the journal {}: {why}", path.display()));
        if prepared.workload.redo_of_updates().is_none() {
            return Err(refuse("UPDATE_PCT is 0, so there is nothing to note; set it above 0".into()));
        }
        let Some(schema) = prepared.schemas.first() else {
            return Err(refuse("this target keeps no data, so no update can be lost".into()));
        };
        let mut file = File::create_new(path)
            .map_err(|error| refuse(format!("{error}; name a file that is not there yet")))?;
        let head = format!("{TITLE}\nload {}\n", schema.load.seed);
        if let Err(error) = file.write_all(head.as_bytes()) {
            // Half a head helps nobody, and would be in the way of the next try.
            let _ = std::fs::remove_file(path);
            return Err(refuse(error.to_string()));
        }
        let pen = Mutex::new(Pen { file, text: String::new() });
        Ok(Self { path: path.to_path_buf(), begun: Instant::now(), pen })
    }

    /// Notes the UPDATEs among operations that are about to be sent.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn sending(&self, session: u32, ops: &[Op]) -> Result<(), EngineError> {
        self.note(|text, time_us| {
            let mut is_first = true;
            for op in ops {
                let Action::Update(range, stamp) = op.action else { continue };
                if std::mem::take(&mut is_first) {
                    writeln!(text, "b {session} {time_us}")?;
                }
                let number = stamp.number();
                writeln!(text, "u {} {} {} {number:016x}", op.schema, range.first, range.blocks)?;
            }
            Ok(())
        })
    }

    /// Notes that the first operations of those that were sent last are done.
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn answered(&self, session: u32, done: &[Op]) -> Result<(), EngineError> {
        let count = done.iter().filter(|op| matches!(op.action, Action::Update(..))).count();
        self.note(|text, time_us| match count {
            0 => Ok(()),
            _ => writeln!(text, "e {session} {time_us} {count}"),
        })
    }

    /// The time is taken while nobody else writes, so that lines are in its order.
    fn note(&self, write: impl FnOnce(&mut String, u128) -> std::fmt::Result) -> Result<(), EngineError> {
        let mut pen = self.pen.lock().unwrap_or_else(PoisonError::into_inner);
        let Pen { file, text } = &mut *pen;
        text.clear();
        // Writing into memory does not fail.
        let _ = write(text, self.begun.elapsed().as_micros());
        file.write_all(text.as_bytes()).map_err(|error| {
            EngineError::new(
                ErrorKind::Fatal,
                format!("writing the journal {}", self.path.display()),
                error.to_string(),
            )
            .with_advice("make room for it, or run without --durability")
        })
    }
}
