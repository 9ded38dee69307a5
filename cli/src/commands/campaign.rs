//! `slob campaign`: the runs of a plan, one after the other, resumed where they were stopped.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_campaign::{
    Campaign, Conductor, End, Ended, Event, Kept, Order, Plan, PlanErrors, Progress, RunFailure, Store,
    carry_out,
};
use slob_report::Confidence;
use slob_report::analysis::Metric;
use slob_report::profiles::headrooms_text;
use slob_run::{RunEvent, RunObserver};
use slob_spec::{RunSpec, Settings};

use super::headrooms::{self, Searches};
use super::run;
use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::live::RunTalk;
use crate::progress::duration;
use crate::{as_loaded, interrupt, output, registry, settings};

pub(crate) fn campaign(matches: &ArgMatches) -> Outcome {
    let base = settings::resolve(matches, &[])?;
    let mut campaign = read(matches, &base)?;
    let searches = Searches::of(&campaign.plan)?;
    if let Some(searches) = &searches {
        searches.tell(&mut campaign.schedule);
    }
    let directory = directory(matches, &campaign.plan);
    if matches.get_flag("dry-run") {
        output::print(&listing(&campaign, &directory))?;
        return Ok(ExitCode::SUCCESS);
    }
    settings::warn(&campaign.warnings);
    let amend = matches.get_flag("amend");
    if searches.is_some() && amend {
        headrooms::refuse_changed(&directory, &campaign.schedule)?;
    }
    let mut store = Store::open(&directory, &campaign.schedule, amend)?;
    bring_probes(&settings::results_dir(&base), &directory);
    let stop = interrupt::flag()?;
    let mut conductor = Runs { stop: Arc::clone(&stop), searches };
    let retry = matches.get_flag("retry-failed");
    let end = carry_out(&campaign, &mut store, &mut conductor, &stop, retry)?;
    if conductor.searches.is_some() && end.done > 0 {
        let compared =
            headrooms::compared(&directory, &campaign.schedule, store.state(), Confidence::default())?;
        output::print(&headrooms_text(&compared))?;
    }
    conclude(&campaign, &directory, &end)
}

/// Reads the plan and makes every run of it, before anything is touched.
fn read(matches: &ArgMatches, base: &Settings) -> Result<Campaign, Failure> {
    let path = matches.get_one::<PathBuf>("plan").map_or(Path::new(""), PathBuf::as_path);
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("reading the plan {}: {error}", path.display())))?;
    let mut plan = Plan::parse(&path.display().to_string(), &text)?;
    match matches.get_one::<String>("order").map(String::as_str) {
        Some("blocked") => plan.order = Order::Blocked,
        Some(_) => plan.order = Order::Interleaved,
        None => {}
    }
    let campaign = Campaign::build(plan, base, &registry::table())?;
    let models = campaign.plan.demand.is_none().then_some(&campaign.plan.models);
    for model in models.into_iter().flatten() {
        Metric::named(&model.metric).map_err(|why| {
            Failure::usage(format!("{}, model '{}': {why}", campaign.plan.file, model.name))
        })?;
    }
    for step in campaign.schedule.steps.iter().filter(|step| step.repeat == 1) {
        let settings = campaign.settings(step, Path::new("."));
        let settings = settings.map_err(|error| Failure::usage(error.to_string()))?;
        registry::engine_of(&RunSpec::from_settings(&settings)?.spec.target)?;
    }
    Ok(campaign)
}

fn directory(matches: &ArgMatches, plan: &Plan) -> PathBuf {
    let said = matches.get_one::<PathBuf>("directory").or(plan.directory.as_ref());
    said.cloned().unwrap_or_else(|| Path::new("campaigns").join(&plan.name))
}

fn listing(campaign: &Campaign, directory: &Path) -> String {
    let steps = &campaign.schedule.steps;
    let mut text = String::new();
    let mut last = "";
    for (index, step) in steps.iter().enumerate() {
        let switch = if step.variant == last { String::new() } else { switching(campaign, &step.variant) };
        last = &step.variant;
        let _ = writeln!(text, "{:>4}  {:<40}  {switch}", index + 1, step.key());
    }
    let time = campaign.planned_time(steps).map_or_else(
        || match campaign.plan.demand {
            Some(_) => "duration not known: a search is 10 to 15 runs as a rule".to_owned(),
            None => "duration not known, because WORK_LOOP ends the runs".to_owned(),
        },
        |time| {
            let time = duration(time.as_secs_f64());
            format!("at least {time} (plus hooks, connecting and reading back)")
        },
    );
    let what = if campaign.plan.demand.is_some() { "headroom search" } else { "run" };
    let runs = output::plural(steps.len() as u64, what);
    let _ = writeln!(text, "{runs} into {}: {time}", directory.display());
    text
}

fn switching(campaign: &Campaign, variant: &str) -> String {
    let hooks = campaign.plan.variant(variant).map(|variant| &variant.hooks);
    let bounce =
        hooks.and_then(|hooks| hooks.bounce.as_ref()).map(|hook| format!("bounce: {}", hook.command));
    let warm_ups = campaign.plan.warmup_runs;
    let warm_ups = (warm_ups > 0).then(|| output::plural(u64::from(warm_ups), "run") + " to discard");
    bounce.into_iter().chain(warm_ups).collect::<Vec<_>>().join("; ")
}

/// Runs look for the device's probe where their records go. One that could not be copied only costs a comparison.
fn bring_probes(results: &Path, directory: &Path) {
    let (from, to) = (results.join("probes"), directory.join("probes"));
    if !from.is_dir() || fs::create_dir_all(&to).is_err() {
        return;
    }
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let _ = fs::copy(entry.path(), to.join(entry.file_name()));
    }
}

/// Makes runs for a campaign, and tells of it.
struct Runs {
    stop: Arc<AtomicBool>,
    /// Where each step is a search instead.
    searches: Option<Searches>,
}

impl Conductor for Runs {
    fn measure(&mut self, settings: &Settings) -> Result<Kept, RunFailure> {
        let fails = |failure: Failure| match failure.is_interruption() {
            true => RunFailure::Interrupted,
            false => RunFailure::Failed(failure.text()),
        };
        if let Some(searches) = &self.searches {
            return searches.make(settings, &self.stop).map_err(fails);
        }
        let kept = as_loaded::of_run(settings).and_then(|settings| {
            let spec = RunSpec::from_settings(&settings)?.spec;
            run::measure_spec(&settings, &spec, None, &self.stop, &mut Quiet::new())
        });
        let kept = kept.map_err(fails)?;
        if let Err(failure) = kept.end() {
            output::say(&format!("warning: {}", failure.text()));
        }
        Ok(Kept { id: kept.record.id, status: kept.record.status })
    }

    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Hook { variant, moment } => output::say(&format!("{variant}: {moment}")),
            Event::WarmUp { step, number, of } => {
                output::say(&format!("{}: run to discard, {number} of {of}", step.variant));
            }
            Event::Begins { step, progress } => output::say(&begins(&step.key(), *progress)),
            Event::Ended { step, attempt } => match &attempt.ended {
                Ended::Failed { error } => output::say(&format!("{} failed: {error}", step.key())),
                Ended::Interrupted => output::say(&format!("{} was interrupted", step.key())),
                Ended::Completed | Ended::Killed => {}
            },
            Event::VariantStopped { variant, error } => {
                output::say(&format!("slob: variant {variant} is skipped from here on: {error}"));
            }
        }
    }
}

fn begins(key: &str, progress: Progress) -> String {
    let left = progress.left_s.map(|left_s| format!(", about {} left", duration(left_s)));
    format!("[{}/{}{}] {key}", progress.done + 1, progress.of, left.unwrap_or_default())
}

/// Shows the seconds of a run on a terminal only: a log would be full of them.
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

fn conclude(campaign: &Campaign, directory: &Path, end: &End) -> Outcome {
    let (done, of) = (end.done, campaign.schedule.steps.len());
    let place = directory.display();
    let what = if campaign.plan.demand.is_some() { "searches" } else { "runs" };
    if end.is_complete(campaign) {
        output::say(&format!("all {of} {what} are done; `slob analyze {place}` shows the results"));
        return Ok(ExitCode::SUCCESS);
    }
    let again = "run the same command to continue";
    if end.interrupted {
        output::say(&format!("stopped with {done} of {of} {what} done; {again}"));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let mut reasons: Vec<String> = end
        .stopped
        .iter()
        .map(|(variant, error)| format!("variant {variant} was left out: {error}"))
        .collect();
    reasons.extend(end.given_up.iter().map(|key| format!("{key} failed as often as the plan allows")));
    Err(Failure::failed(format!(
        "{done} of {of} {what} are done; {}; {again}, --retry-failed retries those that failed",
        reasons.join("; ")
    )))
}

impl From<PlanErrors> for Failure {
    fn from(errors: PlanErrors) -> Self {
        Self::usage(errors)
    }
}
