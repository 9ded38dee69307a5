//! Every single operation into a file while the run goes on, where that was asked for.

use std::path::Path;

use slob_record::OperationsWriter;

use crate::tally::Tally;

/// Writes what the sessions report. What fails ends the file, and not the run.
#[derive(Debug)]
pub(crate) struct Keeping {
    writer: Option<OperationsWriter>,
    trouble: Option<String>,
}

impl Keeping {
    /// Begins the file in the run's directory, if it is `asked` for.
    pub(crate) fn begin(asked: bool, directory: &Path) -> Self {
        let mut keeping = Self { writer: None, trouble: None };
        if asked {
            match OperationsWriter::create(directory) {
                Ok(writer) => keeping.writer = Some(writer),
                Err(error) => keeping.trouble = Some(error.to_string()),
            }
        }
        keeping
    }

    /// Whether sessions are to report each operation.
    pub(crate) fn is_wanted(&self) -> bool {
        self.writer.is_some()
    }

    /// Writes what was reported since the last call.
    pub(crate) fn collect(&mut self, tally: &Tally) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(&tally.drain_kept()) {
            self.trouble = Some(error.to_string());
            self.writer = None;
        }
    }

    /// Ends the file. Returns what a reader must know.
    pub(crate) fn finish(&mut self, tally: &Tally) -> Option<String> {
        self.collect(tally);
        if let Some(Err(error)) = self.writer.take().map(OperationsWriter::finish) {
            self.trouble = Some(error.to_string());
        }
        self.trouble.take().map(|trouble| format!("Not every operation was kept: {trouble}."))
    }
}
