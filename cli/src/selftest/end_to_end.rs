//! A small test from its load to its removal, as a user would do it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use slob_engine::{Engine, EngineError, Purpose};
use slob_record::{ObservedRecord, Record, Status};
use slob_report::{Answer, Question, text_report, verdicts};
use slob_run::{
    Acknowledged, LoadEvent, LoadObserver, RunContext, RunEvent, RunObserver, load, plan_load, prepare,
    verify,
};
use slob_spec::{Group, LoadSpec, RunSpec, Settings};

use super::{Capture, Report};
use crate::failure::Failure;
use crate::{registry, server_report, settings};

/// What the test is made of; whatever else decides the data and the work has its default.
const PARAMETERS: &[(&str, &str)] = &[
    ("SCHEMAS", "2"),
    ("THREADS_PER_SCHEMA", "2"),
    ("SCALE", "1024"),
    ("SCAN_TABLE_SZ", "64"),
    ("UPDATE_PCT", "20"),
    ("SCAN_PCT", "10"),
    ("WORK_UNIT", "16"),
    ("HOT_SCHEMA_FREQUENCY", "5"),
    ("WARMUP", "1"),
    ("RUN_TIME", "5"),
    ("RUN_NAME", "selftest"),
];
/// What stays as the user has it, because the server asks for it.
const KEPT: &[&str] =
    &["TARGET", "ENDPOINTS", "BLOCK_SZ", "TABLESPACE", "DATABASE_STATISTICS_TYPE", "OBSERVE", "OBSERVE_COPY"];

/// The test on one target.
pub(crate) struct EndToEnd<'a> {
    load: LoadSpec,
    run: RunSpec,
    settings: Settings,
    stop: &'a AtomicBool,
    capture: Option<&'a Capture>,
    /// Where the run keeps its record, and the journal of its updates, until they are read.
    results: tempfile::TempDir,
}

impl<'a> EndToEnd<'a> {
    /// Of the target that the settings name.
    ///
    /// # Errors
    /// If the parameters don't fit together on this target, or there is no room for temporary files.
    pub(crate) fn new(
        settings: &Settings,
        stop: &'a AtomicBool,
        capture: Option<&'a Capture>,
    ) -> Result<Self, Failure> {
        let results = tempfile::tempdir()
            .map_err(|error| Failure::usage(format!("making a temporary folder: {error}; set TMPDIR")))?;
        let folder = results.path().display().to_string();
        let settings = settings.overridden(&registry::table(), &pairs(&folder), "slob selftest")?.settings;
        let load = LoadSpec::from_settings(&settings)?.spec;
        let run = RunSpec::from_settings(&settings)?.spec;
        Ok(Self { load, run, settings, stop, capture, results })
    }

    /// Does all of it, and removes what it loaded whatever happens.
    pub(crate) fn report(&self, report: &mut Report, stores_data: bool) {
        let setup = if stores_data { Self::step(report, "setup", || self.setup()) } else { Some(()) };
        self.moment("before the run");
        let record = setup.and_then(|()| Self::step(report, "run", || self.measure(stores_data)));
        self.moment("after the run");
        if stores_data {
            if record.is_some() {
                Self::step(report, "verify", || self.verify());
            }
            Self::step(report, "drop", || self.remove());
        }
        if let Some(record) = record {
            report.section("The database's host");
            record.observed.iter().for_each(|server| report.add(&seen(server)));
            report.section("Report of the run");
            report.add(&format!("```text\n{}\n```\n", text_report(&record).trim_end()));
        }
    }

    fn step<T>(
        report: &mut Report,
        name: &str,
        work: impl FnOnce() -> Result<(T, String), String>,
    ) -> Option<T> {
        let begun = Instant::now();
        let (made, words) = match work() {
            Ok((made, words)) => (Some(made), Ok(words)),
            Err(complaint) => (None, Err(complaint)),
        };
        report.step(name, begun.elapsed(), &words);
        made
    }

    fn open(&self, purpose: Purpose) -> Result<Box<dyn Engine>, String> {
        let LoadSpec { target, options, tablespace, .. } = &self.load;
        let open = || registry::open_for_load(target, options, purpose, tablespace.clone());
        match self.capture {
            Some(capture) => capture.open(open),
            None => open(),
        }
        .map_err(text)
    }

    fn moment(&self, name: &str) {
        if let Some(capture) = self.capture
            && let Ok(engine) = self.open(Purpose::Use)
        {
            capture.moment(name, engine.as_ref());
        }
    }

    fn setup(&self) -> Result<((), String), String> {
        let engine = self.open(Purpose::Load)?;
        let plan = plan_load(engine.as_ref(), &self.load).map_err(|error| error.to_string())?;
        let summary = load(engine.as_ref(), &plan, self.stop, &Silent).map_err(|error| error.to_string())?;
        Ok(((), format!("{} rows, one per block", summary.rows)))
    }

    /// What the run writes down of its updates as they are acknowledged.
    fn journal(&self) -> PathBuf {
        self.results.path().join("journal")
    }

    fn measure(&self, stores_data: bool) -> Result<(Record, String), String> {
        let journal = self.journal();
        let engine: Arc<dyn Engine> = Arc::from(self.open(Purpose::Use)?);
        let prepared = prepare(engine.as_ref(), &self.run).map_err(|error| error.to_string())?;
        let context = RunContext {
            engine,
            spec: &self.run,
            configuration: settings::for_record(&self.settings),
            slob_version: env!("CARGO_PKG_VERSION"),
            stop: self.stop,
            journal: stores_data.then_some(journal.as_path()),
        };
        let measured = slob_run::run(&context, &prepared, &mut Silent).map_err(|error| error.to_string())?;
        let mut record = measured.record;
        server_report::cross_check(&mut record, measured.directory.path());
        measured.directory.discard();
        let words = judge(&record)?;
        Ok((record, words))
    }

    fn verify(&self) -> Result<((), String), String> {
        let engine = self.open(Purpose::Use)?;
        let acknowledged = Acknowledged::read(&self.journal()).map_err(|error| error.to_string())?;
        let found = verify(engine.as_ref(), 2, Some(&acknowledged), self.stop, &|_, _| ())
            .map_err(|error| error.to_string())?;
        if let Some(fault) = found.faults.first() {
            return Err(format!("{} of {} rows are faulty, first {fault}", found.faulty, found.rows));
        }
        let updates = acknowledged.updates;
        Ok((
            (),
            format!(
                "{} rows read back, {} of them updated, none of {updates} acknowledged UPDATEs lost",
                found.rows, found.updated
            ),
        ))
    }

    /// The target held no schema of ours when the test began: all that are there now are its own.
    fn remove(&self) -> Result<((), String), String> {
        Ok(((), remove_all(self.open(Purpose::Use)?.as_ref())?))
    }
}

/// Removes all schemas of ours and says how many there were.
pub(crate) fn remove_all(engine: &dyn Engine) -> Result<String, String> {
    let schemas = engine.schemas().map_err(text)?;
    schemas.iter().try_for_each(|state| engine.drop_schema(state.schema)).map_err(text)?;
    match engine.schemas().map_err(text)?.len() {
        0 => Ok(format!("{} schemas removed", schemas.len())),
        left => Err(format!("{left} of {} schemas are still there", schemas.len())),
    }
}

/// Of a run that did what it was planned to do, some words.
fn judge(record: &Record) -> Result<String, String> {
    if let Status::Failed { error } = &record.status {
        return Err(error.clone());
    }
    if let Some(fault) = record.verification.iter().flat_map(|found| &found.faults).next() {
        return Err(format!("a row that was read back is wrong: {fault}"));
    }
    let complete = verdicts(record).into_iter().find(|verdict| verdict.question == Question::Complete);
    let note = match complete.filter(|verdict| verdict.answer != Answer::Good) {
        Some(verdict) if verdict.answer == Answer::Bad || !has_lasted(record) => {
            return Err(verdict.sentence());
        }
        // Such as a sample that came late: a busy machine's doing, and not the target's.
        Some(verdict) => format!("; 'Complete?' is in doubt: {}", verdict.sentence().trim_end_matches('.')),
        None => String::new(),
    };
    let count = |of: &slob_record::KindRecord| of.operations;
    let kinds: Vec<String> =
        record.operations.iter().map(|(kind, of)| format!("{} {}", count(of), kind.name())).collect();
    let seconds = record.window.map_or(0.0, |window| window.seconds);
    Ok(format!("{} sessions, {} in {seconds:.1} s{note}", record.sessions.len(), kinds.join(", ")))
}

/// Whether a server was seen on its host, and how.
fn seen(server: &ObservedRecord) -> String {
    let of = server.endpoint.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let host = server.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    match server.process {
        Some(pid) => format!("- {of}{}: seen{host}, process {pid} {}\n", server.by, server.found),
        None => format!("- {of}{}: **not seen**{host}: {}\n", server.by, server.found),
    }
}

/// Whether nobody ended the run early, and all its sessions worked to the end.
fn has_lasted(record: &Record) -> bool {
    let whole = record.sessions.iter().filter(|session| session.whole_window).count();
    record.status == Status::Completed && whole == record.workload.sessions() as usize
}

fn pairs(results: &str) -> Vec<(String, String)> {
    let table = registry::table();
    let decides = |group: Group| {
        matches!(
            group,
            Group::Target | Group::Data | Group::Workload | Group::HotSpot | Group::ThinkTime | Group::Run
        )
    };
    let others = table.params().iter().filter(|param| decides(param.group) && !KEPT.contains(&param.key));
    let mut pairs: Vec<(String, String)> =
        others.map(|param| (param.key.to_owned(), param.shipped.unwrap_or_default().to_owned())).collect();
    pairs.extend(PARAMETERS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    pairs.push(("RESULTS_DIR".into(), results.to_owned()));
    pairs
}

// By value, so that it can be handed to `map_err` as it is.
#[allow(clippy::needless_pass_by_value)]
fn text(error: EngineError) -> String {
    error.to_string()
}

/// The report tells what matters.
struct Silent;

impl LoadObserver for Silent {
    fn on_load(&self, _: &LoadEvent) {}
}

impl RunObserver for Silent {
    fn on_run(&mut self, _: &RunEvent<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = include_str!("../../../crates/record/tests/fixtures/v1/20261121T014616Z-ten/run.json");

    fn record() -> Record {
        serde_json::from_str(RUN).unwrap()
    }

    #[test]
    fn a_run_on_a_busy_machine_passes_with_a_note() {
        let mut record = record();
        assert!(!judge(&record).unwrap().contains("doubt"));
        record.window.as_mut().unwrap().seconds = 2.8;
        let words = judge(&record).unwrap();
        assert!(
            words.starts_with("2 sessions, ")
                && words.contains("in doubt: Not quite: the window took 2.80 s"),
            "{words}"
        );
    }

    #[test]
    fn a_run_that_was_cut_short_or_lost_a_session_or_found_a_fault_does_not_pass() {
        let mut lost = record();
        lost.sessions[1].whole_window = false;
        lost.sessions[1].error = Some("the disk went away".into());
        assert!(judge(&lost).unwrap_err().contains("Session 1: the disk went away"));
        let mut interrupted = record();
        interrupted.status = Status::Interrupted;
        assert!(judge(&interrupted).unwrap_err().contains("interrupted"));
        let mut faulty = record();
        faulty.verification.as_mut().unwrap().faults.push("row 7".into());
        assert!(judge(&faulty).unwrap_err().contains("row 7"));
        let mut unmeasured = record();
        unmeasured.window = None;
        assert!(judge(&unmeasured).is_err());
    }
}
