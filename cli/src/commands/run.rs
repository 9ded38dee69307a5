//! `slob run`: measuring.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_engine::Purpose;
use slob_record::{Record, RecordError, Status};
use slob_report::html::run_page;
use slob_report::{Answer, compact_summary, text_report, verdicts};
use slob_run::{ExternalScript, RunContext, RunObserver, ScriptMoment, prepare};
use slob_spec::{RunSpec, Settings, to_conf_text};

use crate::commands::print_sql;
use crate::failure::{Failure, INTERRUPTED, JUDGED, Outcome};
use crate::live::{Figures, MetricsServer, RunDisplay};
use crate::{as_loaded, checks, index, interrupt, next_step, output, registry, server_report, settings};

/// The HTML report's name in a run's folder.
pub(crate) const HTML_REPORT: &str = "report.html";
/// The text report, beside the record.
pub(crate) const TEXT_REPORT: &str = "report.txt";

pub(crate) fn run(matches: &ArgMatches) -> Outcome {
    let schemas = matches.get_one::<String>("schemas-in-place");
    let in_place: Vec<_> = schemas.map(|count| ("SCHEMAS".to_owned(), count.clone())).into_iter().collect();
    let settings = settings::resolve(matches, &in_place)?;
    if matches.get_flag("print-sql") {
        return print_sql::of_run(&settings);
    }
    let server =
        matches.get_one::<String>("metrics").map(|address| MetricsServer::start(address)).transpose()?;
    let stop = interrupt::flag()?;
    let figures = server.as_ref().map(MetricsServer::figures);
    let journal = matches.get_one::<PathBuf>("durability").map(PathBuf::as_path);
    let watch = Watch { plain: matches.get_flag("plain"), figures, journal };
    let kept = measure(&settings, watch, &stop)?;
    drop(server);
    let record = &kept.record;
    // What can't be printed is kept nevertheless: where, must be said.
    let printed = if matches.get_flag("json") {
        let printed = output::print(&output::json("the record", record)?);
        output::say(&format!("\n{}\n{}", compact_summary(record).trim_end(), kept.place()));
        printed
    } else {
        kept.print(matches.get_flag("full"))
    };
    kept.end()?;
    printed?;
    conclude(record, matches.get_flag("strict"))
}

/// Who looks on, and how.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    /// Lines, even on a terminal.
    pub(crate) plain: bool,
    /// Where a server finds what it serves.
    pub(crate) figures: Option<Figures>,
    /// Where updates are noted that the database acknowledges.
    pub(crate) journal: Option<&'a Path>,
}

/// Runs and keeps the record. A run that failed is a record too.
pub(crate) fn measure(settings: &Settings, watch: Watch<'_>, stop: &AtomicBool) -> Result<Kept, Failure> {
    let asked = settings;
    let settings = &as_loaded::of_run(asked)?;
    let checked = RunSpec::from_settings(settings)?;
    settings::warn(&checked.warnings);
    as_loaded::say(asked, settings);
    checks::warn(&checks::machine());
    let mut display = RunDisplay::new(&checked.spec, watch.plain, watch.figures);
    measure_spec(settings, &checked.spec, watch.journal, stop, &mut display)
}

/// The same for a specification that was checked, watched by somebody, with a journal of its updates if asked for.
pub(crate) fn measure_spec(
    settings: &Settings,
    spec: &RunSpec,
    journal: Option<&Path>,
    stop: &AtomicBool,
    observer: &mut dyn RunObserver,
) -> Result<Kept, Failure> {
    let engine = Arc::from(registry::open(&spec.target, &spec.options, Purpose::Use)?);
    let context = RunContext {
        engine: Arc::clone(&engine),
        spec,
        configuration: settings::for_record(settings),
        slob_version: env!("CARGO_PKG_VERSION"),
        stop,
        journal,
    };
    let prepared = prepare(engine.as_ref(), spec)?;
    let measured = slob_run::run(&context, &prepared, observer)?;
    let (mut record, directory) = (measured.record, measured.directory);
    server_report::cross_check(&mut record, directory.path());
    // The record first: everything else can be made from it again.
    let folder = directory.publish(&record).map_err(|error| not_kept(&error, &record))?;
    let report = next_step::report(&folder);
    write_view(&folder, TEXT_REPORT, &text_report(&record), &report);
    let has_charts = write_view(&folder, HTML_REPORT, &run_page(&record), &format!("{report} --html"));
    let values = next_step::configuration(&folder);
    write_view(&folder, "slob.conf", &to_conf_text(settings), &values);
    index::keep(&spec.results_dir);
    Ok(Kept { record, folder, has_charts, script: prepared.script })
}

/// Writes what the command `otherwise` makes from the record too, whole or not at all. Returns whether it is there.
fn write_view(folder: &Path, name: &str, text: &str, otherwise: &str) -> bool {
    let written = output::write_whole(&folder.join(name), text);
    if let Err(error) = &written {
        output::say(&format!(
            "warning: writing {name} of the run: {error}; `{otherwise}` recreates it from the record"
        ));
    }
    written.is_ok()
}

/// What was measured is told while it still can be.
fn not_kept(error: &RecordError, record: &Record) -> Failure {
    output::say(&format!("{}\n{}", text_report(record).trim_end(), compact_summary(record).trim_end()));
    Failure::failed(format!(
        "the record of this run can't be saved: {error}; make room for RESULTS_DIR or name another folder: \
         everything that was measured is printed above"
    ))
}

/// A run that is kept, and the script that wants to hear of it.
pub(crate) struct Kept {
    pub(crate) record: Record,
    pub(crate) folder: PathBuf,
    has_charts: bool,
    script: Option<ExternalScript>,
}

impl Kept {
    /// Prints one screen, or all there is to say, and says where the record is.
    pub(crate) fn print(&self, full: bool) -> Result<(), Failure> {
        let text = if full { text_report(&self.record) } else { compact_summary(&self.record) };
        let printed = output::print(&text);
        output::say(&format!("\n{}", self.place()));
        printed
    }

    /// Where it is, where its charts are, and the command that prints the full report.
    fn place(&self) -> String {
        let (folder, report) = (self.folder.display(), next_step::report(&self.folder));
        if self.has_charts {
            format!("Full report: `{report}`\nCharts:      {folder}/{HTML_REPORT}\nRecord:      {folder}")
        } else {
            format!(
                "Full report: `{report}`\nCharts:      `{report} --html`, once there is room for them\nRecord:      {folder}"
            )
        }
    }

    /// Calls EXTERNAL_SCRIPT for the last time. After the report is printed: its failure must not cost that.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        self.script.as_ref().map_or(Ok(()), |script| Ok(script.call(ScriptMoment::End, &self.record.id)?))
    }
}

/// The exit code that a record deserves.
pub(crate) fn conclude(record: &Record, strict: bool) -> Outcome {
    match &record.status {
        Status::Failed { error } => {
            Err(Failure::failed(format!("the run failed: {error}; the results up to then are kept")))
        }
        Status::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
        Status::Completed => {
            let good = verdicts(record).iter().all(|verdict| verdict.answer == Answer::Good);
            Ok(ExitCode::from(if strict && !good { JUDGED } else { 0 }))
        }
    }
}
