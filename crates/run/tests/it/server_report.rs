//! The server's own report beside a run: when its snapshots are taken, what becomes of its files, and that a run never
//! fails of it.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use slob_engine::{
    Artefact, Engine, EngineError, ErrorKind, Layout, Load, LoadProgress, OpenSpec, Purpose, SchemaState,
    Server, ServerReport, ServersWords, Session, SessionPlan, Slice, Snapshot, null,
};
use slob_method::{RowView, SchemaNo, Table};
use slob_record::{Record, Status};
use slob_run::{RunContext, RunEvent, RunObserver, prepare};
use slob_spec::{RunSpec, Settings, StatisticsType, Table as Parameters};

type Log = Arc<Mutex<Vec<String>>>;

/// The null engine, whose server makes a report, or fails to at that step.
struct Reporting {
    inner: Box<dyn Engine>,
    log: Log,
    fails_at: &'static str,
}

struct Report {
    log: Log,
    fails_at: &'static str,
}

fn step(log: &Log, fails_at: &str, name: &str) -> Result<(), EngineError> {
    log.lock().unwrap().push(name.to_owned());
    if fails_at == name {
        return Err(EngineError::new(ErrorKind::Privilege, "taking a snapshot", "not allowed"));
    }
    Ok(())
}

impl ServerReport for Report {
    fn close(&mut self) -> Result<(), EngineError> {
        step(&self.log, self.fails_at, "close")
    }
    fn fetch(&mut self) -> Result<ServersWords, EngineError> {
        step(&self.log, self.fails_at, "fetch")?;
        let file = |name: &str| Artefact { name: name.into(), text: format!("the text of {name}\n") };
        let files = vec![file("own.txt"), file("no/such/folder"), file("own.html")];
        Ok(ServersWords { snapshots: [7, 8], files, notes: vec!["Read it.".into()] })
    }
}

impl Engine for Reporting {
    fn server(&self) -> Result<Server, EngineError> {
        self.inner.server()
    }
    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.inner.schemas()
    }
    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        self.inner.create_schema(load, schema)
    }
    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        self.inner.load_slice(load, slice, progress)
    }
    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        self.inner.finish_schema(load, schema)
    }
    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.inner.drop_schema(schema)
    }
    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        self.inner.session(plan)
    }
    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.inner.snapshot()
    }
    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.inner.read_rows(schema, table, positions, visit)
    }
    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>, EngineError> {
        step(&self.log, self.fails_at, &format!("open {}", kind.as_str()))?;
        Ok(Some(Box::new(Report { log: self.log.clone(), fails_at: self.fails_at })))
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
    let flags: Vec<(String, String)> =
        fixed.iter().chain(parameters).map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let settings = Settings::resolve(&Parameters::new("null:", &[]), None, &[], &flags).unwrap().settings;
    let spec = RunSpec::from_settings(&settings).unwrap().spec;
    let open = OpenSpec::new(spec.target.clone(), Purpose::Use, spec.options.clone());
    let log = Log::default();
    let inner = (null::KIND.open)(&open).unwrap();
    let engine: Arc<dyn Engine> = Arc::new(Reporting { inner, log: log.clone(), fails_at });
    let prepared = prepare(engine.as_ref(), &spec).unwrap();
    let stop = AtomicBool::new(false);
    let context = RunContext {
        engine,
        spec: &spec,
        configuration: Vec::new(),
        slob_version: "test",
        stop: &stop,
        journal: None,
    };
    let measured = slob_run::run(&context, &prepared, &mut Watch(log.clone())).unwrap();
    let folder = measured.directory.publish(&measured.record).unwrap();
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
        let done = run("", parameters);
        assert!(!done.log.iter().any(|line| line.starts_with("open")), "{:?}", done.log);
        assert!(done.record.server_report.is_none());
    }
}
