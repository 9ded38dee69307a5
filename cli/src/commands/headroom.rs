//! `slob headroom`: how many times a demand a platform carries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use serde_json::json;
use slob_campaign::{
    HeadroomFound, HeadroomNext, HeadroomPoint, HeadroomRules, HeadroomSearch, LatencyLimit, Trail,
};
use slob_profile::{Figure, Limits, Parameters};
use slob_record::Record;
use slob_report::format::duration_us;
use slob_report::profiles::{Headroom, HeadroomStep, headroom_page, headroom_text};
use slob_report::{Figures, figure};
use slob_spec::{RunSpec, Settings};

use super::plan::calibration::calibrate;
use super::plan::wanted::{Loaded, Wanted};
use super::plan::{measure, view};
use super::profile::records;
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output, settings};

pub(crate) fn headroom(matches: &ArgMatches) -> Outcome {
    let wanted = Wanted::of(matches)?;
    let settings = settings::resolve(matches, &[])?;
    RunSpec::from_settings(&settings)?;
    let said = matches.get_many::<String>("limit").unwrap_or_default();
    let said =
        said.map(|text| text.parse::<LatencyLimit>().map_err(Failure::usage)).collect::<Result<_, _>>()?;
    let rules = HeadroomRules {
        most: matches.get_one::<f64>("most").copied().unwrap_or(64.0),
        repeats: matches.get_one::<u32>("repeats").copied().unwrap_or(3),
    };
    if !(1.0..=1e6).contains(&rules.most) {
        return Err(Failure::usage("--most must be 1 at least"));
    }
    let directory = matches.get_one::<PathBuf>("directory").map_or(Path::new("headroom"), PathBuf::as_path);
    let stop = interrupt::flag()?;
    let asked = Asked { limits: said, rules, count_cached: matches.get_flag("count-cached") };
    let headroom = search(settings, &wanted, &asked, Kept { directory, under: None }, stop)?;
    let page = matches.get_one::<PathBuf>("html").cloned().unwrap_or_else(|| directory.join("headroom.html"));
    output::write_page(&headroom_page(&headroom), &page)?;
    let text = match matches.get_flag("json") {
        true => output::json("the headroom", &headroom)?,
        false => headroom_text(&headroom),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// How a search is to be made.
pub(super) struct Asked {
    /// Latencies not to be passed; production's own if none is said.
    pub(super) limits: Vec<LatencyLimit>,
    pub(super) rules: HeadroomRules,
    pub(super) count_cached: bool,
}

/// Where the runs of a search are kept, and under which other conditions they were made.
pub(super) struct Kept<'a> {
    pub(super) directory: &'a Path,
    pub(super) under: Option<serde_json::Value>,
}

/// A search from its calibration to its end, or on from the runs that are there.
pub(super) fn search(
    settings: Settings,
    wanted: &Wanted,
    asked: &Asked,
    kept: Kept<'_>,
    stop: Arc<AtomicBool>,
) -> Result<Headroom, Failure> {
    let limits = limits(&asked.limits, wanted)?;
    let loaded = Loaded::of(&settings, wanted)?;
    let mut about = about(wanted, &loaded, &settings);
    if let Some(under) = kept.under {
        about["under"] = under;
    }
    let trail = Trail::open(kept.directory, &about)?;
    let mut work = Work {
        settings,
        trail,
        stop,
        limits,
        count_cached: asked.count_cached,
        steps: Vec::new(),
        measured: BTreeSet::new(),
    };
    let calibrated = calibrate(wanted, &loaded, &mut |name, pairs| work.run(name, pairs))?;
    let parameters = calibrated.planned.parameters;
    let found = work.search(&parameters, &loaded.limits, asked.rules)?;
    Ok(Headroom {
        plan: view(wanted, Some(&loaded), calibrated),
        unmeasured: work.unmeasured(),
        limits: work.limits.iter().map(ToString::to_string).collect(),
        why: why(&found, &work.steps, asked.rules),
        steps: work.steps,
        carries: found.carries,
        at_least: found.at_least,
        less_than: found.less_than,
    })
}

/// What a latency of production may be exceeded by: two runs of the same differ by as much.
const SLACK: f64 = 1.05;

/// Those that were said, or production's own mean read and commit at that interval, and 5 %.
fn limits(said: &[LatencyLimit], wanted: &Wanted) -> Result<Vec<LatencyLimit>, Failure> {
    if !said.is_empty() {
        return Ok(said.to_vec());
    }
    let own = [("read-mean", Figure::ReadUs), ("redo-mean", Figure::CommitUs)];
    let limit = |(name, figure): (&str, Figure)| {
        let us = wanted.demand.figures.get(figure).filter(|us| *us > 0.0)?;
        Some(format!("{name}={:.0}us", (us * SLACK).max(1.0)).parse::<LatencyLimit>().map_err(Failure::usage))
    };
    own.into_iter().filter_map(limit).collect()
}

/// What the runs of a directory are for: another demand, target or length of run needs another one.
fn about(wanted: &Wanted, loaded: &Loaded, settings: &Settings) -> serde_json::Value {
    let shown = |key: &str| settings.entry(key).and_then(slob_spec::Entry::displayed);
    json!({
        "database": wanted.database,
        "point": wanted.demand.point,
        "demand": wanted.demand.figures,
        "target": loaded.target,
        "loaded": loaded.limits,
        "run_time": shown("RUN_TIME"),
        "warmup": shown("WARMUP"),
    })
}

struct Work {
    settings: Settings,
    trail: Trail,
    stop: Arc<AtomicBool>,
    limits: Vec<LatencyLimit>,
    count_cached: bool,
    steps: Vec<HeadroomStep>,
    /// The columns of limits that any step had a value of.
    measured: BTreeSet<&'static str>,
}

impl Work {
    /// A run of that name: the one that is there, or a new one.
    fn run(&self, name: &str, pairs: &[(&'static str, String)]) -> Result<Record, Failure> {
        match self.trail.made(name) {
            Some(record) => {
                output::say(&format!("{name}: taken from {}", record.id));
                Ok(record)
            }
            None => measure(&self.settings, name, pairs, &self.stop, Some(self.trail.directory())),
        }
    }

    fn search(
        &mut self,
        parameters: &Parameters,
        loaded: &Limits,
        rules: HeadroomRules,
    ) -> Result<HeadroomFound, Failure> {
        let mut search = HeadroomSearch::new(rules);
        loop {
            let factor = match search.next() {
                HeadroomNext::Found(found) => return Ok(found),
                HeadroomNext::Measure(factor) => factor,
            };
            let step = self.step(parameters, loaded, factor)?;
            let held = step.broke.is_none();
            let outcome = step.not_counted.as_deref().or(step.broke.as_deref()).unwrap_or("held");
            output::say(&format!("{factor} times the demand, {} operations/s: {outcome}", step.rate));
            let counts = step.not_counted.is_none();
            self.steps.push(step);
            // What is served from memory would be served so again.
            if !counts {
                return Ok(search.so_far());
            }
            search.add(HeadroomPoint { factor, held });
        }
    }

    /// Limits that nothing was held against.
    fn unmeasured(&self) -> Vec<String> {
        let without = self.limits.iter().filter(|limit| !self.measured.contains(limit.column));
        without.map(ToString::to_string).collect()
    }

    fn step(
        &mut self,
        parameters: &Parameters,
        loaded: &Limits,
        factor: f64,
    ) -> Result<HeadroomStep, Failure> {
        let of_step = parameters.times(factor, loaded);
        let mut pairs = of_step.pairs();
        pairs.extend([("SCALE", loaded.scale_blocks.to_string()), ("WORK_LOOP", "0".to_owned())]);
        let record = self.run(&format!("step-{}", self.steps.len() + 1), &pairs)?;
        let values = self.limits.iter().filter_map(|limit| Some((limit, value_of(limit, &record)?)));
        let values: Vec<(&LatencyLimit, f64)> = values.collect();
        self.measured.extend(values.iter().map(|(limit, _)| limit.column));
        let limit = values.into_iter().find_map(|(limit, value)| passed(limit, value));
        let (figures, histograms) = (records::figures(&record), records::histograms(&record));
        HeadroomStep::of(&record, factor, figures, histograms, limit, self.count_cached)
            .ok_or_else(|| Failure::failed(format!("run {} measured nothing", record.id)))
    }
}

/// What a limit is held against. What a target does not measure limits nothing.
fn value_of(limit: &LatencyLimit, record: &Record) -> Option<f64> {
    figure::named(limit.column)?.of(&Figures::of(record))
}

/// The limit that a run passed, in words.
fn passed(limit: &LatencyLimit, value: f64) -> Option<String> {
    let what = figure::named(limit.column)?.title.to_lowercase();
    let mut shown = [value, limit.us].map(duration_us);
    if shown[0] == shown[1] {
        shown = [value, limit.us].map(|us| format!("{us:.2} us"));
    }
    let [is, most] = shown;
    (value > limit.us).then(|| format!("the limit is {what}: {is} is more than {most}"))
}

fn why(found: &HeadroomFound, steps: &[HeadroomStep], rules: HeadroomRules) -> String {
    if steps.iter().any(|step| step.not_counted.is_some()) {
        return "The search was ended by a step that does not count.".into();
    }
    match (found.carries, found.less_than) {
        _ if found.unsettled => {
            "Its runs differ too much to settle: make them longer with --run-time.".into()
        }
        (None, _) => "Not even the least part of the demand was carried.".into(),
        (Some(_), None) => {
            format!("Nothing broke up to {} times the demand: allow more with --most.", rules.most)
        }
        (Some(_), Some(_)) => {
            let times = output::plural(u64::from(rules.repeats), "time");
            format!("Both ends were measured {times}; steps are at most a tenth apart.")
        }
    }
}
