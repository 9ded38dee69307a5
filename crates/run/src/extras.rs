//! The user's script, the server's own report, and the file of all operations. A failing report or file becomes a note.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use slob_engine::{Engine, Result, ServerReport, Unanswered, within};
use slob_host::{ProgramGroup, Waited};
use slob_record::{KeptOperation, OperationsWriter, RecordError, RunDirectory, ServerReportRecord};
use slob_spec::StatisticsType;

use crate::RunError;
use crate::error::panicked;
use crate::tally::{Drain, MOST_KEPT, Tally};

/// The argument of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum ScriptMoment {
    Pre,
    Post,
    End,
}

const SCRIPT_PATIENCE: Duration = Duration::from_secs(3600);
/// `post` and `end` tidy up after the user's wish to stop.
const SCRIPT_AFTER_STOP: Duration = Duration::from_secs(5);

/// EXTERNAL_SCRIPT must exit with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalScript {
    path: PathBuf,
    results: PathBuf,
}

impl ExternalScript {
    /// No shell is involved. The script gets `results`, so that its `slob mark` finds the run.
    pub(crate) fn new(path: &Path, results: &Path) -> Result<Self, RunError> {
        use std::os::unix::fs::PermissionsExt;
        let refuse = |why: &str| {
            RunError::usage(format!(
                "EXTERNAL_SCRIPT {}: {why}; give the path of an executable file, or leave it empty",
                path.display()
            ))
        };
        let metadata = path.metadata().map_err(|error| refuse(&error.to_string()))?;
        if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
            return Err(refuse("not an executable file"));
        }
        // PATH would be searched for a relative path without a slash.
        let absolute = |path| std::path::absolute(path).map_err(|error| refuse(&error.to_string()));
        Ok(Self { path: absolute(path)?, results: absolute(results)? })
    }

    /// Output goes to stderr: stdout is for data. Fails at a bad exit code, after too long, or when `stop` is set.
    pub fn call(&self, moment: ScriptMoment, run_id: &str, stop: &AtomicBool) -> Result<(), RunError> {
        let name = format!("EXTERNAL_SCRIPT {} {moment}", self.path.display());
        let fail = |why: String| RunError::failed(format!("{name}: {why}"));
        let mut command = Command::new(&self.path);
        command
            .arg(moment.to_string())
            .env("SLOB_RUN_ID", run_id)
            .env("SLOB_RESULTS_DIR", &self.results)
            .stdin(Stdio::null())
            .stdout(std::io::stderr());
        let after_stop = if moment == ScriptMoment::Pre { Duration::ZERO } else { SCRIPT_AFTER_STOP };
        let waited = ProgramGroup::start(&mut command)
            .and_then(|mut program| program.wait(SCRIPT_PATIENCE, after_stop, stop))
            .map_err(|error| fail(error.to_string()))?;
        match waited {
            Waited::Ended(status) if status.success() => Ok(()),
            Waited::Ended(status) => Err(fail(format!("ended with {status}; it must exit with 0"))),
            Waited::Late => Err(fail("did not end within an hour, and was ended".into())),
            Waited::Stopped => Err(RunError::interrupted(&name)),
        }
    }
}

const REPORT_PATIENCE: Duration = Duration::from_secs(300);

#[derive(Default)]
pub(crate) struct ReportOfServer {
    /// `None` if the user wants no report.
    kind: Option<StatisticsType>,
    /// `None` before the first snapshot, and after a failure.
    report: Option<Box<dyn ServerReport>>,
    pub(crate) notes: Vec<String>,
}

impl ReportOfServer {
    pub(crate) fn new(kind: Option<StatisticsType>) -> Self {
        Self { kind, ..Self::default() }
    }

    pub(crate) fn open(&mut self, engine: &Arc<dyn Engine>) {
        let Some(kind) = self.kind else { return };
        let engine = Arc::clone(engine);
        let opened = within(REPORT_PATIENCE, move || engine.open_server_report(kind));
        self.report = self.answer(opened).flatten();
    }

    pub(crate) fn close(&mut self) {
        self.ask(|report| report.close());
    }

    /// Any failure ends the report.
    fn ask<T: Send + 'static>(
        &mut self,
        question: impl FnOnce(&mut dyn ServerReport) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut report = self.report.take()?;
        let asked = within(REPORT_PATIENCE, move || question(report.as_mut()).map(|answer| (report, answer)));
        let (report, answer) = self.answer(asked)?;
        self.report = Some(report);
        Some(answer)
    }

    fn answer<T>(&mut self, answer: Result<Result<T>, Unanswered>) -> Option<T> {
        let error = match answer {
            Ok(Ok(answer)) => return Some(answer),
            Ok(Err(error)) => error.to_string(),
            Err(silence) => silence.to_string(),
        };
        self.notes.push(format!("The server's own report is missing: {error}."));
        None
    }

    pub(crate) fn store(&mut self, directory: &RunDirectory) -> Option<ServerReportRecord> {
        let kind = self.kind?.as_str().to_owned();
        let fetched = self.ask(|report| report.fetch())?;
        self.notes.extend(fetched.notes);
        let mut files = Vec::new();
        for file in fetched.files {
            match directory.write(&file.name, &file.text) {
                Ok(()) => files.push(file.name),
                Err(error) => {
                    self.notes.push(format!("A file of the server's own report is missing: {error}."));
                }
            }
        }
        let snapshots = fetched.snapshots;
        Some(ServerReportRecord { kind, snapshots, files, seconds: None, pairs: Vec::new() })
    }
}

/// A thread writes, so that a slow disk does not hold up the timeline. The file ends after [`MOST_KEPT`] operations.
#[derive(Debug)]
pub(crate) struct OperationsFile {
    /// `None` if the user does not want the file; the error if it could not be opened.
    writer: Option<Result<Writer, String>>,
    directory: PathBuf,
}

type Writer = (Sender<Vec<KeptOperation>>, JoinHandle<Result<OperationsWriter, RecordError>>);

impl OperationsFile {
    pub(crate) fn begin(wanted: bool, directory: &Path) -> Self {
        Self { writer: wanted.then(|| start_writer(directory)), directory: directory.to_path_buf() }
    }

    /// Sessions must then report each operation.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.writer, Some(Ok(_)))
    }

    /// Does not wait for busy sessions.
    pub(crate) fn collect(&self, tally: &Tally) {
        if let Some(Ok((sender, _))) = &self.writer {
            // `finish` reports a failure of the thread.
            let _ = sender.send(tally.drain_kept(Drain::Unlocked));
        }
    }

    /// Returns a note on a missing or cut file.
    pub(crate) fn finish(&mut self, tally: &Tally) -> Option<String> {
        let ended = self.writer.take()?.and_then(|(sender, thread)| {
            let _ = sender.send(tally.drain_kept(Drain::All));
            drop(sender);
            let written = thread.join().map_err(|_| panicked("the writer of operations").to_string())?;
            let finished = written.and_then(|writer| writer.finish(!tally.kept_too_few()));
            finished.map_err(|error| error.to_string())
        });
        if let Err(error) = ended {
            // The record needs the room.
            OperationsWriter::remove(&self.directory);
            return Some(format!("The operations were not kept: {error}."));
        }
        tally
            .kept_too_few()
            .then(|| format!("Not every operation was kept: the list ends with about the first {MOST_KEPT}."))
    }
}

fn start_writer(directory: &Path) -> Result<Writer, String> {
    let mut writer = OperationsWriter::create(directory).map_err(|error| error.to_string())?;
    let (sender, batches) = mpsc::channel::<Vec<KeptOperation>>();
    let write_all = move || {
        for operations in batches {
            writer.write(&operations)?;
        }
        Ok(writer)
    };
    let thread = thread::Builder::new().name("operations".into()).spawn(write_all);
    Ok((sender, thread.map_err(|error| error.to_string())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(folder: &Path, text: &str, mode: u32) -> PathBuf {
        let path = folder.join("script");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_exit_status_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(
            folder.path(),
            "#!/bin/sh\n[ \"$1 $SLOB_RUN_ID\" = \"pre x\" ] && [ -d \"$SLOB_RESULTS_DIR\" ]\n",
            0o755,
        );
        let script = ExternalScript::new(&path, folder.path()).unwrap();
        let going_on = AtomicBool::new(false);
        script.call(ScriptMoment::Pre, "x", &going_on).unwrap();
        let error = script.call(ScriptMoment::Post, "x", &going_on).unwrap_err();
        assert!(error.to_string().contains("post: ended with exit status: 1"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_executable_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(folder.path(), "#!/bin/sh\n", 0o644);
        assert_eq!(ExternalScript::new(&path, folder.path()).unwrap_err().kind, crate::RunErrorKind::Usage);
        assert_eq!(
            ExternalScript::new(folder.path(), folder.path()).unwrap_err().kind,
            crate::RunErrorKind::Usage
        );
    }
}
