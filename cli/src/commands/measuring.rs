//! A run from its settings to its record with the views beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slob_campaign::Ended;
use slob_engine::Purpose;
use slob_facts::{GroupVerdicts, Run};
use slob_live::RunTalk;
use slob_record::{CONF_FILE, Look, Record, SigningKey, Status, Together};
use slob_report::html::run_page;
use slob_report::{HTML_REPORT, TEXT_REPORT, compact_summary, text_report, with_digest};
use slob_run::{CommonStart, ExternalScript, RunContext, RunEvent, RunObserver, ScriptMoment, prepare};
use slob_spec::{RunSpec, Settings, to_conf_text};

use crate::failure::Failure;
use crate::{index, output, registry, settings, verdict_cache};

pub(super) trait Coordinator {
    fn start(&self) -> &dyn CommonStart;

    fn conclude(&self, record: &Record) -> Option<Together>;
}

#[derive(Clone, Copy, Default)]
pub(super) struct Extras<'a> {
    pub(super) journal: Option<&'a Path>,
    pub(super) key: Option<&'a SigningKey>,
    pub(super) coordinator: Option<&'a dyn Coordinator>,
    pub(super) look: Option<Look>,
    /// A record that can't be saved goes to stdout.
    pub(super) prints_json: bool,
}

pub(super) fn measure_spec(
    settings: &Settings,
    spec: &RunSpec,
    extras: Extras<'_>,
    stop: &AtomicBool,
    observer: &mut dyn RunObserver,
) -> Result<KeptRun, Failure> {
    let engine = Arc::from(registry::open_target(&spec.target, &spec.options, Purpose::Use, None)?);
    let context = RunContext {
        engine: Arc::clone(&engine),
        spec,
        configuration: settings::for_record(settings),
        slob_version: env!("CARGO_PKG_VERSION"),
        stop,
        journal: extras.journal,
        common_start: extras.coordinator.map(|coordinator| coordinator.start()),
    };
    let prepared = prepare(engine.as_ref(), spec)?;
    let measured = slob_run::run(&context, &prepared, observer)?;
    let (mut record, directory) = (measured.record, measured.directory);
    record.look = extras.look;
    record.together = extras.coordinator.and_then(|coordinator| coordinator.conclude(&record));
    if let Err(error) = directory.write(CONF_FILE, &to_conf_text(settings)) {
        say!("warning: {error}; the record holds the configuration too");
    }
    // Views can be made again from the record.
    let folder = directory.publish(&mut record, extras.key).map_err(|error| {
        if extras.prints_json {
            let printed = output::json("the record", &record).and_then(|json| output::print(&json));
            printed.unwrap_or_else(|failure| say!("{}", failure.text()));
        }
        say!("{}\n{}", text_report(&record, output::width()).trim_end(), compact_summary(&record, output::width()).trim_end());
        failed!(
            "the record of this run can't be saved: {error}; make room for RESULTS_DIR or name another folder: \
             everything that was measured is printed above"
        )
    })?;
    let report = report_command(&folder);
    let text = text_report(&record, None);
    write_view(&folder, TEXT_REPORT, &with_digest(&slob_record::with_hidden_shown(&text)), &report);
    let page = with_digest(&run_page(&record));
    let has_charts = write_view(&folder, HTML_REPORT, &page, &format!("{report} --html"));
    verdict_cache::keep(&folder);
    index::keep(&spec.results_dir);
    Ok(KeptRun { record, folder, has_charts, script: prepared.script })
}

pub(super) fn measure_step(
    settings: &Settings,
    stop: &AtomicBool,
    observer: &mut dyn RunObserver,
    resume: impl FnOnce(&Path) -> String,
) -> Result<Record, Failure> {
    let spec = RunSpec::from_settings(settings)?.spec;
    let kept = measure_spec(settings, &spec, Extras::default(), stop, observer)?;
    kept.end(stop)?;
    let id = &kept.record.id;
    match &kept.record.status {
        Status::Completed => Ok(kept.record),
        Status::Interrupted => Err(interrupted!("run {id} was interrupted{}", resume(&kept.folder))),
        Status::Aborted { reason } => Err(failed!("run {id} was aborted: {reason}")),
        Status::Failed { error } => Err(failed!("run {id} failed: {error}")),
    }
}

/// Makes a run of a campaign and returns its id. Where EXTERNAL_SCRIPT fails at the end, a warning names `whose` it is.
pub(super) fn measure_member(
    settings: &Settings,
    extras: Extras<'_>,
    stop: &AtomicBool,
    observer: &mut dyn RunObserver,
    whose: &str,
) -> Result<(String, Ended), Failure> {
    let settings = settings::of_run_as_loaded(settings)?;
    let spec = RunSpec::from_settings(&settings)?.spec;
    let kept = measure_spec(&settings, &spec, extras, stop, observer)?;
    if let Err(failure) = kept.end(stop) {
        say!("warning: {whose}{}", failure.text());
    }
    Ok((kept.record.id, Ended::from(&kept.record.status)))
}

/// The id of a run of a campaign, if there is one, and its end.
pub(super) fn ended_of(result: Result<(String, Ended), Failure>) -> (Option<String>, Ended) {
    match result {
        Ok((id, ended)) => (Some(id), ended),
        Err(failure) if failure.is_interruption() => (None, Ended::Interrupted),
        Err(failure) => (None, Ended::Failed { error: failure.text() }),
    }
}
/// Seconds would fill a log, so only a terminal shows them.
pub(super) struct Quiet(Option<RunTalk>);

impl Quiet {
    pub(super) fn new() -> Self {
        Self(output::is_interactive().then(|| RunTalk::new(false)))
    }
}

impl RunObserver for Quiet {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        let wanted = matches!(event, RunEvent::Tick(_) | RunEvent::Verifying | RunEvent::Interrupted);
        if let Some(talk) = self.0.as_mut().filter(|_| wanted) {
            talk.on_run(event);
        }
    }
}

pub(super) fn report_command(folder: &Path) -> String {
    format!("slob report {}", output::quoted(&folder.display().to_string()))
}

/// `command` can make the view again.
fn write_view(folder: &Path, name: &str, text: &str, command: &str) -> bool {
    let written = output::write_whole(&folder.join(name), text);
    if let Err(error) = &written {
        say!("warning: writing {name} of the run: {error}; `{command}` recreates it from the record");
    }
    written.is_ok()
}

pub(super) struct KeptRun {
    pub(super) record: Record,
    folder: PathBuf,
    has_charts: bool,
    script: Option<ExternalScript>,
}

impl KeptRun {
    pub(super) fn print(&self, full: bool) -> Result<(), Failure> {
        let text = if full {
            text_report(&self.record, output::width())
        } else {
            compact_summary(&self.record, output::width())
        };
        let printed = output::print(&text).map_err(Failure::after_work);
        say!("\n{}", self.place());
        printed
    }

    pub(super) fn in_brief(&self) -> String {
        let run = Run::of(&self.record);
        let figures = run.lead().key_in_rows().iter();
        let figures = figures.map(|figure| format!("{} {}", figure.short, figure.show(&run)));
        let verdicts = GroupVerdicts::of([(self.record.id.as_str(), run.judged())]).in_short();
        let verdicts = verdicts.unwrap_or_default();
        format!("  {}\n  {verdicts}  {}", figures.collect::<Vec<_>>().join("  "), self.folder.display())
    }

    pub(super) fn place(&self) -> String {
        let (folder, report) = (self.folder.display(), report_command(&self.folder));
        let charts = match self.has_charts {
            true => format!("{folder}/{HTML_REPORT}"),
            false => format!("`{report} --html`, once there is room for them"),
        };
        let digest = self.record.digest.as_deref().unwrap_or_default();
        format!(
            "Full report: `{report}`\nCharts:      {charts}\nRecord:      {folder}\nDigest:      {digest}"
        )
    }

    /// EXTERNAL_SCRIPT runs for the last time; the report precedes its failure.
    pub(super) fn end(&self, stop: &AtomicBool) -> Result<(), Failure> {
        self.script
            .as_ref()
            .map_or(Ok(()), |script| Ok(script.call(ScriptMoment::End, &self.record.id, stop)?))
    }
}
