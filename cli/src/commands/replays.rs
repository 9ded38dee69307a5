//! A stretch of a profile replayed: `slob headroom --replay`, and the rate of `slob run --demand`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use jiff::civil::DateTime;
use serde_json::json;
use slob_campaign::{DemandPoint, Trail, is_set_by_plan};
use slob_facts::LatencyLimit;
use slob_profile::{CALIBRATION_RUNS, Parameters, Slot, Stretch, length};
use slob_report::Answer;
use slob_report::profiles::{HeadroomLimit, RESPONSE, Replay, ReplayInterval};
use slob_spec::{Kind, Origin, RateSchedule, RateStep, RunSpec, Settings};

use super::profile;
use super::searches::{
    Goal, Pairs, SearchRuns, Target, asked_limit, measure, plan_view, point, refuse_roles,
};
use crate::args::Given;
use crate::failure::{Failure, Outcome, judged};
use crate::progress::duration;
use crate::{interrupt, output, settings};

/// Length of the stretch.
const LENGTH: Kind = Kind::Duration { min_s: 60, max_s: 366 * 86_400 };
/// Shorter steps have no samples of their own.
const LEAST_STEP_S: u64 = 2;
/// Name of the runs of a replay, whole or parts.
const RUN: &str = "replay";
/// Folder of the runs.
const DIRECTORY: &str = "replay";

/// A stretch of production with the seconds of the replay at which each of its intervals begins.
struct Timetable {
    slots: Vec<Slot>,
    begins_s: Vec<u64>,
    seconds: u64,
    notes: Vec<String>,
}

impl Timetable {
    /// The stretch from a moment on, or the day of the goal's point, `compress` times as fast.
    fn of(goal: &Goal, from: Option<&str>, length_text: &str, compress: f64) -> Result<Self, Failure> {
        let from = match from {
            None => None,
            Some(text) => Some(text.replacen(' ', "T", 1).parse::<DateTime>().map_err(|_| {
                Failure::usage(format!(
                    "'{text}' is no moment: say one such as 2026-11-20 or '2026-11-20 08:00'"
                ))
            })?),
        };
        let seconds = profile::parse_time(LENGTH, length_text).ok_or_else(|| {
            Failure::usage(format!("--for is '{length_text}'; it must be {}", LENGTH.permitted()))
        })?;
        if !(1.0..=86_400.0).contains(&compress) {
            return Err(Failure::usage("--compress must be from 1 to 86400"));
        }
        let Stretch { slots, notes } = goal
            .profile
            .stretch(&goal.choice, &goal.demand, from, seconds.as_secs_f64())
            .map_err(|error| Failure::usage(error.to_string()))?;
        let at = |from_s: f64| (from_s / compress).round() as u64;
        let begins_s: Vec<u64> = slots.iter().map(|slot| at(slot.from_s)).collect();
        let seconds = slots.last().map_or(0, |last| at(last.from_s + last.seconds));
        let ends = begins_s.iter().skip(1).copied().chain([seconds]);
        let too_short =
            begins_s.iter().zip(ends).zip(&slots).find(|((begin, end), _)| *begin + LEAST_STEP_S > *end);
        if let Some((_, slot)) = too_short {
            return Err(Failure::usage(format!(
                "--compress {compress} leaves less than {LEAST_STEP_S} s for the {} from {} on: say --compress {} at most",
                length(slot.seconds),
                slot.begin_words(),
                (slot.seconds / LEAST_STEP_S as f64 / 1.5).floor().max(1.0)
            )));
        }
        if slots.len() < 2 {
            return Err(Failure::usage(
                "the stretch has a single interval, in which nothing changes: take --at and `slob plan` for it",
            ));
        }
        Ok(Self { slots, begins_s, seconds, notes })
    }

    /// Operations per second of each interval, in proportion to those of the whole demand.
    fn rates(&self, whole: u32, multiply: f64) -> Vec<u32> {
        self.slots.iter().map(|slot| (f64::from(whole) * slot.share * multiply).round() as u32).collect()
    }

    /// Keys and values of a run with these operations from interval number `first` on, and the seconds it takes.
    fn pairs(
        &self,
        target: &Target,
        mix: &Parameters,
        rates: &[u32],
        first: usize,
    ) -> Result<(Pairs, u64), Failure> {
        let begin_s = self.begins_s[first];
        let step = |(at_s, rate): (&u64, &u32)| RateStep {
            from: std::time::Duration::from_secs(at_s - begin_s),
            per_second: *rate,
        };
        let steps = self.begins_s.iter().zip(rates).skip(first).map(step).collect();
        let schedule = RateSchedule::new(steps).map_err(|error| {
            Failure::usage(format!(
                "this stretch can't be replayed: expected {error}; say --multiply, or another one"
            ))
        })?;
        let seconds = self.seconds - begin_s;
        let mut pairs = target.pairs(mix);
        pairs.retain(|(key, _)| *key != "RATE");
        pairs.extend([
            ("RATE", schedule.to_string()),
            ("RUN_TIME", seconds.to_string()),
            ("UNTIL_STEADY", "FALSE".to_owned()),
        ]);
        Ok((pairs, seconds))
    }
}

pub(super) fn replay(matches: &ArgMatches, when: &str) -> Outcome {
    let goal = Goal::of(&point(matches))?;
    let (compress, multiply): (f64, f64) = (matches.value("compress"), matches.value("multiply"));
    if !(multiply > 0.0 && multiply <= 1000.0) {
        return Err(Failure::usage("--multiply must be more than 0 and at most 1000"));
    }
    let from = Some(when).filter(|when| *when != "day");
    let timetable = Timetable::of(&goal, from, "1d", compress)?;
    let settings = settings::resolve(matches, &[])?;
    refuse_roles(&settings)?;
    refuse_flags(&settings, |key| SET_BY_STRETCH.contains(&key), "the stretch and --compress")?;
    RunSpec::from_settings(&settings)?;
    let limits = matches.texts("limit").into_iter().map(str::parse::<LatencyLimit>);
    let limits: Vec<LatencyLimit> = limits.collect::<Result<_, _>>().map_err(Failure::usage)?;
    let directory = match matches.value_source("directory") {
        Some(ValueSource::CommandLine) => matches.path("directory").unwrap_or(Path::new(DIRECTORY)),
        _ => Path::new(DIRECTORY),
    };
    say_expectation(&timetable, &goal);
    let (replay, ended) = carry_out(settings, &goal, &timetable, directory, &limits, matches)?;
    let ended = match ended {
        Err(failure) if replay.runs.is_empty() => return Err(failure),
        ended => ended,
    };
    output::write_page(&replay.html(), matches.path("html").unwrap_or(&directory.join("replay.html")))
        .map_err(Failure::after_work)?;
    output::print(&match matches.get_flag("json") {
        true => output::json("the replay", &replay)?,
        false => replay.text(),
    })
    .map_err(Failure::after_work)?;
    ended?;
    Ok(judged(true, replay.is_carried() && (replay.are_good() || !matches.get_flag("strict"))))
}

fn say_expectation(timetable: &Timetable, goal: &Goal) {
    let calibration = goal.calibration_time().as_secs_f64();
    let seconds = timetable.seconds as f64;
    output::say(&format!(
        "this takes {}: up to {CALIBRATION_RUNS} calibrations, and {} intervals in {}",
        duration(seconds + CALIBRATION_RUNS as f64 * (calibration + 5.0)),
        timetable.slots.len(),
        duration(seconds)
    ));
}

/// Calibrates, then replays, or goes on where the runs in `directory` end. Beside what is known, returns what ended it.
fn carry_out(
    settings: Settings,
    goal: &Goal,
    timetable: &Timetable,
    directory: &Path,
    limits: &[LatencyLimit],
    matches: &ArgMatches,
) -> Result<(Replay, Result<ExitCode, Failure>), Failure> {
    let (compress, multiply): (f64, f64) = (matches.value("compress"), matches.value("multiply"));
    let stop = interrupt::flag()?;
    let target = Target::of(&settings, goal)?;
    let mut about = goal.about(&settings, &target);
    about["replay"] = json!({
        "from": timetable.slots.first().map(|slot| slot.begin),
        "begins": timetable.begins_s,
        "multiply": multiply,
    });
    let runs = SearchRuns { trail: Trail::open(directory, &about)?, settings, stop: &stop };
    let calibrated = target.calibrate(goal, &runs.settings, |name, pairs| runs.measure(name, pairs))?;
    let parameters = calibrated.planned.parameters;
    let most = timetable.slots.iter().map(|slot| slot.share).fold(1.0, f64::max);
    let mix = parameters.times(most * multiply, &target.limits);
    let rates = timetable.rates(parameters.rate, multiply);
    let interval = |(slot, rate): (&Slot, &u32)| ReplayInterval {
        slot: slot.clone(),
        rate: *rate,
        step: None,
        slower: Vec::new(),
        outcome: String::new(),
    };
    let mut replay = Replay {
        intervals: timetable.slots.iter().zip(&rates).map(interval).collect(),
        plan: plan_view(goal, Some(&target), calibrated),
        measured: None,
        multiply,
        compress,
        count_cached: matches.get_flag("count-cached"),
        runs: Vec::new(),
        notes: timetable.notes.clone(),
    };
    let columns: Vec<&str> = limits
        .iter()
        .map(|limit| limit.figure.name)
        .chain(HeadroomLimit::default_columns())
        .chain([RESPONSE])
        .collect();
    let ended =
        replay_parts(&runs, &mut replay, &columns, |first| timetable.pairs(&target, &mix, &rates, first));
    replay.judge(&limits.iter().map(asked_limit).collect::<Vec<_>>());
    Ok((replay, ended))
}

/// Adds the runs that there are, and makes what is missing. A part begins with an interval that the parts before have not to its
/// end.
fn replay_parts(
    runs: &SearchRuns<'_>,
    replay: &mut Replay,
    columns: &[&str],
    pairs_from: impl Fn(usize) -> Result<(Pairs, u64), Failure>,
) -> Result<ExitCode, Failure> {
    let all = replay.intervals.len();
    // A schedule has two steps at least.
    let begin_after = |done: usize| done.min(all - 2);
    let mut done = 0;
    for part in runs.trail.parts(RUN) {
        done = replay.add(&part, begin_after(done), columns).max(done);
    }
    if done > 0 {
        output::say(&format!(
            "{done} of {all} intervals are taken from the runs in {}",
            runs.trail.directory.display()
        ));
    }
    if done == all {
        return Ok(ExitCode::SUCCESS);
    }
    let first = begin_after(done);
    let (pairs, seconds) = pairs_from(first)?;
    let directory = &runs.trail.directory;
    let resume = format!("; the same command goes on from the runs in {}", directory.display());
    output::say(&format!("{} of {all} intervals to replay, in {}", all - first, duration(seconds as f64)));
    let made = measure(&runs.settings, RUN, &pairs, runs.stop, directory, &resume);
    if let Some(part) = runs.trail.parts(RUN).last().filter(|part| !replay.has(part)) {
        replay.add(part, first, columns);
    }
    made.map(|_| ExitCode::SUCCESS)
}

/// Parameters that the length of a stretch sets.
const SET_BY_STRETCH: [&str; 2] = ["RUN_TIME", "UNTIL_STEADY"];

/// Refuses flags that would be ignored; a file may hold the same parameters for other commands.
fn refuse_flags(settings: &Settings, is_ignored: impl Fn(&str) -> bool, by: &str) -> Result<(), Failure> {
    let given = settings.entries().filter(|entry| *entry.origin() == Origin::Flag);
    match given.map(|entry| entry.param().key).find(|key| is_ignored(key)) {
        Some(key) => Err(Failure::usage(format!("{key} is set by {by}: leave it out"))),
        None => Ok(()),
    }
}

/// A run that follows a profile.
#[derive(Args)]
pub(super) struct ReplayedRun {
    /// Follow this profile, of `slob profile`: its mix, and its rate interval by interval
    #[arg(long, value_name = "FILE")]
    demand: Option<PathBuf>,
    /// With --demand, the begin [default: that of the day of the peak]
    #[arg(long, value_name = "MOMENT", requires = "demand")]
    from: Option<String>,
    /// With --demand, how much of the profile
    #[arg(long = "for", value_name = "TIME", default_value = "1d", requires = "demand")]
    length: String,
    /// With --demand, how many times as fast
    #[arg(long, value_name = "TIMES", default_value = "24", requires = "demand")]
    compress: f64,
}

/// The parameters of a run that follows a profile, for `slob run --demand`; `None` without it.
pub(super) fn of_run(args: &ReplayedRun, settings: &Settings) -> Result<Option<Settings>, Failure> {
    let Some(path) = &args.demand else { return Ok(None) };
    let goal = Goal::of(&DemandPoint {
        profile: path.to_owned(),
        instance: None,
        at: "peak".to_owned(),
        by: None,
        grow: 1.0,
        peak_factor: None,
        calibration: "15s".to_owned(),
        max_sessions: slob_spec::MAX_SESSIONS as u32,
    })?;
    refuse_roles(settings)?;
    let is_own = |key: &str| is_set_by_plan(key) && !["RUN_NAME", "RESULTS_DIR"].contains(&key);
    refuse_flags(settings, |key| is_own(key) || SET_BY_STRETCH.contains(&key), "--demand")?;
    let timetable = Timetable::of(&goal, args.from.as_deref(), &args.length, args.compress)?;
    say_expectation(&timetable, &goal);
    let target = Target::of(settings, &goal)?;
    let stop = interrupt::flag()?;
    let directory = settings::results_dir(settings).join("calibrations");
    let calibrated = target
        .calibrate(&goal, settings, |name, pairs| measure(settings, name, pairs, &stop, &directory, ""))?;
    let parameters = calibrated.planned.parameters;
    let rates = timetable.rates(parameters.rate, 1.0);
    let (pairs, _) = timetable.pairs(&target, &parameters, &rates, 0)?;
    timetable.notes.iter().for_each(|note| output::say(note));
    settings::overridden(settings, &pairs, "--demand").map(Some)
}
