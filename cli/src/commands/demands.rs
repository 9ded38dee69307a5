//! What plans, searches for headroom and replays have in common: the demand, the target, and the runs.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use clap_complete::ArgValueCompleter;
use slob_campaign::Trail;
use slob_demand::{By, Goal, LoadedTarget, Options, Parts, Runs, Target};
use slob_record::Record;
use slob_spec::{LoadSpec, MAX_SESSIONS, Settings};

use super::measuring::{Quiet, measure_step, report_command};
use super::profile;
use crate::failure::Failure;
use crate::{completing, output, settings};

/// The point of a profile, and the multiple of its demand.
#[derive(Args)]
pub(super) struct DemandArgs {
    /// What `slob profile` wrote
    #[arg(value_name = "PROFILE", default_value_os_t = Options::default().profile)]
    #[arg(add = ArgValueCompleter::new(completing::profiles))]
    profile: PathBuf,
    /// peak, p95, median, or a moment such as '2026-11-20 10:00'
    #[arg(hide_short_help = true, long, value_name = "POINT", default_value_t = Options::default().at)]
    at: String,
    /// What peak, p95 and median are by; `each` takes each figure at its own
    #[arg(long, value_name = "FIGURE", default_value_t = By::default().name().to_owned())]
    #[arg(value_parser = By::ALL.iter().map(|by| by.name()).collect::<Vec<_>>())]
    by: String,
    /// Plan for this many times the demand
    #[arg(hide_short_help = true, long, value_name = "TIMES", default_value_t = Options::default().grow)]
    grow: f64,
    /// By how much the busiest minutes of a long interval exceeded its mean
    #[arg(hide_short_help = true, long, value_name = "TIMES")]
    peak_factor: Option<f64>,
    /// Of a cluster, only this instance [default: all together]
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    instance: Option<String>,
    /// Length of each of the up to four short runs that measure what operations cost
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value_t = Options::default().calibration)]
    calibration: String,
    /// The most sessions
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = Options::default().max_sessions)]
    #[arg(value_parser = value_parser!(u32).range(1..=MAX_SESSIONS.cast_signed()))]
    max_sessions: u32,
    /// Print everything as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl DemandArgs {
    pub(super) fn options(&self) -> Options {
        Options {
            profile: self.profile.clone(),
            instance: self.instance.clone(),
            at: self.at.clone(),
            by: Some(self.by.clone()),
            grow: self.grow,
            peak_factor: self.peak_factor,
            calibration: self.calibration.clone(),
            max_sessions: self.max_sessions,
            ..Options::default()
        }
    }
}

pub(super) fn goal_of(options: &Options) -> Result<Goal, Failure> {
    Ok(Goal::of(options, profile::read(&options.profile)?)?)
}

pub(super) fn target_of(settings: &Settings, goal: &Goal) -> Result<Target, Failure> {
    let (LoadSpec { target, .. }, engine) = settings::open(settings)?;
    let server = engine.server()?;
    let schemas = engine.schemas()?;
    let complete = schemas.iter().take_while(|state| state.state.layout().is_some()).count();
    let Some(first) = schemas.first().filter(|_| complete > 0) else {
        return Err(usage!(
            "{target} holds no schema: load some with `slob setup`, more than the database's cache holds, or the reads will \
             not be physical"
        ));
    };
    let loaded = LoadedTarget {
        name: target.to_string(),
        block_bytes: server.block_bytes,
        schemas: u32::try_from(complete).unwrap_or(u32::MAX),
        scale_blocks: first.load.scale,
        scan_blocks: first.load.scan_blocks,
    };
    Ok(Target::of(loaded, settings, goal))
}

/// The search chooses the number of sessions.
pub(super) fn refuse_roles(settings: &Settings) -> Result<(), Failure> {
    match ["WRITERS", "READERS"].into_iter().find(|key| settings.value(key).is_some()) {
        Some(key) => Err(usage!(
            "{key} says how many sessions there are, but the search finds that out itself: unset WRITERS and READERS"
        )),
        None => Ok(()),
    }
}

pub(super) struct SearchRuns<'a> {
    settings: Settings,
    stop: &'a AtomicBool,
    directory: PathBuf,
    /// Knows earlier runs; calibrations of a plan have none.
    trail: Option<Trail>,
    until: Option<Instant>,
    longest: Cell<Duration>,
}

impl<'a> SearchRuns<'a> {
    /// Calibrations neither fill the list of runs nor become the latest.
    pub(super) fn of_calibrations(settings: &Settings, stop: &'a AtomicBool) -> Self {
        let directory = settings::results_dir(settings).join("calibrations");
        Self::new(settings.clone(), stop, directory, None)
    }

    pub(super) fn resumed(
        settings: Settings,
        stop: &'a AtomicBool,
        directory: &Path,
        about: &serde_json::Value,
    ) -> Result<Self, Failure> {
        let trail = Some(Trail::open(directory, about)?);
        Ok(Self::new(settings, stop, directory.to_owned(), trail))
    }

    fn new(settings: Settings, stop: &'a AtomicBool, directory: PathBuf, trail: Option<Trail>) -> Self {
        Self { settings, stop, directory, trail, until: None, longest: Cell::default() }
    }

    /// Another load, as of a search with other options, is not the same step.
    fn earlier(&self, name: &str, pairs: &[(&str, String)]) -> Result<Option<Record>, Failure> {
        let Some(trail) = &self.trail else { return Ok(None) };
        let settings = settings::overridden(&self.settings, pairs, name)?;
        let is_same =
            |record: &Record, key: &str| record.configured(key) == settings::shown(&settings, key).as_deref();
        Ok(trail.made(name, |record| pairs.iter().all(|(key, _)| is_same(record, key))))
    }

    /// Begins no run that would end later, by the longest run so far.
    pub(super) fn within(self, time: Option<Duration>) -> Self {
        Self { until: time.map(|time| Instant::now() + time), ..self }
    }
}

impl Runs for SearchRuns<'_> {
    type Failure = Failure;

    fn run(&self, name: &str, pairs: &[(&str, String)]) -> Result<Record, Failure> {
        match self.earlier(name, pairs)? {
            Some(record) => {
                say!("{name}: taken from {}", record.id);
                Ok(record)
            }
            None => self.make(name, pairs).map_err(|failure| match self.longest.get().is_zero() {
                true => failure,
                false => failure.after_work(),
            }),
        }
    }

    fn refusal(failure: &Failure) -> Option<String> {
        failure.refusal()
    }

    fn is_out_of_time(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() + self.longest.get() > until)
    }

    fn say(&self, line: &str) {
        output::say(line);
    }
}

impl Parts for SearchRuns<'_> {
    fn parts(&self, name: &str) -> Vec<Record> {
        self.trail.as_ref().map(|trail| trail.parts(name)).unwrap_or_default()
    }

    fn make(&self, name: &str, pairs: &[(&str, String)]) -> Result<Record, Failure> {
        let mut pairs = pairs.to_vec();
        pairs.push(("RUN_NAME", name.to_owned()));
        pairs.push(("RESULTS_DIR", self.directory.display().to_string()));
        let settings = settings::overridden(&self.settings, &pairs, name)?;
        let begun = Instant::now();
        let made = measure_step(&settings, self.stop, &mut Quiet::new(), |folder| {
            let kept = format!("; what it measured is kept: `{}`", report_command(folder));
            match &self.trail {
                Some(_) => {
                    format!("{kept}; the same command goes on from the runs in {}", self.directory.display())
                }
                None => kept,
            }
        });
        self.longest.set(self.longest.get().max(begun.elapsed()));
        made
    }
}
