//! `slob saturate`: how many sessions get what there is to get.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use slob_campaign::{KneeFound, KneeNext, KneePoint, KneeReason, KneeRules, KneeSearch, LatencyLimit};
use slob_record::{Record, Status};
use slob_report::Figures;
use slob_report::analysis::{Curve, CurvePoint};
use slob_report::figure;
use slob_spec::{RunSpec, Settings};

use super::campaign::Quiet;
use super::run;
use crate::failure::{Failure, INTERRUPTED, Outcome};
use crate::{as_loaded, interrupt, output, registry, settings};

/// A step of the rate is this part of what a closed loop does, and twice of that is the most that is tried.
const STEPS_OF_CAPACITY: u32 = 16;
const MOST_STEPS: NonZeroU32 = NonZeroU32::new(2 * STEPS_OF_CAPACITY).unwrap();

pub(crate) fn saturate(matches: &ArgMatches) -> Outcome {
    let asked = settings::resolve(matches, &[])?;
    let settings = as_loaded::of_run(&asked)?;
    as_loaded::say(&asked, &settings);
    let checked = RunSpec::from_settings(&settings)?;
    settings::warn(&checked.warnings);
    let limit = matches.get_one::<String>("limit").map(|text| text.parse::<LatencyLimit>()).transpose();
    let limit = limit.map_err(Failure::usage)?;
    let schemas = checked.spec.schemas;
    let most = matches.get_one::<u32>("max-sessions").copied().unwrap_or(256);
    let tolerance = matches.get_one::<f64>("tolerance").copied().unwrap_or(5.0) / 100.0;
    if !(0.001..0.5).contains(&tolerance) {
        return Err(Failure::usage("--tolerance must be from 0.1 to 49 percent, such as 5"));
    }
    let Some(most) = NonZeroU32::new(most / schemas.get()) else {
        return Err(Failure::usage(format!(
            "--max-sessions {most} is fewer than one for each of {schemas} schemas"
        )));
    };
    let repeats =
        matches.get_one::<u32>("repeats").copied().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let by_rate = matches.get_one::<String>("by").is_some_and(|by| by == "rate");
    if !by_rate && matches.get_one::<String>("THREADS_PER_SCHEMA").is_some() {
        return Err(Failure::usage("the search raises the threads itself: leave them out, or use --by rate"));
    }
    let most = if by_rate { MOST_STEPS } else { most };
    let mut work = Work {
        settings,
        raised: Raised::Threads { schemas },
        tolerance,
        name: checked.spec.run_name.to_string(),
        limit,
        stop: interrupt::flag()?,
        search: KneeSearch::new(KneeRules { most, tolerance, repeats }),
        points: Vec::new(),
        cut: None,
    };
    let ended = if by_rate { work.find_step().and_then(|()| work.search()) } else { work.search() };
    let curve = work.curve(ended.as_ref().ok().copied(), tolerance);
    if !curve.points.is_empty() {
        let text = match matches.get_flag("json") {
            true => output::json("the curve", &curve)?,
            false => curve.text(),
        };
        output::print(&text)?;
    }
    match ended {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(failure) if failure.is_interruption() => Ok(ExitCode::from(INTERRUPTED)),
        Err(failure) => Err(failure),
    }
}

/// What a search raises.
#[derive(Clone, Copy)]
enum Raised {
    /// The threads of each schema.
    Threads { schemas: NonZeroU32 },
    /// The rate of an open loop, in steps of so many operations per second.
    Rate { step: NonZeroU32 },
}

impl Raised {
    /// The parameters of a level, and what it is called in a run's name.
    fn parameters(self, level: NonZeroU32) -> (Vec<(&'static str, String)>, String) {
        let count = self.count(level);
        match self {
            Self::Threads { .. } => (vec![("THREADS_PER_SCHEMA", level.to_string())], format!("s{count}")),
            Self::Rate { .. } => (vec![("RATE", count.to_string())], format!("r{count}")),
        }
    }

    /// Sessions, or operations per second.
    fn count(self, level: NonZeroU32) -> u32 {
        match self {
            Self::Threads { schemas: each } | Self::Rate { step: each } => level.saturating_mul(each).get(),
        }
    }

    fn said(self, level: NonZeroU32) -> String {
        match self {
            Self::Threads { .. } => format!("{:>5} sessions", self.count(level)),
            Self::Rate { .. } => format!("a rate of {:>7}/s", self.count(level)),
        }
    }
}

struct Work {
    settings: Settings,
    raised: Raised,
    /// The share of a rate that may be missing.
    tolerance: f64,
    name: String,
    limit: Option<LatencyLimit>,
    stop: Arc<AtomicBool>,
    search: KneeSearch,
    points: Vec<CurvePoint>,
    /// Why no more sessions could be tried, if the target refused them.
    cut: Option<String>,
}

impl Work {
    fn search(&mut self) -> Result<KneeFound, Failure> {
        loop {
            let threads = match self.search.next() {
                KneeNext::Found(found) => return Ok(found),
                KneeNext::Measure(threads) => threads,
            };
            let (parameters, part) = self.raised.parameters(threads);
            let said = self.raised.said(threads);
            let record = match self.measure(&parameters, &part) {
                Ok(record) => record,
                // A server that takes no more sessions ends the search, not the answer.
                Err(failure) if !failure.is_interruption() && self.search.has_fewer_than(threads) => {
                    output::say(&format!("{}: {}; going on with fewer", said.trim(), failure.text()));
                    self.cut = Some(failure.text());
                    self.search.end_below(threads);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let point = self.point(&record)?;
            let over_limit = point.over_limit;
            let over = if over_limit { " Over the limit." } else { "" };
            output::say(&format!("{said}  {:>10.1} op/s  {}{over}", point.operations_per_s, point.reason));
            self.search.add(KneePoint { threads, throughput: point.operations_per_s, over_limit });
            self.points.push(point);
        }
    }

    /// Finds what a closed loop does, which the steps of the rate are a part of.
    fn find_step(&mut self) -> Result<(), Failure> {
        let record = self.measure(&[("RATE", "0".to_owned())], "closed")?;
        // A limit may be one of response times, which a closed loop has not.
        let point = judged(&record, false)?;
        let step = point.operations_per_s / f64::from(STEPS_OF_CAPACITY);
        output::say(&format!("closed loop: {:.1} op/s  {}", point.operations_per_s, point.reason));
        // A float becomes an integer by saturation.
        let step = NonZeroU32::new(step as u32).unwrap_or(NonZeroU32::MIN);
        self.raised = Raised::Rate { step };
        self.points.push(point);
        Ok(())
    }

    /// The point of a run; over the limit is also a rate that was not kept.
    fn point(&self, record: &Record) -> Result<CurvePoint, Failure> {
        let passed = self.passed(record)?;
        let mut point = judged(record, passed)?;
        let missed = |rate: u32| point.operations_per_s < (1.0 - self.tolerance) * f64::from(rate);
        point.over_limit |= point.rate_per_s.is_some_and(missed);
        Ok(point)
    }

    fn measure(&self, parameters: &[(&str, String)], part: &str) -> Result<Record, Failure> {
        let mut pairs: Vec<(String, String)> =
            parameters.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        pairs.push(("RUN_NAME".to_owned(), format!("{}-{part}", self.name)));
        let settings = self.settings.overridden(&registry::table(), &pairs, "saturate")?.settings;
        // What was taken from the load stays taken: it does not change while the search goes on.
        let spec = RunSpec::from_settings(&settings)?.spec;
        let kept = run::measure_spec(&settings, &spec, None, &self.stop, &mut Quiet::new())?;
        kept.end()?;
        match &kept.record.status {
            Status::Completed => Ok(kept.record),
            Status::Interrupted => {
                Err(Failure::interrupted(format!("run {} was interrupted", kept.record.id)))
            }
            Status::Failed { error } => {
                Err(Failure::failed(format!("run {} failed: {error}", kept.record.id)))
            }
        }
    }

    fn passed(&self, record: &Record) -> Result<bool, Failure> {
        let Some(limit) = &self.limit else { return Ok(false) };
        let value = figure::named(limit.column).and_then(|figure| figure.of(&Figures::of(record)));
        let value = value.ok_or_else(|| {
            Failure::usage(format!(
                "--limit {limit}: this target does not measure {}; choose another",
                limit.column
            ))
        })?;
        Ok(value > limit.us)
    }

    fn curve(&self, found: Option<KneeFound>, tolerance: f64) -> Curve {
        let percent = 100.0 * tolerance;
        let by_rate = matches!(self.raised, Raised::Rate { .. });
        let count = found.and_then(|found| found.threads).map(|level| self.raised.count(level));
        let higher = || format!("Higher rates are not kept within {percent} %, or exceed the latency limit.");
        let why = match found.map(|found| (found.why, found.threads)) {
            None => "The search ended before it found an answer; this is the curve so far.".to_owned(),
            Some((KneeReason::Saturated, _)) if !by_rate => {
                format!("More sessions gain less than {percent} %: that is the knee.")
            }
            Some((KneeReason::Limit, None)) if by_rate => {
                "Even the lowest rate is not kept, or exceeds the latency limit.".to_owned()
            }
            Some((KneeReason::Saturated, _)) => higher(),
            Some((KneeReason::Limit, _)) if by_rate => higher(),
            Some((KneeReason::Most, _)) if by_rate => {
                "Twice the rate of a closed loop was kept: start with more sessions.".to_owned()
            }
            Some((KneeReason::Limit, None)) => {
                "Even the fewest sessions exceed the latency limit.".to_owned()
            }
            Some((KneeReason::Limit, _)) => "More sessions exceed the latency limit.".to_owned(),
            Some((KneeReason::Most, _)) => match &self.cut {
                Some(error) => format!("Throughput was still growing; more sessions failed: {error}"),
                None => "Throughput was still growing: allow more with --max-sessions.".to_owned(),
            },
            Some((KneeReason::Unsettled, _)) => {
                "The runs differ too much to settle on a point: lengthen them with --run-time.".to_owned()
            }
        };
        Curve {
            points: self.points.clone(),
            knee_sessions: count.filter(|_| !by_rate),
            knee_rate_per_s: count.filter(|_| by_rate),
            why,
            limit: self.limit.map(|limit| limit.to_string()),
            tolerance_percent: percent,
        }
    }
}

fn judged(record: &Record, over_limit: bool) -> Result<CurvePoint, Failure> {
    CurvePoint::of(record, over_limit)
        .ok_or_else(|| Failure::failed(format!("run {} has no throughput to compare", record.id)))
}
