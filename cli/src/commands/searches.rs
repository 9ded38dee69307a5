//! The commands that search with runs.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{ArgMatches, Args, value_parser};
use serde_json::json;
use slob_campaign::{Ended, clash};
use slob_demand::{
    CALIBRATION_RUNS, Goal, HeadroomSearched, KneeOptions, Levels, Options, Replayed, Timetable, find_knee,
};
use slob_engine::Purpose;
use slob_facts::{LatencyLimit, Lead};
use slob_live::duration;
use slob_measure::{Counter, LatencyKind};
use slob_page::Answer;
use slob_record::{Record, read_record};
use slob_report::analysis::Curve;
use slob_report::profiles::{Headroom, PlanView, Replay, plan_conf, plan_table};
use slob_spec::{Amount, Entry, FromValue, MAX_SESSIONS, Origin, RunSpec, Settings, Value};

use super::demands::{DemandArgs, SearchRuns, goal_of, refuse_roles, target_of};
use super::measuring::{Quiet, measure_step};
use super::replays::{SET_BY_STRETCH, refuse_flags, say_expectation};
use super::together::measure_together;
use crate::answer::{Forms, exit_code};
use crate::failure::{Failure, INTERRUPTED, Outcome, strict_code};
use crate::flags::{STRICT, is_given};
use crate::{interrupt, output, registry, settings};

/// Find the number of sessions beyond which throughput stops growing
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob saturate -s 4 --run-time 20                      the best number of sessions on four schemas
  slob saturate -s 1 --run-time 20 --limit p99=2ms      the most that keep a latency limit
  slob saturate --max-sessions 64 --json
  slob saturate -s 4 --run-time 20 --html               read latency against IOPS, in search.html
  slob saturate -s 1 -t 16 --by rate --limit response-p99=10ms   the highest rate that keeps a response time
  slob saturate -s 1 -t 16 --by rate --beside victim.conf --limit read-p99=2ms   the load at which the target of victim.conf breaks its limit
The knee is the fewest sessions whose throughput is within --tolerance of the best. The search doubles the threads of each
schema, then halves the gap. It takes about 10 to 15 runs of WARMUP (auto:30s unless set) + RUN_TIME; each leaves an ordinary record.")]
pub(super) struct SaturateArgs {
    /// A latency limit to keep: mean, p50, p90, p95, p99, p99.9 or max (of operations, or of responses where these lead), response-mean, response-p99, read-mean, read-p50, read-p99, redo-mean or redo-p99, such as p99=2ms
    #[arg(long, value_name = "WHAT=TIME")]
    limit: Option<String>,
    /// Run the target of this slob.conf beside each level: with --by rate --limit, how much load until its limit breaks
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// What to raise: the sessions, or the rate (RATE) of an open loop with the configured sessions
    #[arg(long, value_name = "WHAT", value_parser = ["sessions", "rate"], default_value = "sessions")]
    by: String,
    /// The most sessions to try
    #[arg(long, value_name = "N", default_value_t = Options::default().max_sessions)]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_SESSIONS.cast_signed()))]
    max_sessions: u32,
    /// The gain in throughput, in percent, that is not worth more sessions
    #[arg(hide_short_help = true, long, value_name = "PERCENT", default_value = "5")]
    tolerance: f64,
    /// How often to measure the point found, in total
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = Options::default().repeats)]
    #[arg(value_parser = value_parser!(u32).range(1..=20))]
    repeats: u32,
    #[command(flatten)]
    forms: Forms,
}

const LEVEL_WARM_UP: &str = "auto:30s";

pub(super) fn saturate(args: &SaturateArgs, matches: &ArgMatches) -> Outcome {
    let forms = args.forms.checked()?;
    let asked = settings::resolve(matches, &[])?;
    let settings = settings::of_run_as_loaded(&asked)?;
    settings::say_as_loaded(&asked, &settings);
    // Runs beside each other could not agree on its end.
    let warm_up = [("WARMUP", LEVEL_WARM_UP.to_owned())];
    let settings = match args.beside.is_none() && !settings::is_set(&settings, "WARMUP") {
        true => settings::overridden(&settings, &warm_up, "saturate")?,
        false => settings,
    };
    let spec = settings::warned(RunSpec::from_settings(&settings)?);
    let limit = args.limit.as_deref().map(str::parse::<LatencyLimit>).transpose().map_err(Failure::usage)?;
    let schemas = spec.workload.schemas;
    let tolerance = args.tolerance / 100.0;
    if !(0.001..0.5).contains(&tolerance) {
        return Err(Failure::usage("--tolerance must be from 0.1 to 49 percent, such as 5"));
    }
    let Some(most) = NonZeroU32::new(args.max_sessions / schemas.get()) else {
        return Err(usage!(
            "--max-sessions {} is fewer than one for each of {schemas} schemas",
            args.max_sessions
        ));
    };
    let repeats = NonZeroU32::new(args.repeats).unwrap_or(NonZeroU32::MIN);
    let by_rate = args.by == "rate";
    if !by_rate {
        if settings::flags(matches).iter().any(|(key, _)| key == "THREADS_PER_SCHEMA") {
            let message = "the search raises the threads itself: leave them out, or use --by rate";
            return Err(Failure::usage(message));
        }
        refuse_roles(&settings)?;
    }
    let victim = args.beside.as_deref().map(|conf| victim(conf, &settings)).transpose()?;
    if let Some(limit) = &limit {
        refuse_unmeasured(limit, victim.as_ref().unwrap_or(&settings))?;
    }
    let name = spec.run_name.to_string();
    let levels = LevelRuns { settings, victim, name, stop: interrupt::flag()? };
    let options = KneeOptions { most, schemas, tolerance, repeats, limit, by_rate };
    let (result, ended) = find_knee(options, &levels);
    let curve = Curve(result);
    if !curve.points.is_empty() {
        forms.write(&curve).map_err(Failure::after_work)?;
    }
    match ended {
        Ok(_) => Ok(forms.exit_code(&curve, false)),
        Err(failure) if failure.is_interruption() => Ok(ExitCode::from(INTERRUPTED)),
        // A server that is lost midway is no bad usage.
        Err(failure) => Err(if curve.points.is_empty() { failure } else { failure.after_work() }),
    }
}

struct LevelRuns {
    settings: Settings,
    victim: Option<Settings>,
    name: String,
    stop: Arc<AtomicBool>,
}

impl Levels for LevelRuns {
    type Failure = Failure;

    fn refusal(failure: &Failure) -> Option<String> {
        failure.refusal()
    }

    fn say(&self, line: &str) {
        output::say(line);
    }

    fn measure(
        &self,
        parameter: (&'static str, String),
        part: &str,
    ) -> Result<(Record, Option<Record>), Failure> {
        let name = format!("{}-{part}", self.name);
        let settings =
            settings::overridden(&self.settings, &[parameter, ("RUN_NAME", name.clone())], "saturate")?;
        let Some(victim) = &self.victim else {
            return Ok((measure_step(&settings, &self.stop, &mut Quiet::new(), |_| String::new())?, None));
        };
        let of_victim = [("RUN_NAME", format!("{name}-{VICTIM}"))];
        let victim = settings::overridden(victim, &of_victim, "saturate")?;
        let members = [(AGGRESSOR, &settings), (VICTIM, &victim)];
        let ends = measure_together(&name, &members, &self.stop)?;
        // A member that fails interrupts the others.
        let failed = ends.iter().find_map(|end| match &end.ended {
            Ended::Failed { error } => Some(failed!("{}: {error}", end.name)),
            _ => None,
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        let mut records = ends.iter().map(|end| match (&end.ended, &end.run) {
            (Ended::Completed, Some(run)) => Ok(read_record(&settings::results_dir(&settings).join(run))?),
            _ => Err(interrupted!("the run of the {} was interrupted", end.name)),
        });
        match (records.next(), records.next()) {
            (Some(record), Some(victim)) => Ok((record?, Some(victim?))),
            _ => Err(Failure::failed("a run beside another gave no result")),
        }
    }
}

/// The target only totals such waits: no run would have the percentile.
fn refuse_unmeasured(limit: &LatencyLimit, limited: &Settings) -> Result<(), Failure> {
    let figure = limit.figure_in(Lead::Operation);
    let Some(kind) = figure.needs_each() else { return Ok(()) };
    let RunSpec { target, options, .. } = RunSpec::from_settings(limited)?.spec;
    let engine = registry::open_target(&target, &options, Purpose::Use, None)?;
    let figures = engine.snapshot()?.total();
    let is_traced = settings::shown(limited, "TRACE").is_some_and(|trace| trace != "off")
        && figures.counters.get(Counter::PhysicalReadTimeNs).is_none();
    if figures.latencies.get(kind).is_some() || (kind == LatencyKind::PhysicalRead && is_traced) {
        return Ok(());
    }
    Err(usage!(
        "--limit {limit}: {target} does not time each of these waits, so {} is not known; limit a mean (read-mean, redo-mean) or \
         its operations (p99)",
        figure.name
    ))
}

const AGGRESSOR: &str = "aggressor";
const VICTIM: &str = "victim";

fn victim(conf: &Path, search: &Settings) -> Result<Settings, Failure> {
    let shared = ["RUN_TIME", "WARMUP", "RESULTS_DIR"];
    let pairs = shared.map(|key| (key, settings::shown(search, key).unwrap_or_default()));
    let victim = settings::overridden(&settings::of_file(conf)?, &pairs, "saturate")?;
    let (spec, own) = (RunSpec::from_settings(&victim)?.spec, RunSpec::from_settings(search)?.spec);
    registry::engine_of(&spec.target)?;
    if let Some(why) = clash(&own, &spec) {
        return Err(usage!("the target of this search and that of {} {why}", conf.display()));
    }
    if spec.workload.rate_per_s.is_none() {
        say!(
            "warning: {} has no RATE: a closed loop slows down instead of missing its limit",
            conf.display()
        );
    }
    Ok(victim)
}

/// Turn a profile into a test with the same demand: a commented slob.conf
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob plan profile.json > slob.conf                                the parameters that make the demand of the peak
  slob plan profile.json --target \"$NEW\" > slob.conf                measured there: up to four short runs
  slob plan profile.json --at p95 --grow 1.5
  slob plan profile.json --at '2026-11-20 10:00' --by commits
Reads, redo, commits and hits are each met within 5 %, or it says which are not, and why. Load the data first
(`slob setup`): more than the database's cache holds, or the reads will not be physical.
Exit codes: 0 all are met, or --force; 1 some are not, and no slob.conf is written; 2 bad usage; 3 a run failed.")]
pub(super) struct PlanArgs {
    /// Write slob.conf to this file, and print the table (or --json) alone
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write slob.conf though the plan misses some figures
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    demand: DemandArgs,
}

pub(super) fn plan(args: &PlanArgs, matches: &ArgMatches) -> Outcome {
    let goal = goal_of(&args.demand.options())?;
    let settings = settings::resolve(matches, &[])?;
    let view = if settings::is_set(&settings, "TARGET") {
        refuse_roles(&settings)?;
        let target = target_of(&settings, &goal)?;
        let stop = interrupt::flag()?;
        let calibrated = target.calibrate(&goal, &SearchRuns::of_calibrations(&settings, &stop))?;
        PlanView::of(&goal, Some(&target), calibrated)
    } else {
        refuse_flags_of_a_target(matches, &settings)?;
        PlanView::of(&goal, None, goal.plan_without_target(&settings)?)
    };
    let missed = view.fit.missed_words();
    let is_written = missed.is_none() || args.force;
    let path = args.output.as_deref();
    if let Some(path) = path.filter(|_| is_written) {
        output::write_page(&plan_conf(&view, output::width()), path)?;
    }
    output::print(&match (args.demand.json, path) {
        (true, _) => output::json("the plan", &view)?,
        (false, None) if is_written => plan_conf(&view, output::width()),
        (false, _) => plan_table(&view, output::width()),
    })?;
    if let Some(missed) = missed {
        let place = path.map_or_else(|| "slob.conf".into(), Path::to_string_lossy);
        let then = match is_written {
            true => format!("{place} is written all the same"),
            false => format!("{place} is not written; --force writes it all the same"),
        };
        say!("slob: the plan misses {missed}: {then}");
    }
    Ok(strict_code(true, is_written))
}

fn refuse_flags_of_a_target(matches: &ArgMatches, settings: &Settings) -> Result<(), Failure> {
    const USED: [&str; 6] = ["SCHEMAS", "SCALE", "SCAN_TABLE_SZ", "BLOCK_SZ", "TARGET", "RESULTS_DIR"];
    let is_flag = |entry: &&Entry| *entry.origin() == Origin::Flag && !USED.contains(&entry.param().key);
    let of_run = settings.entries().find(is_flag).and_then(|entry| entry.param().flag());
    let given = is_given(matches, "calibration");
    match of_run.or(given.then(|| "calibration".to_owned())) {
        Some(flag) => Err(usage!("--{flag} is of runs on a target: name one with --target, or leave it out")),
        None => Ok(()),
    }
}

/// Find how many times a profile's demand a platform carries, and what breaks beyond
#[derive(Args)]
#[command(after_help = "\
Examples:
  slob headroom profile.json --target \"$NEW\"                         how many times production's peak does it carry?
  slob headroom profile.json --quick                                 a rough answer within 5 minutes
  slob headroom profile.json --at p95 --limit read-p99=2ms --run-time 60 --html headroom.html
  slob headroom profile.json --directory headroom/array-b            the same command goes on where it was stopped
  slob headroom profile.json --replay day --compress 360             the day of the peak in 4 minutes, interval by interval
  slob headroom profile.json --replay 2026-11-20 --multiply 2        that day in an hour, with twice the work
The demand is made at low load, at 1x, then twice as much and so on, until a limit breaks; then the gap is divided. Limits: latencies, and
the rate within 5 %. Each step is a run of WARMUP + RUN_TIME (auto:20s and 45 s unless set; auto:3s and 8 s with --quick); there are about ten to twenty. A step that others
spoil is repeated; one whose reads the page cache served does not count.
Exit codes: 0 the demand is carried; 1 it is not, or a verdict is not good with --strict; 2 bad usage; 3 a run failed; 4 it is not known; 130 interrupted, what is
known is printed.")]
pub(super) struct HeadroomArgs {
    /// A latency not to be passed, as of `slob saturate`; may be given several times [default: twice the larger of production's mean read and commit, and this platform's at low load]
    #[arg(long, value_name = "WHAT=TIME")]
    limit: Vec<String>,
    /// Where its runs are kept
    #[arg(hide_short_help = true, long, value_name = "DIR", default_value = "headroom")]
    pub(super) directory: PathBuf,
    /// The most times the demand to try
    #[arg(hide_short_help = true, long, value_name = "TIMES", default_value_t = Options::default().most)]
    most: f64,
    /// How often both ends are measured, in all
    #[arg(long, value_name = "N", default_value_t = Options::default().repeats)]
    #[arg(value_parser = value_parser!(u32).range(1..=20))]
    repeats: u32,
    /// Steps of 8 s and calibrations of 5 s, unless their lengths are set, and none repeated because others spoil it: within 5 minutes
    #[arg(long)]
    quick: bool,
    /// Replay the day of production's peak instead (`day`), or 24 h from a moment such as 2026-11-20
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["most", "repeats", "quick"])]
    replay: Option<String>,
    /// How many times as fast a replay is
    #[arg(hide_short_help = true, long, value_name = "TIMES", default_value = "24", requires = "replay")]
    compress: f64,
    /// Replay this many times the work
    #[arg(hide_short_help = true, long, value_name = "TIMES", default_value = "1", requires = "replay")]
    multiply: f64,
    /// Count steps whose reads the page cache served
    #[arg(hide_short_help = true, long)]
    count_cached: bool,
    /// Write the page with charts to this file instead of beside the runs, `-` for stdout
    #[arg(long, num_args = 0..=1, value_name = "FILE", default_missing_value = "")]
    html: Option<String>,
    #[arg(hide_short_help = true, long, help = STRICT)]
    strict: bool,
    #[command(flatten)]
    demand: DemandArgs,
}

impl HeadroomArgs {
    fn options(&self) -> Result<Options, Failure> {
        let limits = self.limit.iter().map(|text| text.parse::<LatencyLimit>());
        let options = Options {
            limits: limits.collect::<Result<_, _>>().map_err(Failure::usage)?,
            most: self.most,
            repeats: self.repeats,
            count_cached: self.count_cached,
            ..self.demand.options()
        };
        match options.faults().first() {
            Some((key, value, permitted)) => Err(usage!("--{key} is {value}; it must be {permitted}")),
            None => Ok(options),
        }
    }

    fn write<A: Answer>(&self, answer: &A, page: &Path) -> Result<(), Failure> {
        let page = self.html.as_deref().filter(|file| !file.is_empty()).map_or(page, Path::new);
        output::write_page(&answer.html(), page).map_err(Failure::after_work)?;
        let text =
            if self.demand.json { output::json(A::NAME, answer)? } else { answer.text(output::width()) };
        output::print(&text).map_err(Failure::after_work)
    }
}

pub(super) fn headroom(args: &HeadroomArgs, matches: &ArgMatches) -> Outcome {
    let mut options = args.options()?;
    if let Some(when) = &args.replay {
        return replay(args, matches, &options, when);
    }
    if args.quick && !is_given(matches, "calibration") {
        QUICK_CALIBRATION.clone_into(&mut options.calibration);
    }
    let goal = goal_of(&options)?;
    let settings = settings::resolve(matches, &[])?;
    refuse_roles(&settings)?;
    RunSpec::from_settings(&settings)?;
    let stop = interrupt::flag()?;
    let mut step = if args.quick { QUICK_STEP.to_vec() } else { STEP.to_vec() };
    step.retain(|(key, _)| !settings::is_set(&settings, key));
    let step: Vec<_> = step.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
    let settings = settings::overridden(&settings, &step, "headroom")?;
    if goal.refusal(&options).is_none() {
        output::say(&expectation(&settings, &goal, options.repeats));
    }
    let pace = if args.quick { Pace::QUICK } else { Pace::THOROUGH };
    let (headroom, ended) = find_headroom(settings, &goal, &options, &args.directory, None, pace, &stop)?;
    args.write(&headroom, &args.directory.join("headroom.html"))?;
    match ended {
        Some(failure) => Err(failure),
        None => Ok(exit_code(&headroom, args.strict)),
    }
}

#[derive(Clone, Copy)]
pub(super) struct Pace {
    spoiled_repeats: usize,
    within: Option<Duration>,
}

impl Pace {
    /// The help promises five minutes, of which the pages and the end of a longer last run need some.
    const QUICK: Self = Self { spoiled_repeats: 0, within: Some(Duration::from_secs(290)) };
    pub(super) const THOROUGH: Self = Self { spoiled_repeats: 2, within: None };
}

/// Runs of the default length would take more than an hour together.
const STEP: [(&str, &str); 2] = [("RUN_TIME", "45"), ("WARMUP", "auto:20s")];
/// 18 steps and four calibrations take less than five minutes.
const QUICK_STEP: [(&str, &str); 2] = [("RUN_TIME", "8"), ("WARMUP", "auto:3s")];
const QUICK_CALIBRATION: &str = "5s";

fn expectation(settings: &Settings, goal: &Goal, repeats: u32) -> String {
    /// Doublings, and halvings of the gap.
    const FURTHER_STEPS: [u32; 2] = [3, 12];
    const OVERHEAD_S: f64 = 2.0;
    let seconds = |key| match settings.value(key) {
        Some(Value::Duration(time)) => time.as_secs_f64(),
        Some(Value::WarmUp(warm_up)) => warm_up.at_most().as_secs_f64(),
        _ => 0.0,
    };
    let (run_time, warmup) = (seconds("RUN_TIME"), seconds("WARMUP"));
    let calibration = goal.calibration_time().as_secs_f64();
    let of_calibration = CALIBRATION_RUNS as f64 * (calibration + warmup + OVERHEAD_S);
    let [least, most] = FURTHER_STEPS.map(|further| {
        let steps = f64::from(2 * repeats + further);
        duration(of_calibration + steps * (run_time + warmup + OVERHEAD_S))
    });
    let is_most = matches!(settings.value("WARMUP"), Some(Value::WarmUp(warm_up)) if warm_up.is_auto());
    format!(
        "this takes {least} to {most}, and longer where others spoil steps: up to {CALIBRATION_RUNS} calibrations, a run at low load, \
         and steps of {}{} each",
        if is_most { "at most " } else { "" },
        duration(run_time + warmup)
    )
}

/// Resumes from the runs in `directory`. `conditions` distinguish the searches of a campaign.
pub(super) fn find_headroom(
    settings: Settings,
    goal: &Goal,
    options: &Options,
    directory: &Path,
    conditions: Option<serde_json::Value>,
    pace: Pace,
    stop: &AtomicBool,
) -> Result<(Headroom, Option<Failure>), Failure> {
    let target = target_of(&settings, goal)?;
    let mut about = goal.about(&settings, &target);
    if let Some(conditions) = conditions {
        about["under"] = conditions;
    }
    let amount = |key| settings.entry(key).and_then(Entry::value).and_then(Amount::from_value);
    let [cost_per_hour, licensed_cores] = ["COST_PER_HOUR", "LICENSED_CORES"].map(amount);
    let runs = SearchRuns::resumed(settings, stop, directory, &about)?.within(pace.within);
    let HeadroomSearched { calibrated, result, ended } =
        slob_demand::find_headroom(goal, &target, options, pace.spoiled_repeats, &runs)?;
    let plan = PlanView::of(goal, Some(&target), calibrated);
    Ok((Headroom::of(plan, result, cost_per_hour, licensed_cores), ended))
}

const REPLAY_DIRECTORY: &str = "replay";

fn replay(args: &HeadroomArgs, matches: &ArgMatches, options: &Options, when: &str) -> Outcome {
    let goal = goal_of(options)?;
    if !(args.multiply > 0.0 && args.multiply <= 1000.0) {
        return Err(Failure::usage("--multiply must be more than 0 and at most 1000"));
    }
    let from = Some(when).filter(|when| *when != "day");
    let timetable = Timetable::of(&goal, from, "1d", args.compress)?;
    let settings = settings::resolve(matches, &[])?;
    refuse_roles(&settings)?;
    refuse_flags(&settings, |key| SET_BY_STRETCH.contains(&key), "the stretch and --compress")?;
    RunSpec::from_settings(&settings)?;
    let usual = Path::new(REPLAY_DIRECTORY);
    let directory = if is_given(matches, "directory") { &args.directory } else { usual };
    if goal.refusal(options).is_none() {
        say_expectation(&timetable, &goal);
    }
    let stop = interrupt::flag()?;
    let target = target_of(&settings, &goal)?;
    let mut about = goal.about(&settings, &target);
    about["replay"] = json!({
        "from": timetable.slots.first().map(|slot| slot.begin),
        "begins": timetable.begins_s,
        "multiply": args.multiply,
        "by": options.by,
        "calibration": options.calibration,
    });
    let runs = SearchRuns::resumed(settings, &stop, directory, &about)?;
    let Replayed { calibrated, result, ended } =
        slob_demand::replay(&goal, &target, &timetable, args.multiply, options, &runs)?;
    if result.runs.is_empty() && result.refused.is_none() {
        ended?;
        let place = directory.display();
        return Err(failed!("{place}: the run of the replay can't be read; look for it there"));
    }
    let replay = Replay { plan: PlanView::of(&goal, Some(&target), calibrated), result };
    args.write(&replay, &directory.join("replay.html"))?;
    ended?;
    Ok(exit_code(&replay, args.strict))
}
