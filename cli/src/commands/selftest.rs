//! `slob selftest`: the contract suite and a small test on the user's own server, with a report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args};
use slob_engine::{Engine, Purpose, Result, Server, suite};
use slob_facts::format::plural;
use slob_facts::{Grade, Question, verdicts};
use slob_host::HostInfo;
use slob_record::{ObservedRecord, Record, Status};
use slob_report::text_report;
use slob_run::{
    Acknowledged, LoadEvent, LoadObserver, RunContext, RunEvent, RunObserver, load, plan_load, prepare,
    verify,
};
use slob_spec::{Group, LoadSpec, RunSpec, Settings, Target};

use super::capture::{Capture, replay};
use crate::failure::{Failure, INTERRUPTED, Outcome, strict_code};
use crate::{interrupt, output, registry, settings};

/// Check that an engine behaves on this target as the method requires
#[derive(Args)]
#[command(after_help = "\
Loads two small schemas, works on them, reads every row back and removes them; then does the same for a small test from
load to removal. The target must hold no schemas. The report is Markdown on stdout, meant to be attached to an issue: it
names hosts and accounts, but no passwords.
Example: slob selftest --target ... --output selftest.md
Exit codes: 0 all checks passed; 1 a check failed; 2 nothing was changed; 130 interrupted.")]
pub(super) struct SelftestArgs {
    /// Write the report to this file as well
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Save the server's answers to FILE.tar.gz: version, settings, counters and plans verbatim, the time of each call, and errors; no passwords, no rows
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Keep host names in the capture instead of replacing them by host-1, host-2, ...
    #[arg(long, requires = "capture")]
    with_names: bool,
    /// Recompute the figures from a capture, without a server, and compare them with the original ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["capture", "output"])]
    replay: Option<PathBuf>,
}

pub(super) fn selftest(args: &SelftestArgs, matches: &ArgMatches) -> Outcome {
    if let Some(capture) = &args.replay {
        return replay(capture);
    }
    let settings = settings::resolve(matches, &[])?;
    let spec = LoadSpec::from_settings(&settings)?.spec;
    let stop = interrupt::flag()?;
    let kind = registry::engine_of(&spec.target)?;
    let capture = args.capture.as_deref();
    let capture = capture.map(|file| Capture::new(file, kind, &settings, args.with_names)).transpose()?;
    let open = || open(&spec, Purpose::Load, capture.as_ref());
    let engine = open()?;
    let held = engine.schemas()?.len();
    if held > 0 {
        return Err(usage!(
            "{} already holds {} of ours: give the test a target, or a prefix, of its own; `slob drop` with the \
             same target removes what is there",
            spec.target,
            plural(held as u64, "schema")
        ));
    }
    let server = engine.server()?;
    drop(engine);
    let mut report = Report::new(args.output.as_deref())?;
    let end_to_end = EndToEnd::new(&settings, &stop, capture.as_ref())?;
    report.begin(&spec.target, &server);
    if let Some(capture) = &capture {
        capture.moment("before all", open()?.as_ref());
        capture.keep(&report.text);
    }
    contract(&mut report, &open, &stop)?;
    if !stop.load(Ordering::Relaxed) {
        report.section("End to end");
        end_to_end.report(&mut report, server.capabilities.stores_data);
    }
    let interrupted = stop.load(Ordering::Relaxed);
    let failed = report.end(interrupted);
    if let Some(capture) = &capture {
        capture.keep(&report.text);
    }
    Ok(if interrupted { ExitCode::from(INTERRUPTED) } else { strict_code(true, failed == 0) })
}

fn open(spec: &LoadSpec, purpose: Purpose, capture: Option<&Capture>) -> Result<Box<dyn Engine>> {
    let open = || registry::open_target(&spec.target, &spec.options, purpose, spec.tablespace.clone());
    match capture {
        Some(capture) => capture.open(open),
        None => open(),
    }
}

/// Removes what failed checks left: the target held no schemas before.
fn contract(
    report: &mut Report,
    open: &dyn Fn() -> Result<Box<dyn Engine>>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    report.section("Contract");
    let mut begun = Instant::now();
    let verdicts = suite::run(open, &mut |name, verdict| {
        let result = verdict.clone().map(|()| String::new());
        report.step(name, begun.elapsed(), &result);
        begun = Instant::now();
        !stop.load(Ordering::Relaxed)
    })?;
    if verdicts.iter().any(|(_, verdict)| verdict.is_err()) {
        let cleaned = open().map_err(text).and_then(|engine| remove_all(engine.as_ref()));
        report.step("removing what the checks left", begun.elapsed(), &cleaned);
    }
    Ok(())
}

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
    ("RUN_TIME", "3"),
    ("RUN_NAME", "selftest"),
];
/// The server needs the user's values.
const KEPT: &[&str] =
    &["TARGET", "ENDPOINTS", "BLOCK_SZ", "TABLESPACE", "DATABASE_STATISTICS_TYPE", "OBSERVE", "OBSERVE_COPY"];

struct EndToEnd<'a> {
    load: LoadSpec,
    run: RunSpec,
    settings: Settings,
    stop: &'a AtomicBool,
    capture: Option<&'a Capture>,
    results: tempfile::TempDir,
}

impl<'a> EndToEnd<'a> {
    fn new(settings: &Settings, stop: &'a AtomicBool, capture: Option<&'a Capture>) -> Result<Self, Failure> {
        let results =
            tempfile::tempdir().map_err(|error| usage!("making a temporary folder: {error}; set TMPDIR"))?;
        let folder = results.path().display().to_string();
        let settings = settings::overridden(settings, &parameters(folder), "slob selftest")?;
        let load = LoadSpec::from_settings(&settings)?.spec;
        let run = RunSpec::from_settings(&settings)?.spec;
        Ok(Self { load, run, settings, stop, capture, results })
    }

    fn report(&self, report: &mut Report, stores_data: bool) {
        let is_ready = !stores_data || Self::step(report, "setup", || self.setup());
        self.moment("before the run");
        let mut record = None;
        if is_ready {
            Self::step(report, "run", || {
                let made = self.measure(stores_data)?;
                let words = judge(&made)?;
                record = Some(made);
                Ok(words)
            });
        }
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
            report.add(&format!("```text\n{}\n```\n", text_report(&record, None).trim_end()));
        }
    }

    fn step(report: &mut Report, name: &str, work: impl FnOnce() -> Result<String, String>) -> bool {
        let begun = Instant::now();
        let result = work();
        report.step(name, begun.elapsed(), &result);
        result.is_ok()
    }

    fn open(&self, purpose: Purpose) -> Result<Box<dyn Engine>, String> {
        open(&self.load, purpose, self.capture).map_err(text)
    }

    fn moment(&self, name: &str) {
        if let Some(capture) = self.capture
            && let Ok(engine) = self.open(Purpose::Use)
        {
            capture.moment(name, engine.as_ref());
        }
    }

    fn setup(&self) -> Result<String, String> {
        let engine = self.open(Purpose::Load)?;
        let _lock = engine.lock().map_err(text)?;
        let plan = plan_load(engine.as_ref(), &self.load).map_err(text)?;
        let summary = load(engine.as_ref(), &plan, self.stop, &Silent).map_err(text)?;
        Ok(format!("{} rows, one per block", summary.rows))
    }

    fn journal(&self) -> PathBuf {
        self.results.path().join("journal")
    }

    fn measure(&self, stores_data: bool) -> Result<Record, String> {
        let journal = self.journal();
        let engine: Arc<dyn Engine> = Arc::from(self.open(Purpose::Use)?);
        let prepared = prepare(engine.as_ref(), &self.run).map_err(text)?;
        let context = RunContext {
            engine,
            spec: &self.run,
            configuration: settings::for_record(&self.settings),
            slob_version: env!("CARGO_PKG_VERSION"),
            stop: self.stop,
            journal: stores_data.then_some(journal.as_path()),
            common_start: None,
        };
        let measured = slob_run::run(&context, &prepared, &mut Silent).map_err(text)?;
        measured.directory.discard();
        Ok(measured.record)
    }

    fn verify(&self) -> Result<String, String> {
        let engine = self.open(Purpose::Use)?;
        let acknowledged = Acknowledged::read(&self.journal()).map_err(text)?;
        let found = verify(engine.as_ref(), 2, Some(&acknowledged), self.stop, &|_, _| ()).map_err(text)?;
        if let Some(fault) = found.faults.first() {
            return Err(format!("{} of {} rows are faulty, first {fault}", found.faulty, found.rows));
        }
        let (rows, updated, updates) = (found.rows, found.updated, acknowledged.updates);
        Ok(format!(
            "{rows} rows read back, {updated} of them updated, none of {updates} acknowledged UPDATEs lost"
        ))
    }

    /// The target held no schemas before.
    fn remove(&self) -> Result<String, String> {
        remove_all(self.open(Purpose::Use)?.as_ref())
    }
}

fn remove_all(engine: &dyn Engine) -> Result<String, String> {
    let schemas = engine.schemas().map_err(text)?;
    schemas.iter().try_for_each(|state| engine.drop_schema(state.schema)).map_err(text)?;
    match engine.schemas().map_err(text)?.len() {
        0 => Ok(format!("{} schemas removed", schemas.len())),
        left => Err(format!("{left} of {} schemas are still there", schemas.len())),
    }
}

fn judge(record: &Record) -> Result<String, String> {
    if let Status::Failed { error } = &record.status {
        return Err(error.clone());
    }
    if let Some(fault) = record.verification.iter().flat_map(|found| &found.faults).next() {
        return Err(format!("a row that was read back is wrong: {fault}"));
    }
    let complete = verdicts(record).into_iter().find(|verdict| verdict.question == Question::Complete);
    let whole = record.sessions.iter().filter(|session| session.whole_window).count();
    let has_lasted = record.status == Status::Completed && whole == record.workload.sessions() as usize;
    let note = match complete.filter(|verdict| verdict.answer != Grade::Good) {
        Some(verdict) if verdict.answer == Grade::Bad || !has_lasted => return Err(verdict.sentence()),
        // A busy machine takes samples late; the target is not at fault.
        Some(verdict) => format!("; 'Complete?' is in doubt: {}", verdict.sentence().trim_end_matches('.')),
        None => String::new(),
    };
    let kinds: Vec<String> =
        record.operations.iter().map(|(kind, of)| format!("{} {}", of.operations, kind.name())).collect();
    let seconds = record.window.map_or(0.0, |window| window.seconds);
    Ok(format!("{} sessions, {} in {seconds:.1} s{note}", record.sessions.len(), kinds.join(", ")))
}

fn seen(server: &ObservedRecord) -> String {
    let of = server.endpoint.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let host = server.host.as_ref().map(|host| format!(" on {host}")).unwrap_or_default();
    match server.process {
        Some(pid) => format!("- {of}{}: seen{host}, process {pid} {}\n", server.by, server.found),
        None => format!("- {of}{}: **not seen**{host}: {}\n", server.by, server.found),
    }
}

fn parameters(results: String) -> Vec<(&'static str, String)> {
    use Group::{Data, HotSpot, Run, ThinkTime, Workload};
    let decides = |group| matches!(group, Group::Target | Data | Workload | HotSpot | ThinkTime | Run);
    let table = registry::table();
    let others = table.params().iter().filter(|param| decides(param.group) && !KEPT.contains(&param.key));
    let defaults = others.map(|param| (param.key, param.shipped.unwrap_or_default().to_owned()));
    let own = PARAMETERS.iter().map(|(key, value)| (*key, (*value).to_owned()));
    defaults.chain(own).chain([("RESULTS_DIR", results)]).collect()
}

// By value, for `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn text(error: impl ToString) -> String {
    error.to_string()
}

pub(super) struct Silent;

impl LoadObserver for Silent {
    fn on_load(&self, _: &LoadEvent) {}
}

impl RunObserver for Silent {
    fn on_run(&mut self, _: &RunEvent<'_>) {}
}

/// Markdown on stdout and in a file. It grows with the test, so that a crash leaves the part before.
struct Report {
    text: String,
    file: Option<PathBuf>,
    passed: usize,
    failed: usize,
}

impl Report {
    /// Refuses a file that can't be written, before the test begins.
    fn new(file: Option<&Path>) -> Result<Self, Failure> {
        if let Some(file) = file {
            fs::write(file, "").map_err(|error| {
                usage!("writing {}: {error}; name another file with --output", file.display())
            })?;
        }
        Ok(Self { text: String::new(), file: file.map(Path::to_owned), passed: 0, failed: 0 })
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        // After a closed pipe or on a full disk, the test must still clean up.
        let _ = output::print(text);
        if let Some(file) = &self.file
            && let Err(error) = fs::write(file, &self.text)
        {
            say!("warning: writing {}: {error}; the report is on stdout alone", file.display());
            self.file = None;
        }
    }

    fn begin(&mut self, target: &Target, server: &Server) {
        let host = HostInfo::read();
        let of = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".into());
        let cpus = host.cpus_usable.map_or_else(|| "not known".into(), |cpus| cpus.to_string());
        let memory = host.memory_bytes.map_or_else(|| "not known".into(), slob_facts::format::size);
        self.add(&format!(
            "# slob selftest\n\n\
             - slob {}, begun {}\n\
             - Target: `{target}`\n\
             - Server: {} {}, blocks of {} bytes\n\
             - This host: {}, kernel {} {}, {} usable CPUs ({}), {memory} of memory\n\n\
             No password is in this report. It names hosts and accounts: read it before you publish it.\n",
            env!("CARGO_PKG_VERSION"),
            jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            server.product,
            line(&server.version),
            server.block_bytes,
            of(&host.os),
            host.kernel,
            host.architecture,
            cpus,
            of(&host.cpu_model),
        ));
        self.add("\n## Settings of the server\n\n| setting | value |\n| --- | --- |\n");
        for setting in &server.settings {
            self.add(&format!("| {} | {} |\n", cell(&setting.name), cell(&setting.value)));
        }
        for advice in &server.advice {
            self.add(&format!("\n- {}", line(advice)));
        }
        self.add(if server.advice.is_empty() { "" } else { "\n" });
    }

    fn section(&mut self, title: &str) {
        self.add(&format!("\n## {title}\n\n"));
    }

    fn step(&mut self, name: &str, took: Duration, result: &Result<String, String>) {
        let seconds = took.as_secs_f64();
        match result {
            Ok(words) => {
                self.passed += 1;
                let words = if words.is_empty() { String::new() } else { format!(": {}", line(words)) };
                self.add(&format!("- ok: {name}{words} ({seconds:.1} s)\n"));
            }
            Err(complaint) => {
                self.failed += 1;
                self.add(&format!("- **FAILED**: {name}: {} ({seconds:.1} s)\n", line(complaint)));
            }
        }
    }

    fn end(&mut self, interrupted: bool) -> usize {
        let all = self.passed + self.failed;
        let words = match self.failed {
            _ if interrupted => format!("Interrupted after {all} steps, of which {} failed.", self.failed),
            0 => format!("All {all} steps passed."),
            failed => format!("**{failed} of {all} steps failed.**"),
        };
        self.section("Result");
        self.add(&format!("{words}\n"));
        self.failed
    }
}

fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    line(text).replace('|', "\\|")
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
    fn interrupted_faulty_and_incomplete_runs_do_not_pass() {
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

    #[test]
    fn the_file_holds_every_step_so_far() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.md");
        let mut report = Report::new(Some(&path)).unwrap();
        report.step("first", Duration::from_millis(1200), &Ok("two rows".into()));
        report.step("second", Duration::ZERO, &Err("broken\nin two lines".into()));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "- ok: first: two rows (1.2 s)\n- **FAILED**: second: broken in two lines (0.0 s)\n"
        );
        assert_eq!(report.end(false), 1);
        assert!(fs::read_to_string(&path).unwrap().ends_with("**1 of 2 steps failed.**\n"));
        assert!(Report::new(Some(&path.join("below-a-file"))).is_err());
    }
}
