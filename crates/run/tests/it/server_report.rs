//! The server's own report of a run: its snapshots, its files, and failures, which never fail the run.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use slob_engine::{EngineError, ErrorKind, FetchedReport, ReportFile, Result, ServerReport};
use slob_record::{Record, Status};
use slob_run::{RunEvent, RunObserver};
use slob_spec::StatisticsType;

use crate::support::{Changes, measure, spec};

type Log = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Reporting {
    log: Log,
    fails_at: &'static str,
}

fn step(log: &Log, fails_at: &str, name: &str) -> Result<()> {
    log.lock().unwrap().push(name.to_owned());
    if fails_at == name {
        return Err(EngineError::new(ErrorKind::Privilege, "taking a snapshot", "not allowed"));
    }
    Ok(())
}

impl ServerReport for Reporting {
    fn close(&mut self) -> Result<()> {
        step(&self.log, self.fails_at, "close")
    }
    fn fetch(&mut self) -> Result<FetchedReport> {
        step(&self.log, self.fails_at, "fetch")?;
        let file = |name: &str| ReportFile { name: name.into(), text: format!("the text of {name}\n") };
        let files = vec![file("own.txt"), file("no/such/folder"), file("own.html")];
        Ok(FetchedReport { snapshots: [7, 8], files, notes: vec!["Read it.".into()] })
    }
}

impl Changes for Reporting {
    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        step(&self.log, self.fails_at, &format!("open {}", kind.as_str()))?;
        Ok(Some(Box::new(self.clone())))
    }
}

struct Watch(Log);

impl RunObserver for Watch {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        let name = match event {
            RunEvent::Started => "started",
            RunEvent::WindowBegan => "window began",
            RunEvent::Verifying => "sessions stopped",
            _ => return,
        };
        self.0.lock().unwrap().push(name.to_owned());
    }
}

struct Done {
    record: Record,
    log: Vec<String>,
    folder: PathBuf,
    _results: tempfile::TempDir,
}

fn run(fails_at: &'static str, parameters: &[(&str, &str)]) -> Done {
    let results = tempfile::tempdir().unwrap();
    let path = results.path().display().to_string();
    let fixed = [("TARGET", "null:?latency_us=100"), ("RESULTS_DIR", &path), ("RUN_TIME", "1")];
    let spec = spec(&[&fixed[..], parameters].concat());
    let log = Log::default();
    let changes = Reporting { log: log.clone(), fails_at };
    let mut measured = measure(&spec, changes, &mut Watch(log.clone()), &AtomicBool::new(false)).unwrap();
    let folder = measured.directory.publish(&mut measured.record, None).unwrap();
    let log = log.lock().unwrap().clone();
    Done { record: measured.record, log, folder, _results: results }
}

const AWR: (&str, &str) = ("DATABASE_STATISTICS_TYPE", "awr");

#[test]
fn snapshots_are_taken_around_the_window_while_sessions_work() {
    let done = run("", &[AWR, ("WARMUP", "1")]);
    let expected =
        ["started", "open awr", "window began", "close", "sessions stopped", "fetch"].map(str::to_owned);
    assert_eq!(done.log, expected);
    let without_warmup = run("", &[AWR, ("WARMUP", "0")]);
    assert_eq!(without_warmup.log[..3], ["open awr", "window began", "started"].map(str::to_owned));
}

#[test]
fn files_lie_beside_the_record_and_one_that_fails_is_a_note() {
    let done = run("", &[AWR, ("WARMUP", "0")]);
    let report = done.record.server_report.unwrap();
    assert_eq!((report.kind.as_str(), report.snapshots), ("awr", [7, 8]));
    assert_eq!(report.files, ["own.txt", "own.html"]);
    let text = std::fs::read_to_string(done.folder.join("own.html")).unwrap();
    assert_eq!(text, "the text of own.html\n");
    let notes = done.record.notes.join(" ");
    assert!(notes.contains("Read it.") && notes.contains("no/such/folder"), "{notes}");
}

#[test]
fn a_run_without_its_report_is_a_whole_run() {
    for step in ["open awr", "close", "fetch"] {
        let done = run(step, &[AWR, ("WARMUP", "0")]);
        assert_eq!(done.record.status, Status::Completed, "{step}");
        assert!(done.record.server_report.is_none() && done.record.window.is_some(), "{step}");
        let note = done.record.notes.iter().find(|note| note.contains("own report is missing"));
        assert!(note.is_some_and(|note| note.contains("not allowed")), "{step}: {:?}", done.record.notes);
    }
}

#[test]
fn nothing_is_taken_unless_it_is_asked_for() {
    for parameters in [&[][..], &[("DATABASE_STATISTICS_TYPE", "none")]] {
        let done = run("", &[&[("WARMUP", "0")], parameters].concat());
        assert!(!done.log.iter().any(|line| line.starts_with("open")), "{:?}", done.log);
        assert!(done.record.server_report.is_none());
    }
}
