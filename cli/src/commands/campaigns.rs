//! `slob campaign`: the runs or searches of a plan, resumed where they were stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgMatches, Args};
use jiff::Timestamp;
use serde_json::json;
use slob_campaign::{
    Campaign, Conductor, Ended, Event, Folder, Member, Moment, Order, Plan, Progress, Step, Store, carry_out,
};
use slob_demand::{Goal, Options};
use slob_facts::format::plural;
use slob_facts::verdicts::Worst;
use slob_facts::{Claim, GroupVerdicts, Judged, Question, Run};
use slob_live::duration;
use slob_page::Answer;
use slob_report::Confidence;
use slob_report::analysis::{Metric, NeighbourRun, RETRY_BAD};
use slob_spec::{Entry, RunSpec, Settings};

use super::analyses::analysis_of;
use super::campaign_runs::{
    HEADROOM_FILE, compare_headrooms, compare_neighbours, completed_runs, read_runs, said_missing,
};
use super::demands::goal_of;
use super::measuring::{Extras, Quiet, ended_of, measure_member};
use super::searches::{Pace, find_headroom};
use super::together::{End, measure_together};
use crate::failure::{Failure, INTERRUPTED, Outcome, strict_code};
use crate::flags::{STRICT, offered_by_plan};
use crate::{interrupt, output, registry, settings};

const NEIGHBOURS_PAGE: &str = "neighbours.html";
const ANALYSIS_PAGE: &str = "analysis.html";

/// Run a plan of variants, models, session counts and repeats; resumes if interrupted
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob campaign fs.toml --dry-run        every run in order, and the time they take
  slob campaign fs.toml                  run them; the same command resumes an interrupted campaign
  slob campaign fs.toml --amend          continue with a changed plan
  slob campaign fs.toml --retry-bad      make runs again that something spoiled
  slob campaign fs.toml --every 1h --for 7d   each run once an hour for a week; killed and started again it goes on
  slob analyze campaigns/fs              the results
  slob trend campaigns/fs                when they changed, over days

A plan:
  name = \"fs\"
  sessions = [8, 16, \"2x16\"]             8 and 16 schemas with one session each; two schemas with 16 each
  models = [\"read\", \"redo\", \"read-write\"]
  repeats = 10
  warmup_runs = 1                        runs to discard after each switch to another variant
  noise = true                           runs the first variant twice, to measure the noise
  settings = { SCALE = \"1G\", RUN_TIME = 60 }
  [[variant]]
  name = \"xfs\"
  target = \"...\"
  bounce = \"restart-database xfs\"        also prepare, before_run, after_run: shell commands
  [[variant]]
  name = \"ext4\"
  target = \"...\"
Neighbours: two to eight [[neighbour]] with `name`, `target` and `settings` instead of sessions and models. Each is measured
alone, then each pair and all together from a common start: who slows whom? A variant's hooks can set a limit.
  [[neighbour]]
  name = \"shop\"
  target = \"...\"
  settings = { THREADS_PER_SCHEMA = 4, UPDATE_PCT = 20 }
docs/reference/plans.md describes everything a plan can hold.")]
pub(super) struct CampaignArgs {
    /// The plan file
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The campaign's folder [default: as the plan says, or campaigns/NAME]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// interleaved: in rounds, so that drift affects all variants alike; blocked: variant by variant
    #[arg(long, value_parser = ["interleaved", "blocked"])]
    order: Option<String>,
    /// Make each run once in every slot of this length, instead of the plan's repeats
    #[arg(long, value_name = "TIME", requires = "length")]
    every: Option<String>,
    /// How long the slots go on
    #[arg(long = "for", value_name = "TIME", requires = "every")]
    length: Option<String>,
    /// Print every run in order and the time they will take; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Accept a changed plan; finished runs that are still part of it are kept
    #[arg(long)]
    amend: bool,
    /// Retry runs that have used up the attempts the plan allows
    #[arg(long)]
    retry_failed: bool,
    /// Make runs again whose BAD verdicts forbid a comparison; the old ones keep their folders
    #[arg(long, conflicts_with = "every")]
    retry_bad: bool,
    /// Print the comparison as JSON, as `slob compare` does of the campaign
    #[arg(long, conflicts_with = "dry_run")]
    json: bool,
    #[arg(long, help = STRICT)]
    strict: bool,
}

/// Prints the answer of a campaign at its end.
fn print<A: Answer>(answer: &A, json: bool, brief: impl FnOnce() -> String) -> Result<(), Failure> {
    let text = match json {
        true => answer.json().map_err(|error| failed!("writing the comparison as JSON: {error}")),
        false => Ok(brief()),
    };
    output::print(&text?).map_err(Failure::after_work)
}

pub(super) fn campaign(args: &CampaignArgs, matches: &ArgMatches) -> Outcome {
    let base = settings::resolve(matches, &[])?;
    let mut campaign = read(args, &base)?;
    let goal = |demand: &Options| {
        goal_of(demand).map_err(|failure| usage!("{}, demand: {}", campaign.plan.file, failure.text()))
    };
    let goal = campaign.plan.demand.as_ref().map(goal).transpose()?;
    if let Some(goal) = &goal {
        // A profile's name does not identify it.
        let figures = json!(goal.demand.figures).to_string();
        let pairs = [("database", &goal.database), ("point", &goal.demand.point), ("figures", &figures)];
        campaign.schedule.demand.extend(pairs.map(|(key, value)| (key.to_owned(), value.clone())));
    }
    let said = args.directory.clone().or_else(|| campaign.plan.directory.clone());
    let directory = said.unwrap_or_else(|| Path::new("campaigns").join(&campaign.plan.name));
    if args.dry_run {
        return output::done(&listing(&campaign, &directory));
    }
    settings::warn(&campaign.warnings);
    let mut store = Store::open(&directory, &campaign.schedule, args.amend)?;
    let missing = &store.folder.state.missing;
    if !missing.is_empty() {
        say!("{}; they are made again", said_missing(missing));
    }
    if args.retry_bad {
        make_bad_runs_again(&mut store)?;
    }
    copy_probes(&settings::results_dir(&base), &directory);
    let stop = interrupt::flag()?;
    let mut conductor = Runs { stop: Arc::clone(&stop), search: goal.zip(campaign.plan.demand.clone()) };
    let end = carry_out(&campaign, &mut store, &mut conductor, &stop, args.retry_failed)?;
    let folder = &store.folder;
    let mut are_good = true;
    if conductor.search.is_some() && end.done > 0 {
        let compared = compare_headrooms(folder, Confidence::default())?;
        print(&compared, args.json, || compared.text(output::width()))?;
        are_good = compared.are_good();
    } else if folder.schedule.has_neighbours() {
        if !folder.state.attempts.is_empty() {
            let compared = compare_neighbours(folder, Confidence::default());
            output::write_file(&directory.join(NEIGHBOURS_PAGE), &compared.html())
                .map_err(Failure::after_work)?;
            print(&compared, args.json, || compared.text(output::width()))?;
            are_good = compared.are_good();
        }
    } else if end.done > 0 {
        are_good = say_verdicts(folder);
        let is_whole = end.done == campaign.schedule.steps.len() && campaign.schedule.variants.len() > 1;
        if is_whole || args.json {
            answer(folder, args.json)?;
        }
    }
    conclude(&campaign, &directory, &end)?;
    Ok(if end.interrupted { ExitCode::from(INTERRUPTED) } else { strict_code(args.strict, are_good) })
}

fn answer(folder: &Folder, json: bool) -> Result<(), Failure> {
    let analysis = match analysis_of(folder) {
        Ok(analysis) => analysis,
        Err(failure) => {
            say!("slob: {}", failure.text());
            return Ok(());
        }
    };
    let page = folder.path.join(ANALYSIS_PAGE);
    output::write_file(&page, &analysis.html()).map_err(Failure::after_work)?;
    print(&analysis, json, || analysis.answers().map(|answer| format!("{answer}\n")).collect())?;
    say!("Charts:      {}", page.display());
    Ok(())
}

fn say_verdicts(folder: &Folder) -> bool {
    let cells = judged_cells(folder);
    let mut groups: BTreeMap<(&str, &str), Vec<GroupVerdicts>> = BTreeMap::new();
    for ((variant, model, _), verdicts) in &cells {
        groups.entry((variant, model)).or_default().push(verdicts.clone());
    }
    let mut are_good = true;
    for ((variant, model), cells) in groups {
        let verdicts = GroupVerdicts::joined(cells);
        are_good &= verdicts.are_good();
        say!("{variant}/{model}: {}", verdicts.in_short().unwrap_or_default());
    }
    let bad = cells.iter().flat_map(|(cell, verdicts)| bad(verdicts).map(|worst| worst.words(&cell.2)));
    let bad: Vec<String> = bad.collect();
    bad.iter().for_each(|words| output::say(words));
    if !bad.is_empty() {
        output::say(RETRY_BAD);
    }
    are_good
}

fn bad(verdicts: &GroupVerdicts) -> impl Iterator<Item = &Worst> {
    verdicts.all_against(&Question::ALL, Claim::Compared)
}

fn make_bad_runs_again(store: &mut Store) -> Result<(), Failure> {
    if !store.folder.schedule.demand.is_empty() {
        return Err(Failure::usage(
            "--retry-bad: a search for headroom repeats steps that others spoiled by itself: take it out",
        ));
    }
    let runs = completed_runs(&store.folder);
    let cells = judged_cells(&store.folder);
    let ids = cells.values().flat_map(bad).flat_map(|worst| &worst.ids);
    let steps: BTreeSet<String> = ids.filter_map(|id| Some(runs.get(id)?.key())).collect();
    match steps.len() {
        0 => output::say("no run has a BAD verdict that forbids a comparison"),
        count => {
            let names: Vec<&str> = steps.iter().map(String::as_str).collect();
            let runs = plural(count as u64, "BAD run");
            say!("{runs} to make again: {}", names.join(", "));
        }
    }
    Ok(store.make_again(&steps)?)
}

/// Variant, model and name of a step's repeats by a target.
type Cell<'a> = (&'a str, &'a str, String);

fn judged_cells(folder: &Folder) -> BTreeMap<Cell<'_>, GroupVerdicts> {
    let keep = |run: &Run<'_>| match NeighbourRun::of(run) {
        Some(neighbour) => (neighbour.run, format!("/{}", neighbour.name), neighbour.judged),
        None => (run.record.id.clone(), String::new(), run.judged().to_vec()),
    };
    let mut cells: BTreeMap<Cell<'_>, Vec<(String, Vec<Judged>)>> = BTreeMap::new();
    for (step, (id, target, judged)) in read_runs(folder, keep).kept {
        let cell = (step.variant.as_str(), step.model.as_str(), step.cell() + &target);
        cells.entry(cell).or_default().push((id, judged));
    }
    let verdicts = |runs: Vec<(String, Vec<Judged>)>| {
        GroupVerdicts::of(runs.iter().map(|(id, judged)| (id.as_str(), judged.as_slice())))
    };
    cells.into_iter().map(|(cell, runs)| (cell, verdicts(runs))).collect()
}

fn read(args: &CampaignArgs, base: &Settings) -> Result<Campaign, Failure> {
    let path = args.plan.display().to_string();
    let text = fs::read_to_string(&args.plan).map_err(|error| {
        usage!("reading the plan {path}: {error}; a plan is a TOML file that you write: `slob campaign --help` shows one")
    })?;
    let mut plan = Plan::parse(&path, &text).map_err(Failure::usage)?;
    match args.order.as_deref() {
        Some("blocked") => plan.order = Order::Blocked,
        Some(_) => plan.order = Order::Interleaved,
        None => {}
    }
    if let Some((every, during)) = args.every.as_deref().zip(args.length.as_deref()) {
        plan.in_slots(every, during).map_err(Failure::usage)?;
    }
    let campaign = Campaign::build(plan, base, &registry::table()).map_err(Failure::usage)?;
    let models = campaign.plan.demand.is_none().then_some(&campaign.plan.models);
    for model in models.into_iter().flatten() {
        Metric::named(&model.metric)
            .map_err(|why| usage!("{}, model '{}': {why}", campaign.plan.file, model.name))?;
    }
    for step in campaign.schedule.steps.iter().filter(|step| step.repeat == 1) {
        for member in campaign.members(step, Path::new(".")).map_err(Failure::usage)? {
            registry::engine_of(&RunSpec::from_settings(&member.settings)?.spec.target)?;
        }
    }
    Ok(campaign)
}

fn listing(campaign: &Campaign, directory: &Path) -> String {
    let Campaign { plan, schedule, .. } = campaign;
    let steps = &schedule.steps;
    let warm_ups = (plan.warmup_runs > 0).then(|| plural(u64::from(plan.warmup_runs), "run") + " to discard");
    let switching = |variant: &str| {
        let bounce = plan.variant(variant).and_then(|variant| variant.hooks.get(&Moment::Bounce));
        let bounce = bounce.map(|hook| format!("bounce: {}", hook.command));
        bounce.into_iter().chain(warm_ups.clone()).collect::<Vec<_>>().join("; ")
    };
    let mut text = String::new();
    let mut last = "";
    for (step, number) in steps.iter().zip(1..) {
        let switch = if step.variant == last { String::new() } else { switching(&step.variant) };
        last = &step.variant;
        let _ = writeln!(text, "{number:>4}  {:<40}  {switch}", step.key());
    }
    let searches = plan.demand.is_some();
    let time = match campaign.planned_time(steps) {
        _ if let Some(every) = plan.every => {
            let slots = plural(plan.repeats.get().into(), "slot");
            format!("{slots}, one every {}", duration(every.as_secs_f64()))
        }
        Some(time) => {
            let time = duration(time.as_secs_f64());
            format!("at least {time} (plus hooks, connecting and reading back)")
        }
        None if searches => "duration not known: a search is 10 to 15 runs as a rule".to_owned(),
        None => "duration not known, because WORK_LOOP ends the runs".to_owned(),
    };
    let runs = plural(steps.len() as u64, if searches { "headroom search" } else { "run" });
    let _ = writeln!(text, "{runs} into {}: {time}", directory.display());
    text
}

/// The runs compare with these probes. A probe that can't be copied is left out.
fn copy_probes(results: &Path, directory: &Path) {
    let (from, to) = (results.join("probes"), directory.join("probes"));
    if !from.is_dir() || fs::create_dir_all(&to).is_err() {
        return;
    }
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let _ = fs::copy(entry.path(), to.join(entry.file_name()));
    }
}

struct Runs {
    stop: Arc<AtomicBool>,
    search: Option<(Goal, Options)>,
}

impl Conductor for Runs {
    fn measure(&mut self, step: &Step, members: &[Member]) -> (Option<String>, Ended) {
        let [Member { name: None, settings }] = members else { return self.measure_together(step, members) };
        let result = match &self.search {
            Some((goal, demand)) => search(settings, goal, demand, &self.stop),
            None => measure_member(settings, Extras::default(), &self.stop, &mut Quiet::new(), ""),
        };
        match ended_of(result) {
            (run, Ended::Failed { error }) => {
                (run, Ended::Failed { error: offered_by_plan(&error, settings) })
            }
            ended => ended,
        }
    }

    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Waits { step, slot } => {
                let wait = duration(slot.begin.duration_since(Timestamp::now()).as_secs_f64());
                let begin = slot.begin.strftime("%a %F %T");
                say!("slot {} begins {begin} UTC, in {wait}", step.repeat);
            }
            Event::Hook { variant, moment } => say!("{variant}: {moment}"),
            Event::WarmUp { step, number, of } => {
                say!("{}: run to discard, {number} of {of}", step.variant);
            }
            Event::Begins { step, progress: Progress { done, of, left_s } } => {
                let left = left_s.map(|left_s| format!(", about {} left", duration(left_s)));
                let left = left.unwrap_or_default();
                say!("[{}/{of}{left}] {}", done + 1, step.key());
            }
            Event::Ended { step, attempt } => match &attempt.ended {
                Ended::Failed { error } => say!("{} failed: {error}", step.key()),
                Ended::Interrupted => say!("{} was interrupted", step.key()),
                Ended::Missed { why } => {
                    let slot = attempt.began.strftime("%a %F %T");
                    say!("{} was missed: {why}; its slot began {slot} UTC", step.key());
                }
                Ended::Completed | Ended::Killed => {}
            },
            Event::VariantStopped { variant, error } => {
                say!("slob: variant {variant} is skipped from here on: {error}");
            }
        }
    }
}

impl Runs {
    /// The step is complete if all runs are; the others' runs are kept if one fails.
    fn measure_together(&self, step: &Step, members: &[Member]) -> (Option<String>, Ended) {
        let named = members.iter().filter_map(|member| Some((member.name.as_deref()?, &member.settings)));
        let ends = match measure_together(&step.run_name(), &named.collect::<Vec<_>>(), &self.stop) {
            Ok(ends) => ends,
            Err(failure) => return (None, Ended::Failed { error: failure.text() }),
        };
        let completed = ends.iter().find(|end| end.ended == Ended::Completed);
        let run = completed.or_else(|| ends.iter().find(|end| end.run.is_some()));
        let run = run.and_then(|end| end.run.clone());
        let error = |end: &End| match &end.ended {
            Ended::Failed { error } => Some(format!("{}: {error}", end.name)),
            Ended::Completed | Ended::Interrupted | Ended::Killed | Ended::Missed { .. } => None,
        };
        let errors: Vec<String> = ends.iter().filter_map(error).collect();
        let ended = match self.stop.load(Ordering::Relaxed) {
            _ if ends.iter().all(|end| end.ended == Ended::Completed) => Ended::Completed,
            true => Ended::Interrupted,
            false if errors.is_empty() => Ended::Interrupted,
            false => Ended::Failed { error: errors.join("; ") },
        };
        (run, ended)
    }
}

fn conclude(campaign: &Campaign, directory: &Path, end: &slob_campaign::End) -> Outcome {
    let (done, of) = (end.done, campaign.schedule.steps.len());
    let place = directory.display();
    let what = if campaign.plan.demand.is_some() { "searches" } else { "runs" };
    if done == of {
        say!("all {of} {what} are done; `slob compare {place}` shows the results");
        return Ok(ExitCode::SUCCESS);
    }
    let again = "run the same command to continue";
    if end.interrupted {
        say!("stopped with {done} of {of} {what} done; {again}");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if done + end.missed == of {
        return Err(failed!(
            "{done} of {of} runs are done, and the slots of the other {} have passed; `slob trend {place}` shows them",
            end.missed
        ));
    }
    let stopped = end.stopped.iter();
    let mut reasons: Vec<String> =
        stopped.map(|(variant, error)| format!("variant {variant} was left out: {error}")).collect();
    let more = match end.given_up.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    reasons.extend(end.given_up.first().map(|key| format!("{key}{more} failed as often as the plan allows")));
    Err(failed!(
        "{done} of {of} {what} are done; {}; {again}, --retry-failed retries those that failed",
        reasons.join("; ")
    ))
}

fn search(
    settings: &Settings,
    goal: &Goal,
    demand: &Options,
    stop: &AtomicBool,
) -> Result<(String, Ended), Failure> {
    let shown = |entry: &Entry| Some((entry.param().key, entry.displayed()?));
    let mut conditions: BTreeMap<&str, String> = settings.entries().filter_map(shown).collect();
    let results = conditions.remove("RESULTS_DIR").unwrap_or_default();
    let id = conditions.remove("RUN_NAME").unwrap_or_default();
    let directory = Path::new(&results).join(&id);
    let (headroom, ended) = find_headroom(
        settings.clone(),
        goal,
        demand,
        &directory,
        Some(json!(conditions)),
        Pace::THOROUGH,
        stop,
    )?;
    if let Some(failure) = ended {
        return Err(failure);
    }
    output::write_file(&directory.join("headroom.html"), &headroom.html()).map_err(Failure::after_work)?;
    output::write_file(&directory.join(HEADROOM_FILE), &output::json("the headroom", &headroom)?)
        .map_err(Failure::after_work)?;
    Ok((id, Ended::Completed))
}
