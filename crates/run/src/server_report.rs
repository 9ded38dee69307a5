//! The server's own report beside a run. Whatever goes wrong with it becomes a note: the run is not its price.

use slob_engine::{Engine, EngineError, ServerReport};
use slob_record::{RunDirectory, ServerReportRecord};
use slob_spec::StatisticsType;

/// A report that was asked for, from its first snapshot to its files.
#[derive(Default)]
pub(crate) struct OwnReport {
    kind: Option<StatisticsType>,
    under_way: Option<Box<dyn ServerReport>>,
    closed: bool,
    notes: Vec<String>,
}

impl OwnReport {
    /// One of that kind; nothing happens ever without one.
    pub(crate) fn of(kind: Option<StatisticsType>) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Whether one was asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.kind.is_some()
    }

    /// The first snapshot.
    pub(crate) fn open(&mut self, engine: &dyn Engine) {
        let Some(kind) = self.kind else { return };
        match engine.open_server_report(kind) {
            Ok(report) => self.under_way = report,
            Err(error) => self.lost(&error),
        }
    }

    /// The second snapshot.
    pub(crate) fn close(&mut self) {
        let Some(report) = self.under_way.as_mut() else { return };
        match report.close() {
            Ok(()) => self.closed = true,
            Err(error) => self.lost(&error),
        }
    }

    /// Fetches the report and puts its files into the folder of the run.
    pub(crate) fn store(
        mut self,
        directory: &RunDirectory,
        notes: &mut Vec<String>,
    ) -> Option<ServerReportRecord> {
        let record = self.fetch(directory);
        notes.append(&mut self.notes);
        record
    }

    fn fetch(&mut self, directory: &RunDirectory) -> Option<ServerReportRecord> {
        let kind = self.kind?;
        let mut report = self.under_way.take().filter(|_| self.closed)?;
        let words = match report.fetch() {
            Ok(words) => words,
            Err(error) => {
                self.lost(&error);
                return None;
            }
        };
        self.notes.extend(words.notes);
        let mut files = Vec::new();
        for file in words.files {
            match directory.write(&file.name, &file.text) {
                Ok(()) => files.push(file.name),
                Err(error) => {
                    self.notes.push(format!("A file of the server's own report is missing: {error}."));
                }
            }
        }
        let kind = kind.as_str().to_owned();
        Some(ServerReportRecord { kind, snapshots: words.snapshots, files, seconds: None, pairs: Vec::new() })
    }

    fn lost(&mut self, error: &EngineError) {
        self.under_way = None;
        self.notes.push(format!("The server's own report is missing: {error}."));
    }
}
