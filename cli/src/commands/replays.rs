//! A stretch of a profile replayed: `slob run --demand` and `slob headroom --replay`.

use std::path::PathBuf;

use clap::Args;
use slob_campaign::is_set_by_plan;
use slob_demand::{CALIBRATION_RUNS, Goal, Options, Timetable};
use slob_live::duration;
use slob_spec::{MAX_SESSIONS, Origin, Settings};

use super::demands::{SearchRuns, goal_of, refuse_roles, target_of};
use crate::failure::Failure;
use crate::{interrupt, output, settings};

pub(super) fn say_expectation(timetable: &Timetable, goal: &Goal) {
    let calibration = goal.calibration_time().as_secs_f64();
    let seconds = timetable.seconds as f64;
    say!(
        "this takes {}: up to {CALIBRATION_RUNS} calibrations, and {} intervals in {}",
        duration(seconds + CALIBRATION_RUNS as f64 * (calibration + 5.0)),
        timetable.slots.len(),
        duration(seconds)
    );
}

pub(super) const SET_BY_STRETCH: [&str; 2] = ["RUN_TIME", "UNTIL_STEADY"];

/// A file may hold these parameters for other commands.
pub(super) fn refuse_flags(
    settings: &Settings,
    is_ignored: impl Fn(&str) -> bool,
    by: &str,
) -> Result<(), Failure> {
    let given = settings.entries().filter(|entry| *entry.origin() == Origin::Flag);
    match given.map(|entry| entry.param().key).find(|key| is_ignored(key)) {
        Some(key) => Err(usage!("{key} is set by {by}: leave it out")),
        None => Ok(()),
    }
}

/// A run that follows a profile.
#[derive(Args)]
pub(super) struct ReplayedRun {
    /// Follow this profile, of `slob profile`: its mix, and its rate interval by interval
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    demand: Option<PathBuf>,
    /// With --demand, the begin [default: that of the day of the peak]
    #[arg(hide_short_help = true, long, value_name = "MOMENT", requires = "demand")]
    from: Option<String>,
    /// With --demand, how much of the profile
    #[arg(
        hide_short_help = true,
        long = "for",
        value_name = "TIME",
        default_value = "1d",
        requires = "demand"
    )]
    length: String,
    /// With --demand, how many times as fast
    #[arg(hide_short_help = true, long, value_name = "TIMES", default_value = "24", requires = "demand")]
    compress: f64,
    /// With --demand, the length of each of the up to four short runs that measure what operations cost
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value_t = Options::default().calibration)]
    #[arg(requires = "demand")]
    calibration: String,
}

pub(super) fn of_run(args: &ReplayedRun, settings: &Settings) -> Result<Option<Settings>, Failure> {
    let Some(path) = &args.demand else { return Ok(None) };
    let most = MAX_SESSIONS as u32;
    let calibration = args.calibration.clone();
    let options = Options { profile: path.clone(), max_sessions: most, calibration, ..Options::default() };
    let goal = goal_of(&options)?;
    refuse_roles(settings)?;
    let is_own = |key: &str| is_set_by_plan(key) && !["RUN_NAME", "RESULTS_DIR"].contains(&key);
    refuse_flags(settings, |key| is_own(key) || SET_BY_STRETCH.contains(&key), "--demand")?;
    let timetable = Timetable::of(&goal, args.from.as_deref(), &args.length, args.compress)?;
    say_expectation(&timetable, &goal);
    let target = target_of(settings, &goal)?;
    let stop = interrupt::flag()?;
    let calibrated = target.calibrate(&goal, &SearchRuns::of_calibrations(settings, &stop))?;
    let parameters = calibrated.planned.parameters;
    let rates = timetable.rates(parameters.rate, 1.0);
    let (pairs, _) = timetable.pairs(&target, &parameters, &rates, 0)?;
    timetable.notes.iter().for_each(|note| output::say(note));
    if let Some(missed) = calibrated.fit.missed_words() {
        say!("slob: the mix misses {missed}");
    }
    settings::overridden(settings, &pairs, "--demand").map(Some)
}
