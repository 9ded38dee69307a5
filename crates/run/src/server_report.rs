//! The server's own report beside a run. Whatever goes wrong with it becomes a note: the run is not its price.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use slob_engine::{Engine, EngineError, ServerReport, within};
use slob_record::{RunDirectory, ServerReportRecord};
use slob_spec::StatisticsType;

/// How long the server may take for a snapshot, or a report, before the run goes on without.
const PATIENCE: Duration = Duration::from_secs(300);

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

    /// The first snapshot.
    pub(crate) fn open(&mut self, engine: &Arc<dyn Engine>) {
        let Some(kind) = self.kind else { return };
        let engine = Arc::clone(engine);
        match within(PATIENCE, move || engine.open_server_report(kind)) {
            Ok(Ok(report)) => self.under_way = report,
            Ok(Err(error)) => self.lost(&error),
            Err(silence) => self.lost(&silence),
        }
    }

    /// The second snapshot.
    pub(crate) fn close(&mut self) {
        self.closed = self.ask(|report| report.close()).is_some();
    }

    /// Asks the server for something, if a report is under way; `None` if it does not have it.
    fn ask<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut dyn ServerReport) -> Result<T, EngineError> + Send + 'static,
    ) -> Option<T> {
        let mut report = self.under_way.take()?;
        let answer = within(PATIENCE, move || {
            let result = question(report.as_mut());
            (report, result)
        });
        match answer {
            Ok((report, Ok(answer))) => {
                self.under_way = Some(report);
                Some(answer)
            }
            Ok((_, Err(error))) => {
                self.lost(&error);
                None
            }
            Err(silence) => {
                self.lost(&silence);
                None
            }
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
        if !self.closed {
            return None;
        }
        let words = self.ask(|report| report.fetch())?;
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

    fn lost(&mut self, error: &dyn Display) {
        self.notes.push(format!("The server's own report is missing: {error}."));
    }
}
