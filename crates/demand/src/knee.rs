//! The search for the knee of a target: sessions or a rate grow until a limit breaks or throughput stops growing.

use std::num::NonZeroU32;

use serde::Serialize;
use slob_facts::format::plural;
use slob_facts::measured::{mean_rate, total_operations};
use slob_facts::{Bottleneck, Figure, Judged, LatencyLimit, Lead, Run, bottleneck, figure};
use slob_record::{KindRecord, Record};

use crate::profile::DemandError;
use crate::search::{KneeFound, KneePoint, KneeRules, Raised, search_knee};

/// Steps of the rate, as parts of a closed loop's throughput.
const STEPS_OF_CAPACITY: u32 = 16;
const MOST_STEPS: NonZeroU32 = NonZeroU32::new(2 * STEPS_OF_CAPACITY).unwrap();

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    pub run: String,
    pub sessions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    pub operations_per_s: f64,
    pub physical_reads_per_s: Option<f64>,
    pub physical_read_mean_us: Option<f64>,
    pub physical_read_p99_us: Option<f64>,
    pub operation_mean_us: Option<f64>,
    pub operation_p99_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_mean_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_p99_us: Option<f64>,
    pub leads: Lead,
    /// Throughput x mean response and think time in percent of the sessions (Little, "A proof for the queuing formula L = lambda
    /// W", *Operations Research* 9 (1961) 383). Absent in an open loop, whose sessions wait for arrivals.
    pub little_percent: Option<f64>,
    /// The target beside it has the limit, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_us: Option<f64>,
    pub over_limit: bool,
    pub bottleneck: Bottleneck,
    pub reason: String,
    pub verdicts: Vec<Judged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim: Option<Box<Self>>,
}

impl CurvePoint {
    pub fn of(record: &Record, over_limit: bool) -> Option<Self> {
        let figures = Run::of(record);
        let (sessions, rate_per_s) = (record.workload.sessions(), mean_rate(record).map(|rate| rate as u32));
        let operations_per_s = figure::OPERATIONS_PER_S.of(&figures)?;
        let (bottleneck, reason) = bottleneck(&figures);
        Some(Self {
            run: record.id.clone(),
            sessions,
            rate_per_s,
            operations_per_s,
            physical_reads_per_s: figure::PHYSICAL_READS_PER_S.of(&figures),
            physical_read_mean_us: figure::PHYSICAL_READ_MEAN_US.of(&figures),
            physical_read_p99_us: figure::PHYSICAL_READ_P99_US.of(&figures),
            operation_mean_us: figure::OPERATION_MEAN_US.of(&figures),
            operation_p99_us: figure::OPERATION_P99_US.of(&figures),
            response_mean_us: figure::RESPONSE_MEAN_US.of(&figures),
            response_p99_us: figure::RESPONSE_P99_US.of(&figures),
            leads: figures.lead(),
            little_percent: figure::LITTLE_PERCENT.of(&figures),
            limited_us: None,
            over_limit,
            bottleneck,
            reason,
            verdicts: figures.judged().to_vec(),
            victim: None,
        })
    }

    pub fn level(&self) -> String {
        match self.rate_per_s {
            Some(rate) => format!("a rate of {rate}/s"),
            None => plural(u64::from(self.sessions), "session"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KneeResult {
    pub points: Vec<CurvePoint>,
    pub knee_sessions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee_rate_per_s: Option<u32>,
    pub why: String,
    pub limit: Option<String>,
    pub tolerance_percent: f64,
}

pub trait Levels {
    type Failure: From<DemandError>;

    fn measure(
        &self,
        parameter: (&'static str, String),
        part: &str,
    ) -> Result<(Record, Option<Record>), Self::Failure>;

    /// The error of a target that refuses a level; `None` if the user ended the search.
    fn refusal(failure: &Self::Failure) -> Option<String>;

    fn say(&self, line: &str);
}

pub struct KneeOptions {
    pub most: NonZeroU32,
    pub schemas: NonZeroU32,
    /// The least gain that counts, and the most of a rate that may be missing, as shares.
    pub tolerance: f64,
    pub repeats: NonZeroU32,
    /// The target beside the search has the limit, if there is one.
    pub limit: Option<LatencyLimit>,
    pub by_rate: bool,
}

/// Returns what ended the search early, too.
pub fn find_knee<L: Levels>(options: KneeOptions, levels: &L) -> (KneeResult, Result<(), L::Failure>) {
    let KneeOptions { most, schemas, tolerance, repeats, limit, by_rate } = options;
    let rules = KneeRules { most: if by_rate { MOST_STEPS } else { most }, tolerance, repeats };
    let mut curve =
        CurveSearch { levels, tolerance, limit, limited_steps: 0, points: Vec::new(), refusal: None };
    let mut raised = Raised::Threads { schemas };
    let begun = match by_rate {
        true => curve.rate_step().map(|step| raised = Raised::Rate { step }),
        false => Ok(()),
    };
    let found = begun
        .and_then(|()| search_knee(rules, |level, has_lower| curve.measure_level(raised, level, has_lower)));
    let result = curve.into_result(raised, found.as_ref().ok().copied());
    (result, found.map(|_| ()))
}

struct CurveSearch<'a, L> {
    levels: &'a L,
    tolerance: f64,
    limit: Option<LatencyLimit>,
    /// Steps that did what the limit is of.
    limited_steps: usize,
    points: Vec<CurvePoint>,
    refusal: Option<String>,
}

impl<L: Levels> CurveSearch<'_, L> {
    /// `None` if the target refuses it and a lower level was measured.
    fn measure_level(
        &mut self,
        raised: Raised,
        level: NonZeroU32,
        has_lower: bool,
    ) -> Result<Option<KneePoint>, L::Failure> {
        let (parameter, part) = raised.parameter(level);
        let name = raised.words(level);
        let (record, victim) = match self.levels.measure(parameter, &part) {
            Ok(measured) => measured,
            Err(failure) => {
                let Some(error) = L::refusal(&failure).filter(|_| has_lower) else { return Err(failure) };
                self.levels.say(&format!("{}: {error}; going on with fewer", name.trim()));
                self.refusal = Some(error);
                return Ok(None);
            }
        };
        let limited = self.limited(victim.as_ref().unwrap_or(&record))?;
        let mut point =
            curve_point(&record, victim.as_ref(), limited.is_some_and(|limited| limited.is_over))?;
        point.limited_us = limited.and_then(|limited| limited.us);
        self.limited_steps += usize::from(limited.is_some_and(|limited| !limited.is_idle));
        let of_victim = match limited {
            Some(Limited { figure, us: Some(us), .. }) if victim.is_some() => {
                format!("  victim: {} {us:.0} us", figure.name.trim_end_matches("_us"))
            }
            _ => String::new(),
        };
        // A victim at a fixed rate that is not kept has lost more than latency.
        point.over_limit |= point.victim.as_ref().is_some_and(|victim| misses_rate(victim, self.tolerance));
        point.over_limit |= misses_rate(&point, self.tolerance);
        let (throughput, over_limit) = (point.operations_per_s, point.over_limit);
        let over = if over_limit { " Over the limit." } else { "" };
        self.levels.say(&format!("{name}  {throughput:>10.1} op/s{of_victim}  {}{over}", point.reason));
        self.points.push(point);
        Ok(Some(KneePoint { threads: level, throughput, over_limit }))
    }

    /// A closed loop, whose throughput the steps of the rate divide.
    fn rate_step(&mut self) -> Result<NonZeroU32, L::Failure> {
        let (record, victim) = self.levels.measure(("RATE", "0".to_owned()), "closed")?;
        // Where nothing limits the rate, sessions queue: the limit does not apply.
        let point = curve_point(&record, victim.as_ref(), false)?;
        let step = point.operations_per_s / f64::from(STEPS_OF_CAPACITY);
        self.levels.say(&format!("closed loop: {:.1} op/s  {}", point.operations_per_s, point.reason));
        self.points.push(point);
        Ok(NonZeroU32::new(step as u32).unwrap_or(NonZeroU32::MIN))
    }

    /// An absent figure lies below the step of the clock that timed it, or nothing happened that it is of. No operation that ended
    /// is over each limit: all of them lasted longer than the step.
    fn limited(&self, record: &Record) -> Result<Option<Limited>, DemandError> {
        let Some(limit) = &self.limit else { return Ok(None) };
        let figures = Run::of(record);
        let figure = limit.figure_in(figures.lead());
        let us = figure.of(&figures);
        let is_stuck = total_operations(record) == 0;
        let is_idle = us.is_none() && !is_stuck && figure.is_idle(record);
        match clock_step_us(figure, record) {
            Some(step_us) if us.is_none() && step_us > limit.us() => Err(DemandError::Usage(format!(
                "--limit {limit}: the server's clock times operations in steps of {step_us} us, and can't tell shorter ones; \
                 choose a limit of {step_us} us or more"
            ))),
            None if us.is_none() && !is_stuck && !is_idle => Err(DemandError::Usage(format!(
                "--limit {limit}: this target does not measure {}; choose another",
                figure.name
            ))),
            _ => {
                let is_over = is_stuck || us.is_some_and(|us| us > limit.us());
                Ok(Some(Limited { figure, us, is_over, is_idle }))
            }
        }
    }

    fn into_result(self, raised: Raised, found: Option<KneeFound>) -> KneeResult {
        let percent = 100.0 * self.tolerance;
        let count = found.and_then(|found| found.threads).map(|level| raised.count(level));
        let by_rate = matches!(raised, Raised::Rate { .. });
        let mut why = found.map_or_else(
            || "The search ended before it found an answer; this is the curve so far.".to_owned(),
            |found| found.words(raised, percent, self.refusal.as_deref()),
        );
        if let Some(limit) = self.limit.as_ref().filter(|_| found.is_some() && self.limited_steps == 0) {
            why += &format!(" No step did what the limit {limit} is of: it limits nothing.");
        }
        KneeResult {
            why,
            points: self.points,
            knee_sessions: count.filter(|_| !by_rate),
            knee_rate_per_s: count.filter(|_| by_rate),
            limit: self.limit.as_ref().map(ToString::to_string),
            tolerance_percent: percent,
        }
    }
}

fn misses_rate(point: &CurvePoint, tolerance: f64) -> bool {
    point.rate_per_s.is_some_and(|rate| point.operations_per_s < (1.0 - tolerance) * f64::from(rate))
}

/// The point of a run, with that of the victim beside it.
fn curve_point(
    record: &Record,
    victim: Option<&Record>,
    over_limit: bool,
) -> Result<CurvePoint, DemandError> {
    let victim = victim.and_then(|victim| CurvePoint::of(victim, false)).map(Box::new);
    let point = CurvePoint::of(record, over_limit).map(|point| CurvePoint { victim, ..point });
    point.ok_or_else(|| DemandError::Failed(format!("run {} has no throughput to compare", record.id)))
}

/// What a run has of the figure that a limit is of.
#[derive(Clone, Copy)]
struct Limited {
    figure: &'static Figure,
    us: Option<f64>,
    is_over: bool,
    is_idle: bool,
}

fn clock_step_us(figure: &Figure, record: &Record) -> Option<f64> {
    let timed = |kind: &KindRecord| match figure.name.split_once('_')?.0 {
        "operation" => kind.latency.clock_step(),
        "response" => kind.response.clock_step(),
        _ => None,
    };
    record.operations.values().filter_map(timed).max().map(|step| step.get() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use slob_measure::Counter;
    use slob_testing::records;

    use super::*;

    /// A search ended with 'this target does not measure physical_read_p99_us', as one short step read nothing.
    #[test]
    fn a_step_that_read_nothing_does_not_mean_that_reads_are_not_measured() {
        let mut record = records::direct_read_run();
        assert!(!figure::PHYSICAL_READ_P99_US.is_idle(&record));
        record.counters.set(Counter::PhysicalReads, 0);
        assert!(figure::PHYSICAL_READ_P99_US.is_idle(&record) && !figure::OPERATION_P99_US.is_idle(&record));
        assert!(figure::SINGLE_READ_MEAN_US.is_idle(&record));
    }

    /// Answers each number of sessions of one schema with a run, and with one of a victim beside it.
    struct Measured<F>(F);

    impl<F: Fn(u32) -> (Record, Option<Record>)> Levels for Measured<F> {
        type Failure = DemandError;

        fn measure(
            &self,
            (_, threads): (&'static str, String),
            _: &str,
        ) -> Result<(Record, Option<Record>), DemandError> {
            Ok(self.0(threads.parse().unwrap()))
        }

        fn refusal(_: &DemandError) -> Option<String> {
            None
        }

        fn say(&self, _: &str) {}
    }

    fn knee_within(limit: &str, measured: impl Fn(u32) -> (Record, Option<Record>)) -> KneeResult {
        let options = KneeOptions {
            most: NonZeroU32::new(8).unwrap(),
            schemas: NonZeroU32::MIN,
            tolerance: 0.05,
            repeats: NonZeroU32::MIN,
            limit: Some(limit.parse().unwrap()),
            by_rate: false,
        };
        let (result, ended) = find_knee(options, &Measured(measured));
        ended.unwrap();
        result
    }

    /// It counted as within the limit, and the search went on.
    #[test]
    fn a_victim_whose_operations_do_not_end_is_over_its_limit() {
        let found = knee_within("p99=10s", |threads| {
            let mut victim = records::direct_read_run();
            if threads > 1 {
                victim.operations.clear();
            }
            (records::direct_read_run(), Some(victim))
        });
        assert_eq!(
            (found.knee_sessions, found.why.as_str()),
            (Some(1), "More sessions exceed the latency limit.")
        );
    }

    #[test]
    fn a_limit_of_what_no_step_did_is_said_to_limit_nothing() {
        let mut cached = records::direct_read_run();
        cached.counters.set(Counter::PhysicalReads, 0);
        cached.latencies = slob_measure::Latencies::default();
        let found = knee_within("read-p99=2ms", |_| (cached.clone(), None));
        let note = "No step did what the limit read-p99=2ms is of: it limits nothing.";
        assert!(found.why.ends_with(note), "{}", found.why);
        let found = knee_within("read-p99=10s", |_| (records::direct_read_run(), None));
        assert!(!found.why.contains("limits nothing"), "{}", found.why);
    }
}
