//! The commands that search with runs: `slob saturate` for the knee, `slob plan` for a test with a demand, `slob headroom` for
//! the largest multiple of a demand.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::ArgMatches;
use clap::parser::ValueSource;
use serde_json::json;
use slob_campaign::{
    Demand, DemandPoint, Ended, HeadroomFound, HeadroomRules, KneeFound, KneePoint, KneeRules, Raised,
    SearchStep, Trail, clash, search_headroom, search_knee,
};
use slob_facts::thresholds::LOW_LOAD;
use slob_facts::{LatencyLimit, Run as JudgedRun};
use slob_profile::{
    At, By, CALIBRATION_RUNS, Calibrated, Choice, Costs, Figures, Limits, Parameters, Profile,
    TOLERANCE_PERCENT, calibrate, compare, not_modelled, solve,
};
use slob_record::{KindRecord, Record, read_record};
use slob_report::analysis::{Curve, CurvePoint};
use slob_report::profiles::{
    Headroom, HeadroomLimit, HeadroomStep, Measured, NotCounted, PlanView, known_facts, measured_by_run,
    plan_conf, plan_table, times,
};
use slob_report::{Answer, Outcome as Decision};
use slob_spec::{Amount, Entry, FromValue, Kind, LoadSpec, Origin, RunSpec, Settings, Value};

use super::runs::Quiet;
use super::together::measure_together;
use super::{profile, replays, runs};
use crate::answer::Forms;
use crate::args::Given;
use crate::failure::{Failure, INTERRUPTED, Outcome, decided, judged};
use crate::progress::duration;
use crate::{interrupt, output, registry, settings};

/// Steps of the rate, as parts of a closed loop's throughput.
const STEPS_OF_CAPACITY: u32 = 16;
/// The search ends at twice a closed loop's throughput.
const MOST_STEPS: NonZeroU32 = NonZeroU32::new(2 * STEPS_OF_CAPACITY).unwrap();

pub(super) fn saturate(matches: &ArgMatches) -> Outcome {
    let asked = settings::resolve(matches, &[])?;
    let settings = settings::of_run_as_loaded(&asked)?;
    settings::say_as_loaded(&asked, &settings);
    let checked = RunSpec::from_settings(&settings)?;
    settings::warn(&checked.warnings);
    let limit = matches.text("limit").map(str::parse::<LatencyLimit>).transpose().map_err(Failure::usage)?;
    let schemas = checked.spec.workload.schemas;
    let most: u32 = matches.value("max-sessions");
    let tolerance = matches.value::<f64>("tolerance") / 100.0;
    if !(0.001..0.5).contains(&tolerance) {
        return Err(Failure::usage("--tolerance must be from 0.1 to 49 percent, such as 5"));
    }
    let Some(most) = NonZeroU32::new(most / schemas.get()) else {
        return Err(Failure::usage(format!(
            "--max-sessions {most} is fewer than one for each of {schemas} schemas"
        )));
    };
    let repeats = NonZeroU32::new(matches.value("repeats")).unwrap_or(NonZeroU32::MIN);
    let by_rate = matches.text("by") == Some("rate");
    if !by_rate && matches.text("THREADS_PER_SCHEMA").is_some() {
        return Err(Failure::usage("the search raises the threads itself: leave them out, or use --by rate"));
    }
    if !by_rate {
        refuse_roles(&settings)?;
    }
    let rules = KneeRules { most: if by_rate { MOST_STEPS } else { most }, tolerance, repeats };
    let victim = matches.path("beside").map(|conf| victim(conf, &settings)).transpose()?;
    let mut curve = CurveSearch {
        settings,
        victim,
        tolerance,
        name: checked.spec.run_name.to_string(),
        limit,
        stop: interrupt::flag()?,
        points: Vec::new(),
        refusal: None,
    };
    let mut raised = Raised::Threads { schemas };
    let ended = match by_rate {
        true => curve.rate_step().map(|step| raised = Raised::Rate { step }),
        false => Ok(()),
    };
    let ended = ended
        .and_then(|()| search_knee(rules, |level, has_lower| curve.measure_level(raised, level, has_lower)));
    let forms = Forms::of(matches)?;
    let curve = curve.into_curve(raised, ended.as_ref().ok().copied());
    if !curve.points.is_empty() {
        forms.write(&curve).map_err(Failure::after_work)?;
    }
    match ended {
        Ok(_) => Ok(forms.exit_code(&curve, false)),
        Err(failure) if failure.is_interruption() => Ok(ExitCode::from(INTERRUPTED)),
        Err(failure) => Err(failure),
    }
}

/// A search that chooses the number of sessions.
pub(super) fn refuse_roles(settings: &Settings) -> Result<(), Failure> {
    match ["WRITERS", "READERS"].into_iter().find(|key| settings.value(key).is_some()) {
        Some(key) => Err(Failure::usage(format!(
            "{key} says how many sessions there are, but the search finds that out itself: unset WRITERS and READERS"
        ))),
        None => Ok(()),
    }
}

struct CurveSearch {
    settings: Settings,
    /// The target that runs beside each level, and whose limit counts.
    victim: Option<Settings>,
    /// The share of a rate that may be missing.
    tolerance: f64,
    name: String,
    limit: Option<LatencyLimit>,
    stop: Arc<AtomicBool>,
    points: Vec<CurvePoint>,
    /// The target's error on more sessions.
    refusal: Option<String>,
}

impl CurveSearch {
    /// The point of a level; `None` if the target refuses it and a lower level was measured.
    fn measure_level(
        &mut self,
        raised: Raised,
        level: NonZeroU32,
        has_lower: bool,
    ) -> Result<Option<KneePoint>, Failure> {
        let (parameter, part) = raised.parameter(level);
        let name = raised.words(level);
        let (record, victim) = match self.measure(parameter, &part) {
            Ok(measured) => measured,
            Err(failure) if !failure.is_interruption() && has_lower => {
                output::say(&format!("{}: {}; going on with fewer", name.trim(), failure.text()));
                self.refusal = Some(failure.text());
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        let limited = victim.as_ref().unwrap_or(&record);
        let mut point = curve_point(&record, self.exceeds_limit(limited)?)?;
        let of_victim = match (&self.limit, &victim) {
            (Some(limit), Some(victim)) => limited_value(limit, victim)
                .map(|us| format!("  {VICTIM}: {} {us:.0} us", limit.figure.name.trim_end_matches("_us"))),
            _ => None,
        };
        // A victim at a fixed rate that is not kept has lost more than latency.
        let beside = victim.as_ref().and_then(|victim| CurvePoint::of(victim, false));
        point.over_limit |= beside.is_some_and(|beside| misses_rate(&beside, self.tolerance));
        point.over_limit |= misses_rate(&point, self.tolerance);
        let (throughput, over_limit) = (point.operations_per_s, point.over_limit);
        let over = if over_limit { " Over the limit." } else { "" };
        let of_victim = of_victim.unwrap_or_default();
        output::say(&format!("{name}  {throughput:>10.1} op/s{of_victim}  {}{over}", point.reason));
        self.points.push(point);
        Ok(Some(KneePoint { threads: level, throughput, over_limit }))
    }

    /// Measures a closed loop, which the steps of the rate divide.
    fn rate_step(&mut self) -> Result<NonZeroU32, Failure> {
        let (record, _) = self.measure(("RATE", "0".to_owned()), "closed")?;
        // A closed loop has no response times, so their limit does not apply.
        let point = curve_point(&record, false)?;
        let step = point.operations_per_s / f64::from(STEPS_OF_CAPACITY);
        output::say(&format!("closed loop: {:.1} op/s  {}", point.operations_per_s, point.reason));
        self.points.push(point);
        Ok(NonZeroU32::new(step as u32).unwrap_or(NonZeroU32::MIN))
    }

    /// Makes the run of a level, and that of the victim beside it.
    fn measure(&self, parameter: (&str, String), part: &str) -> Result<(Record, Option<Record>), Failure> {
        let name = format!("{}-{part}", self.name);
        let settings =
            settings::overridden(&self.settings, &[parameter, ("RUN_NAME", name.clone())], "saturate")?;
        let Some(victim) = &self.victim else {
            return Ok((
                runs::measure_step(&settings, &self.stop, &mut Quiet::new(), |_| String::new())?,
                None,
            ));
        };
        let of_victim = [("RUN_NAME", format!("{name}-{VICTIM}"))];
        let victim = settings::overridden(victim, &of_victim, "saturate")?;
        let members = [(AGGRESSOR, &settings), (VICTIM, &victim)];
        let ends = measure_together(&name, &members, &self.stop)?;
        // A member that fails interrupts the others.
        let failed = ends.iter().find_map(|end| match &end.ended {
            Ended::Failed { error } => Some(Failure::failed(format!("{}: {error}", end.name))),
            _ => None,
        });
        if let Some(failed) = failed {
            return Err(failed);
        }
        let mut records = ends.iter().map(|end| match (&end.ended, &end.run) {
            (Ended::Completed, Some(run)) => Ok(read_record(&settings::results_dir(&settings).join(run))?),
            _ => Err(Failure::interrupted(format!("the run of the {} was interrupted", end.name))),
        });
        match (records.next(), records.next()) {
            (Some(record), Some(victim)) => Ok((record?, Some(victim?))),
            _ => Err(Failure::failed("a run beside another gave no result")),
        }
    }

    fn exceeds_limit(&self, record: &Record) -> Result<bool, Failure> {
        let Some(limit) = &self.limit else { return Ok(false) };
        match (limited_value(limit, record), clock_step_us(limit, record)) {
            (Some(value), _) => Ok(value > limit.us),
            (None, Some(step_us)) if step_us <= limit.us => Ok(false),
            (None, Some(step_us)) => Err(Failure::usage(format!(
                "--limit {limit}: the server's clock times operations in steps of {step_us} us, and can't tell shorter ones; \
                 choose a limit of {step_us} us or more"
            ))),
            (None, None) => Err(Failure::usage(format!(
                "--limit {limit}: this target does not measure {}; choose another",
                limit.figure.name
            ))),
        }
    }

    fn into_curve(self, raised: Raised, found: Option<KneeFound>) -> Curve {
        let percent = 100.0 * self.tolerance;
        let count = found.and_then(|found| found.threads).map(|level| raised.count(level));
        let by_rate = matches!(raised, Raised::Rate { .. });
        Curve {
            why: found.map_or_else(
                || "The search ended before it found an answer; this is the curve so far.".to_owned(),
                |found| found.words(raised, percent, self.refusal.as_deref()),
            ),
            points: self.points,
            knee_sessions: count.filter(|_| !by_rate),
            knee_rate_per_s: count.filter(|_| by_rate),
            limit: self.limit.as_ref().map(ToString::to_string),
            tolerance_percent: percent,
        }
    }
}

const AGGRESSOR: &str = "aggressor";
const VICTIM: &str = "victim";

/// The settings of the target that runs beside a search. Its window is that of the search.
fn victim(conf: &Path, search: &Settings) -> Result<Settings, Failure> {
    let shared = ["RUN_TIME", "WARMUP", "RESULTS_DIR"];
    let pairs = shared.map(|key| (key, settings::shown(search, key).unwrap_or_default()));
    let victim = settings::overridden(&settings::of_file(conf)?, &pairs, "saturate")?;
    let (spec, own) = (RunSpec::from_settings(&victim)?.spec, RunSpec::from_settings(search)?.spec);
    registry::engine_of(&spec.target)?;
    if let Some(why) = clash(&own, &spec) {
        return Err(Failure::usage(format!(
            "the target of this search and that of {} {why}",
            conf.display()
        )));
    }
    if spec.workload.rate_per_s.is_none() {
        output::say(&format!(
            "warning: {} has no RATE: a closed loop slows down instead of missing its limit",
            conf.display()
        ));
    }
    Ok(victim)
}

/// True if a run with a rate did less than that.
fn misses_rate(point: &CurvePoint, tolerance: f64) -> bool {
    point.rate_per_s.is_some_and(|rate| point.operations_per_s < (1.0 - tolerance) * f64::from(rate))
}

fn curve_point(record: &Record, over_limit: bool) -> Result<CurvePoint, Failure> {
    CurvePoint::of(record, over_limit)
        .ok_or_else(|| Failure::failed(format!("run {} has no throughput to compare", record.id)))
}

/// The figure that a limit is for, if the target measures it.
fn limited_value(limit: &LatencyLimit, record: &Record) -> Option<f64> {
    limit.figure.of(&JudgedRun::of(record))
}

/// The step of the clock that timed what the limit is for: a figure that is absent lies below it.
fn clock_step_us(limit: &LatencyLimit, record: &Record) -> Option<f64> {
    let timed = |kind: &KindRecord| match limit.figure.name.split_once('_')?.0 {
        "operation" => kind.latency.clock_step(),
        "response" => kind.response.clock_step(),
        _ => None,
    };
    record.operations.values().filter_map(timed).max().map(|step| step.get() as f64 / 1e3)
}

/// Length of a calibration run.
const CALIBRATION: Kind = Kind::Duration { min_s: 2, max_s: 86_400 };

pub(super) struct Goal {
    pub(super) profile: Profile,
    pub(super) choice: Choice,
    pub(super) database: String,
    block_bytes: Option<u32>,
    pub(super) demand: slob_profile::Demand,
    /// Length of a calibration run, as a text of `slob.conf`.
    calibration: String,
    most_sessions: u32,
}

impl Goal {
    /// Reads the profile and takes the demand at the point that was asked for.
    pub(super) fn of(asked: &DemandPoint) -> Result<Self, Failure> {
        let names = || By::ALL.iter().map(|by| by.name()).collect::<Vec<_>>().join(", ");
        let by = asked.by.as_deref().map(|name| {
            name.parse::<By>()
                .map_err(|_| Failure::usage(format!("by is '{name}'; it must be one of {}", names())))
        });
        let choice = Choice {
            at: asked.at.parse::<At>().map_err(Failure::usage)?,
            by: by.transpose()?.unwrap_or_default(),
            grow: asked.grow,
            peak_factor: asked.peak_factor,
        };
        let profile = profile::read(&asked.profile)?;
        let profile = match &asked.instance {
            Some(instance) => profile.of_instance(instance),
            None => profile,
        };
        let demand = profile
            .demand(&choice)
            .map_err(|error| Failure::usage(format!("{}: {error}", asked.profile.display())))?;
        let calibration = &asked.calibration;
        if profile::parse_time(CALIBRATION, calibration).is_none() {
            let permitted = CALIBRATION.permitted();
            return Err(Failure::usage(format!("calibration is {calibration}; it must be {permitted}")));
        }
        let subject = &profile.subject;
        Ok(Self {
            database: subject.words(),
            block_bytes: subject.block_bytes,
            demand,
            calibration: calibration.clone(),
            most_sessions: asked.max_sessions,
            profile,
            choice,
        })
    }

    /// Length of a calibration run.
    pub(super) fn calibration_time(&self) -> Duration {
        profile::parse_time(CALIBRATION, &self.calibration).unwrap_or_default()
    }

    /// The facts that tell the runs for this demand on a target from others.
    pub(super) fn about(&self, settings: &Settings, target: &Target) -> serde_json::Value {
        json!({
            "database": self.database,
            "point": self.demand.point,
            "demand": self.demand.figures,
            "target": target.name,
            "loaded": target.limits,
            "run_time": settings::shown(settings, "RUN_TIME"),
            "warmup": settings::shown(settings, "WARMUP"),
        })
    }

    /// Limits before a load: what SCHEMAS, SCALE and SCAN_TABLE_SZ would make.
    fn limits_of(&self, settings: &Settings) -> Result<Limits, Failure> {
        let load = LoadSpec::from_settings(settings)?.spec;
        let block_bytes = load.block_sz.or(self.block_bytes).unwrap_or(load.block_bytes());
        let LoadSpec { schemas, scale, scan_table, .. } = load;
        let limits = Limits {
            schemas: schemas.get(),
            scan_blocks: scan_table.map_or(0, |size| size.blocks(block_bytes)),
            scale_blocks: scale.blocks(block_bytes),
            most_sessions: self.most_sessions,
            ..Limits::default()
        };
        Ok(limits.with_hot_spot(block_bytes))
    }
}

/// The point of a profile that the command line names.
pub(super) fn point(matches: &ArgMatches) -> DemandPoint {
    let text = |name| matches.text(name).map(str::to_owned);
    DemandPoint {
        profile: matches.path("profile").unwrap_or(Path::new(profile::FILE)).to_owned(),
        instance: text("instance"),
        at: text("at").unwrap_or_default(),
        by: text("by"),
        grow: matches.value("grow"),
        peak_factor: matches.get_one("peak-factor").copied(),
        calibration: text("calibration").unwrap_or_default(),
        max_sessions: matches.value("max-sessions"),
    }
}

/// Keys and values of parameters.
pub(super) type Pairs = Vec<(&'static str, String)>;

pub(super) struct Target {
    name: String,
    pub(super) limits: Limits,
    block_bytes: u32,
}

impl Target {
    pub(super) fn of(settings: &Settings, goal: &Goal) -> Result<Self, Failure> {
        let (LoadSpec { target, .. }, engine) = registry::open(settings)?;
        let server = engine.server()?;
        let schemas = engine.schemas()?;
        let complete = schemas.iter().take_while(|state| state.state.layout().is_some()).count();
        let Some(first) = schemas.first().filter(|_| complete > 0) else {
            return Err(Failure::usage(format!(
                "{target} holds no schema: load some with `slob setup`, more than the database's cache holds, or the reads will \
                 not be physical"
            )));
        };
        let there = u32::try_from(complete).unwrap_or(u32::MAX);
        let set = |key| settings.entry(key).filter(|entry| entry.origin().is_set());
        let schemas = set("SCHEMAS").and_then(|entry| entry.displayed()?.parse::<u32>().ok());
        let scale_blocks = match set("SCALE").and_then(|entry| entry.value()) {
            Some(Value::Size(size)) => size.blocks(server.block_bytes).min(first.load.scale),
            _ => first.load.scale,
        };
        let limits = Limits {
            schemas: schemas.unwrap_or(there).min(there),
            scan_blocks: first.load.scan_blocks,
            scale_blocks,
            most_sessions: goal.most_sessions,
            ..Limits::default()
        };
        let block_bytes = server.block_bytes;
        Ok(Self { name: target.to_string(), limits: limits.with_hot_spot(block_bytes), block_bytes })
    }

    /// Keys and values of a run of these operations on this target.
    pub(super) fn pairs(&self, parameters: &Parameters) -> Pairs {
        let mut pairs = parameters.pairs();
        pairs.extend([("SCALE", self.limits.scale_blocks.to_string()), ("WORK_LOOP", "0".to_owned())]);
        pairs
    }

    /// Calibrates a plan with short runs, which `measure` makes from a name and parameters.
    pub(super) fn calibrate(
        &self,
        goal: &Goal,
        settings: &Settings,
        measure: impl Fn(&str, &[(&str, String)]) -> Result<Record, Failure>,
    ) -> Result<Calibrated, Failure> {
        calibrate(&goal.demand, &self.limits, |nth, parameters| {
            let mut pairs = self.pairs(parameters);
            pairs.extend([("RUN_TIME", goal.calibration.clone()), ("UNTIL_STEADY", "FALSE".to_owned())]);
            if !settings::is_set(settings, "WARMUP") {
                pairs.push(("WARMUP", "3".to_owned()));
            }
            let rate = parameters.rate;
            output::say(&format!("calibration {nth} of at most {CALIBRATION_RUNS}: {rate} operations/s"));
            let record = measure(&format!("calibration-{nth}"), &pairs)?;
            let measured = measured_by_run(&record).ok_or_else(|| measured_nothing(&record))?;
            Ok((record.id, measured))
        })
    }

    fn notes(&self, goal: &Goal) -> Vec<String> {
        let other = goal.block_bytes.filter(|bytes| *bytes != self.block_bytes);
        let note = other.map(|bytes| {
            format!(
                "Blocks have {bytes} bytes there and {} here: the test moves as many blocks, not as many bytes.",
                self.block_bytes
            )
        });
        note.into_iter().collect()
    }
}

fn measured_nothing(record: &Record) -> Failure {
    Failure::failed(format!("run {} measured nothing", record.id))
}

pub(super) fn plan(matches: &ArgMatches) -> Outcome {
    let goal = Goal::of(&point(matches))?;
    let settings = settings::resolve(matches, &[])?;
    let view = if settings::is_set(&settings, "TARGET") {
        refuse_roles(&settings)?;
        let target = Target::of(&settings, &goal)?;
        let stop = interrupt::flag()?;
        // Calibrations are no runs of the user: they neither fill the list nor become the latest.
        let directory = settings::results_dir_of(matches)?.join("calibrations");
        let measure =
            |name: &str, pairs: &[(&str, String)]| measure(&settings, name, pairs, &stop, &directory, "");
        let calibrated = target.calibrate(&goal, &settings, measure)?;
        plan_view(&goal, Some(&target), calibrated)
    } else {
        refuse_flags_of_a_target(matches, &settings)?;
        let costs = Costs::default();
        let planned = solve(&goal.demand, &costs, &goal.limits_of(&settings)?);
        let fit = compare(&goal.demand, &planned, None, &costs);
        plan_view(&goal, None, Calibrated { planned, fit, runs: Vec::new() })
    };
    let missed: Vec<&str> = view.fit.missed().map(|line| line.what.words()).collect();
    let is_written = missed.is_empty() || matches.get_flag("force");
    let path = matches.path("output");
    if let Some(path) = path.filter(|_| is_written) {
        output::write_page(&plan_conf(&view), path)?;
    }
    output::print(&match (matches.get_flag("json"), path) {
        (true, _) => output::json("the plan", &view)?,
        (false, None) if is_written => plan_conf(&view),
        (false, _) => plan_table(&view),
    })?;
    if !missed.is_empty() {
        let place = path.map_or_else(|| "slob.conf".into(), Path::to_string_lossy);
        let then = match is_written {
            true => format!("{place} is written all the same"),
            false => format!("{place} is not written; --force writes it all the same"),
        };
        output::say(&format!(
            "slob: the plan misses {} by more than {TOLERANCE_PERCENT} %: {then}",
            missed.join(", ")
        ));
    }
    Ok(judged(true, is_written))
}

/// Refuses flags that only a run on a target uses.
fn refuse_flags_of_a_target(matches: &ArgMatches, settings: &Settings) -> Result<(), Failure> {
    const USED: [&str; 6] = ["SCHEMAS", "SCALE", "SCAN_TABLE_SZ", "BLOCK_SZ", "TARGET", "RESULTS_DIR"];
    let is_flag = |entry: &&Entry| *entry.origin() == Origin::Flag && !USED.contains(&entry.param().key);
    let of_run = settings.entries().find(is_flag).and_then(|entry| entry.param().flag());
    let given = matches.value_source("calibration") == Some(ValueSource::CommandLine);
    match of_run.or(given.then(|| "calibration".to_owned())) {
        Some(flag) => Err(Failure::usage(format!(
            "--{flag} is of runs on a target: name one with --target, or leave it out"
        ))),
        None => Ok(()),
    }
}

pub(super) fn plan_view(goal: &Goal, target: Option<&Target>, calibrated: Calibrated) -> PlanView {
    PlanView {
        database: goal.database.clone(),
        production: known_facts(&goal.profile),
        demand: goal.demand.clone(),
        plan: calibrated.planned,
        fit: calibrated.fit,
        target: target.map(|target| target.name.clone()),
        runs: calibrated.runs,
        scale_blocks: target.map(|target| target.limits.scale_blocks),
        not_modelled: not_modelled(&goal.demand.figures, goal.block_bytes),
        notes: target.map(|target| target.notes(goal)).unwrap_or_default(),
    }
}

/// Makes a run with that name in a directory of its own. `resume` ends the message of an interruption.
pub(super) fn measure(
    settings: &Settings,
    name: &str,
    pairs: &[(&str, String)],
    stop: &AtomicBool,
    directory: &Path,
    resume: &str,
) -> Result<Record, Failure> {
    let mut pairs = pairs.to_vec();
    pairs.push(("RUN_NAME", name.to_owned()));
    pairs.push(("RESULTS_DIR", directory.display().to_string()));
    let settings = settings::overridden(settings, &pairs, name)?;
    runs::measure_step(&settings, stop, &mut Quiet::new(), |folder| {
        format!("; what it measured is kept: `{}`{resume}", runs::report_command(folder))
    })
}

pub(super) fn headroom(matches: &ArgMatches) -> Outcome {
    if let Some(when) = matches.text("replay") {
        return replays::replay(matches, when);
    }
    let mut point = point(matches);
    let is_quick = matches.get_flag("quick");
    if is_quick && matches.value_source("calibration") != Some(ValueSource::CommandLine) {
        QUICK_CALIBRATION.clone_into(&mut point.calibration);
    }
    let goal = Goal::of(&point)?;
    let settings = settings::resolve(matches, &[])?;
    refuse_roles(&settings)?;
    RunSpec::from_settings(&settings)?;
    let limits = matches.texts("limit").into_iter().map(str::parse::<LatencyLimit>);
    let asked = Demand {
        point,
        limits: limits.collect::<Result<_, _>>().map_err(Failure::usage)?,
        rules: HeadroomRules { most: matches.value("most"), repeats: matches.value("repeats") },
        count_cached: matches.get_flag("count-cached"),
    };
    if !(1.0..=1e6).contains(&asked.rules.most) {
        return Err(Failure::usage("--most must be 1 at least"));
    }
    let directory = matches.path("directory").unwrap_or(Path::new("headroom"));
    let stop = interrupt::flag()?;
    let mut step = if is_quick { QUICK_STEP.to_vec() } else { STEP.to_vec() };
    step.retain(|(key, _)| !settings::is_set(&settings, key));
    let step: Vec<_> = step.into_iter().map(|(key, value)| (key, value.to_owned())).collect();
    let settings = settings::overridden(&settings, &step, "headroom")?;
    output::say(&expectation(&settings, &goal, asked.rules)?);
    let spoiled_repeats = if is_quick { 0 } else { SPOILED_REPEATS };
    let (headroom, interruption) =
        find_headroom(settings, &goal, &asked, directory, None, spoiled_repeats, &stop)?;
    let beside = directory.join("headroom.html");
    output::write_page(&headroom.html(), matches.path("html").unwrap_or(&beside))
        .map_err(Failure::after_work)?;
    output::print(&match matches.get_flag("json") {
        true => output::json("the headroom", &headroom)?,
        false => headroom.text(),
    })
    .map_err(Failure::after_work)?;
    if let Some(failure) = interruption {
        return Err(failure);
    }
    Ok(match headroom.outcome() {
        Some(Decision::Passed) | None => judged(matches.get_flag("strict"), headroom.are_good()),
        Some(outcome) => decided(outcome),
    })
}

/// Parameters of a step that are not set otherwise: runs of the default length would take more than an hour together.
const STEP: [(&str, &str); 1] = [("RUN_TIME", "45")];
/// With `--quick` 21 steps and four calibrations take less than five minutes.
const QUICK_STEP: [(&str, &str); 2] = [("RUN_TIME", "8"), ("WARMUP", "1")];
const QUICK_CALIBRATION: &str = "5s";

/// A sentence on how long a search takes.
fn expectation(settings: &Settings, goal: &Goal, rules: HeadroomRules) -> Result<String, Failure> {
    /// Steps of a search beside repeats: doublings and halvings of the gap.
    const FURTHER_STEPS: [u32; 2] = [3, 12];
    /// Start and end of a run.
    const OVERHEAD_S: f64 = 2.0;
    let seconds = |key| match settings.value(key) {
        Some(Value::Duration(time)) => time.as_secs_f64(),
        _ => 0.0,
    };
    let (run_time, warmup) = (seconds("RUN_TIME"), seconds("WARMUP"));
    let calibration = goal.calibration_time().as_secs_f64();
    let of_calibration = CALIBRATION_RUNS as f64 * (calibration + warmup + OVERHEAD_S);
    let [least, most] = FURTHER_STEPS.map(|further| {
        let steps = f64::from(2 * rules.repeats + further);
        duration(of_calibration + steps * (run_time + warmup + OVERHEAD_S))
    });
    Ok(format!(
        "this takes {least} to {most}, and longer where others spoil steps: up to {CALIBRATION_RUNS} calibrations, a run at low load, \
         and steps of {} each",
        duration(run_time + warmup)
    ))
}

/// Searches for headroom, or resumes from the runs in `directory`. `conditions` distinguish the searches of a campaign. Beside
/// what is known of headroom, returns the interruption that ended the search.
pub(super) fn find_headroom(
    settings: Settings,
    goal: &Goal,
    asked: &Demand,
    directory: &Path,
    conditions: Option<serde_json::Value>,
    spoiled_repeats: usize,
    stop: &AtomicBool,
) -> Result<(Headroom, Option<Failure>), Failure> {
    let target = Target::of(&settings, goal)?;
    let mut about = goal.about(&settings, &target);
    if let Some(conditions) = conditions {
        about["under"] = conditions;
    }
    let runs = SearchRuns { trail: Trail::open(directory, &about)?, settings, stop };
    let calibrated = target.calibrate(goal, &runs.settings, |name, pairs| runs.measure(name, pairs))?;
    let parameters = calibrated.planned.parameters;
    let mut search = StepSearch {
        runs,
        parameters,
        target: &target,
        columns: asked
            .limits
            .iter()
            .map(|limit| limit.figure.name)
            .chain(HeadroomLimit::default_columns())
            .collect(),
        limits: asked.limits.iter().map(asked_limit).collect(),
        count_cached: asked.count_cached,
        spoiled_repeats,
        measured: None,
        low_load: None,
        steps: Vec::new(),
        interruption: None,
    };
    let found = search.find(asked, &goal.demand.figures)?;
    let settings = &search.runs.settings;
    let amount = |key| settings.entry(key).and_then(Entry::value).and_then(Amount::from_value);
    let headroom = Headroom {
        plan: plan_view(goal, Some(&target), calibrated),
        measured: search.measured,
        limits: search.limits,
        why: found.words(asked.rules),
        cost_per_hour: amount("COST_PER_HOUR"),
        licensed_cores: amount("LICENSED_CORES"),
        low_load: search.low_load,
        steps: search.steps,
        carries: found.carries,
        at_least: found.at_least,
        less_than: found.less_than,
        unknown: None,
    };
    let headroom = headroom.judged();
    Ok((headroom, search.interruption))
}

pub(super) fn asked_limit(limit: &LatencyLimit) -> HeadroomLimit {
    HeadroomLimit { name: limit.to_string(), column: limit.figure.name.to_owned(), us: limit.us, basis: None }
}

/// The runs of a search, and what they have in common.
pub(super) struct SearchRuns<'a> {
    pub(super) trail: Trail,
    pub(super) settings: Settings,
    pub(super) stop: &'a AtomicBool,
}

impl SearchRuns<'_> {
    /// Takes the run of that name from the trail, or makes it.
    pub(super) fn measure(&self, name: &str, pairs: &[(&str, String)]) -> Result<Record, Failure> {
        match self.trail.made(name) {
            Some(record) => {
                output::say(&format!("{name}: taken from {}", record.id));
                Ok(record)
            }
            None => {
                let directory = &self.trail.directory;
                let resume = format!("; the same command goes on from the runs in {}", directory.display());
                measure(&self.settings, name, pairs, self.stop, directory, &resume)
            }
        }
    }
}

struct StepSearch<'a> {
    runs: SearchRuns<'a>,
    parameters: Parameters,
    target: &'a Target,
    /// Columns of latencies that limits may need.
    columns: BTreeSet<&'static str>,
    limits: Vec<HeadroomLimit>,
    count_cached: bool,
    /// How often the steps of a level are repeated because others spoiled them.
    spoiled_repeats: usize,
    measured: Option<Measured>,
    low_load: Option<HeadroomStep>,
    steps: Vec<HeadroomStep>,
    interruption: Option<Failure>,
}

impl StepSearch<'_> {
    /// Runs at low load and at 1x settle the default limits, by which further steps are judged.
    fn find(&mut self, asked: &Demand, production: &Figures) -> Result<HeadroomFound, Failure> {
        let rate = NonZeroU32::new(self.parameters.rate).unwrap_or(NonZeroU32::MIN);
        let mut at_one = Vec::new();
        if self.measure_low_load()? {
            while at_one.len() < asked.rules.repeats as usize
                && at_one.last().is_none_or(|last| matches!(last, SearchStep::Held | SearchStep::Broke))
            {
                at_one.push(self.step(1.0, |_| true)?);
            }
        } else {
            at_one.push(SearchStep::Interrupted);
        }
        if asked.limits.is_empty() {
            let counted: Vec<HeadroomStep> =
                self.steps.iter().filter(|step| step.not_counted.is_none()).cloned().collect();
            self.limits = HeadroomLimit::defaults(production, self.low_load.as_ref(), &counted);
            self.steps.iter_mut().for_each(|step| step.judge(&self.limits));
            let ended =
                at_one.iter().rfind(|step| !matches!(step, SearchStep::Held | SearchStep::Broke)).copied();
            at_one = self.steps.iter().filter_map(result_of).chain(ended).collect();
        }
        search_headroom(asked.rules, rate, &at_one, |factor| self.step(factor, |step| step.broke.is_some()))
    }

    /// Measures the latencies of this platform where nothing queues; returns false if the user interrupts it. A plan of a rate
    /// that can't be lowered has no such run.
    fn measure_low_load(&mut self) -> Result<bool, Failure> {
        let factor = LOW_LOAD.value / 100.0;
        if self.parameters.times(factor, &self.target.limits).rate == self.parameters.rate {
            return Ok(true);
        }
        for nth in 1..=1 + self.spoiled_repeats {
            let Some(step) = self.run(&format!("low-load-{nth}"), factor)? else { return Ok(false) };
            let is_last = step.spoiled.is_none();
            output::say(&format!("low load, {} operations/s: {}", step.rate, step.outcome()));
            self.low_load = Some(step);
            if is_last {
                break;
            }
        }
        Ok(true)
    }

    /// A step, repeated while others spoil it and that `matters`.
    fn step(&mut self, factor: f64, matters: fn(&HeadroomStep) -> bool) -> Result<SearchStep, Failure> {
        loop {
            let name = format!("step-{}", self.steps.len() + 1);
            let Some(mut step) = self.run(&name, factor)? else { return Ok(SearchStep::Interrupted) };
            step.judge(&self.limits);
            let repeated = |other: &&HeadroomStep| {
                other.factor == factor && other.not_counted == Some(NotCounted::Repeated)
            };
            let is_spoiled = step.spoiled.is_some() && step.not_counted.is_none() && matters(&step);
            if is_spoiled && self.steps.iter().filter(repeated).count() < self.spoiled_repeats {
                step.not_counted = Some(NotCounted::Repeated);
            }
            output::say(&format!(
                "{} times the demand, {} operations/s: {}",
                times(factor),
                step.rate,
                step.outcome()
            ));
            let result = result_of(&step);
            self.steps.push(step);
            if let Some(result) = result {
                return Ok(result);
            }
        }
    }

    /// Makes the run of a step; `None` if the user interrupts it.
    fn run(&mut self, name: &str, factor: f64) -> Result<Option<HeadroomStep>, Failure> {
        let pairs = self.target.pairs(&self.parameters.times(factor, &self.target.limits));
        let record = match self.runs.measure(name, &pairs) {
            Err(failure) if failure.is_interruption() => {
                self.interruption = Some(failure);
                return Ok(None);
            }
            other => other?,
        };
        self.measured.get_or_insert_with(|| Measured::of(&record));
        let columns = self.columns.iter().copied();
        let step = HeadroomStep::of(&record, factor, columns, self.count_cached);
        step.map(Some).ok_or_else(|| measured_nothing(&record))
    }
}

pub(super) const SPOILED_REPEATS: usize = 2;

/// `None` for a step that is repeated.
fn result_of(step: &HeadroomStep) -> Option<SearchStep> {
    match (step.not_counted, &step.broke) {
        (Some(NotCounted::Repeated), _) => None,
        (Some(NotCounted::Cached), _) => Some(SearchStep::NotCounted),
        (None, Some(_)) => Some(SearchStep::Broke),
        (None, None) => Some(SearchStep::Held),
    }
}
