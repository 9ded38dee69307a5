//! Steady? Was the load even over the window and the sessions, and alone on host and device?

use serde::Serialize;
use slob_record::{Interval, Record, SessionRecord};
use slob_stats::{Steadiness, nearest_rank};

use super::thresholds::{
    BEHIND, COMPARABLE_OPERATIONS, FOREIGN_CPU, FOREIGN_READ_RATE, FOREIGN_READS, HIDDEN_TREND,
    LEAST_INTERVALS, LEAST_OPERATIONS, MANY_STALLS, NEIGHBOUR, NEIGHBOUR_ALWAYS, NEIGHBOUR_INTERVALS,
    NEIGHBOUR_RATE, STALL, STANDSTILL, STANDSTILL_OF_WINDOW, STANDSTILL_OPERATIONS, STEEP_TREND, TREND,
    VARIATION, WILD_VARIATION,
};
use super::{Answer, Judge, Judgement, worst_first};
use crate::figure::{self, Figures};
use crate::format::{count, fixed, or_absent, percent, plural, signed_percent};
use crate::measured::{Rate, operation_rates, own_read_bytes, ratio, window_intervals};

/// A finding about 'Steady?'.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", content = "numbers", rename_all = "snake_case")]
pub enum SteadyFinding {
    /// The window holds too few intervals.
    TooShort { intervals: usize, width_s: f64 },
    /// An interval holds too few operations.
    TooSlow { operations: f64, width_s: f64 },
    /// The rate is even.
    Even {
        operations_per_s: f64,
        variation: Option<f64>,
        trend_percent: Option<f64>,
        within_percent: Option<f64>,
    },
    /// The rate changed over the window.
    Drift { percent: f64 },
    /// Noise can hide a change over the window.
    HiddenDrift { within_percent: f64 },
    /// Intervals did much less than the median.
    Stalls { stalls: usize, intervals: usize, width_s: f64, median: f64, worst: f64, worst_at_s: f64 },
    /// The rate varies from interval to interval.
    Variation { share: f64 },
    /// Sessions stood still; the one for longest is named.
    Standstill { session: u32, seconds: f64, percent: f64, at_s: f64, others: u64 },
    /// A session did much less than the median session.
    Behind { session: u32, operations: u64, share: f64 },
    /// Other programs used the CPUs.
    ForeignCpu { percent: f64 },
    /// Other programs read from the device.
    ForeignReads { mb_per_s: f64, percent: f64, by_kernel: bool },
    /// Other programs read from the device for a part of the window.
    NeighbourReads { mb_per_s: f64, from_s: u64, to_s: u64 },
    /// Other programs used the CPUs for a part of the window.
    NeighbourCpu { percent: f64, from_s: u64, to_s: u64 },
    /// Other programs could not be observed.
    OthersUnknown { cpu: bool, reads: bool },
}

impl SteadyFinding {
    pub(super) fn judgement(&self) -> Judgement {
        match self {
            Self::TooShort { intervals, width_s } => Judgement::unknown(format!(
                "Too short to tell: the window holds {} of {width_s} s, {} are needed.",
                plural(*intervals as u64, "interval"),
                LEAST_INTERVALS.value
            ))
            .by(&LEAST_INTERVALS),
            Self::TooSlow { operations, width_s } => Judgement::unknown(format!(
                "Too slow to tell: {} operations in {width_s} s, {} are needed.",
                fixed(*operations, 1),
                LEAST_OPERATIONS.value
            ))
            .by(&LEAST_OPERATIONS),
            Self::Even { operations_per_s, variation, trend_percent, within_percent } => {
                // A trend that may be chance is not one.
                let trend = match trend_percent {
                    Some(change) => format!("trend {} % over the window", signed_percent(*change)),
                    None => format!("no trend found, within +-{} %", or_absent(*within_percent, percent)),
                };
                Judgement::good(format!(
                    "Yes: {} operations/s, varying by {} % from interval to interval, {trend}, no stalls.",
                    count(operations_per_s.round() as u64),
                    or_absent(*variation, |share| percent(100.0 * share)),
                ))
            }
            Self::Drift { percent: change } => {
                let (verb, reason) = match *change < 0.0 {
                    true => ("fell", "something wore off"),
                    false => ("rose", "the warm-up was too short"),
                };
                let is_steep = change.abs() >= STEEP_TREND.value;
                Judgement::bad_if(
                    is_steep,
                    format!(
                        "No: operations/s {verb} by {} % over the window; perhaps {reason}.",
                        percent(change.abs())
                    ),
                )
                .by(if is_steep { &STEEP_TREND } else { &TREND })
            }
            Self::HiddenDrift { within_percent } => Judgement::doubt(format!(
                "Not certain: the rate varies so much that a change of {} % over the window would go unnoticed.",
                percent(*within_percent)
            ))
            .by(&HIDDEN_TREND),
            Self::Stalls { stalls, intervals, width_s, median, worst, worst_at_s } => {
                let are_many = ratio(*stalls as f64, *intervals as f64) > Some(MANY_STALLS.share());
                Judgement::bad_if(
                    are_many,
                    format!(
                        "No: {stalls} of {intervals} intervals of {width_s} s did less than half the median of {} \
                         operations/s; the worst, {} operations/s, began at second {worst_at_s}.",
                        fixed(*median, 0),
                        fixed(*worst, 0),
                    ),
                )
                .by(if are_many { &MANY_STALLS } else { &STALL })
            }
            Self::Variation { share } => {
                let is_wild = *share >= WILD_VARIATION.share();
                Judgement::bad_if(
                    is_wild,
                    format!("No: operations/s vary by {} % from interval to interval.", percent(100.0 * share)),
                )
                .by(if is_wild { &WILD_VARIATION } else { &VARIATION })
            }
            Self::Standstill { session, seconds, percent: share, at_s, others } => {
                let others = match others {
                    0 => String::new(),
                    others => format!("; so did {}, for less", plural(*others, "other session")),
                };
                Judgement::doubt(format!(
                    "Not all the time: session {session} stood still for {} s, {} % of the window, from second {} \
                     on{others}.",
                    fixed(*seconds, 1),
                    percent(*share),
                    fixed(*at_s, 1)
                ))
                .by(&STANDSTILL_OF_WINDOW)
            }
            Self::Behind { session, operations, share } => Judgement::doubt(format!(
                "Not evenly: session {session} did {} operations, {} % of what the median session did.",
                count(*operations),
                percent(100.0 * share)
            ))
            .by(&BEHIND),
            Self::ForeignCpu { percent: share } => Judgement::doubt(format!(
                "Not alone: other programs and the kernel's own threads used {} % of the host's CPU time.",
                percent(*share)
            ))
            .by(&FOREIGN_CPU),
            Self::ForeignReads { mb_per_s, percent: share, by_kernel } => {
                let whose = match by_kernel {
                    true => "were not this run's reads",
                    false => "were not asked for by this run: other programs' reads, or read ahead",
                };
                Judgement::doubt(format!(
                    "Not alone: {} MB/s, {} % of what the device read, {whose}.",
                    fixed(*mb_per_s, 1),
                    percent(*share)
                ))
                .by(&FOREIGN_READS)
            }
            Self::NeighbourReads { mb_per_s, from_s, to_s } => {
                visit(format!("Others read {} MB/s", fixed(*mb_per_s, 1)), *from_s, *to_s)
            }
            Self::NeighbourCpu { percent: share, from_s, to_s } => {
                visit(format!("Others used {} % of the host's CPUs", percent(*share)), *from_s, *to_s)
            }
            Self::OthersUnknown { cpu, reads } => {
                let unknown: Vec<&str> =
                    [cpu.then_some("CPU use"), reads.then_some("device reads")].into_iter().flatten().collect();
                Judgement::observation(format!(
                    "Other programs' {} could not be measured.",
                    unknown.join(" and ")
                ))
            }
        }
    }
}

fn visit(use_of_others: String, from_s: u64, to_s: u64) -> Judgement {
    Judgement::observation(format!(
        "{use_of_others} from second {from_s} to second {to_s}, and far less before and after."
    ))
    .by(&NEIGHBOUR)
}

pub(super) fn judge(figures: &Figures<'_>) -> Vec<SteadyFinding> {
    let record = figures.record;
    let rates = operation_rates(record);
    let width_s = record.series.width_s() as f64;
    let points: Vec<(f64, f64)> = rates.iter().map(|rate| (rate.start_s, rate.operations_per_s)).collect();
    let steadiness = Steadiness::of(&points);
    let even = even(rates.len(), steadiness.as_ref(), width_s);
    let uneven = match &steadiness {
        Some(steadiness) if even.answer() == Answer::Good => uneven(&rates, steadiness, width_s),
        _ => Vec::new(),
    };
    let is_even = uneven.is_empty();
    let beside = standstill(figures)
        .into_iter()
        .chain(behind(record))
        .chain(foreign_cpu(figures))
        .chain(foreign_reads(figures));
    let mut findings = worst_first(uneven.into_iter().chain(beside).collect());
    findings.extend(is_even.then_some(even));
    findings.extend(neighbours(record));
    findings.extend(others_unknown(figures));
    findings
}

/// The finding if nothing is uneven, or the reason for which nothing can be found.
fn even(intervals: usize, steadiness: Option<&Steadiness>, width_s: f64) -> SteadyFinding {
    let enough = intervals as f64 >= LEAST_INTERVALS.value;
    let Some(steadiness) = steadiness.filter(|_| enough) else {
        return SteadyFinding::TooShort { intervals, width_s };
    };
    let operations = steadiness.median * width_s;
    if operations < LEAST_OPERATIONS.value {
        return SteadyFinding::TooSlow { operations, width_s };
    }
    SteadyFinding::Even {
        operations_per_s: steadiness.median,
        variation: steadiness.variation,
        trend_percent: steadiness.drift(0.0),
        within_percent: steadiness.trend.and_then(|trend| trend.within_percent),
    }
}

fn uneven(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Vec<SteadyFinding> {
    let within = steadiness.trend.and_then(|trend| trend.within_percent);
    let hidden = within.filter(|within| *within >= HIDDEN_TREND.value);
    let drift = match steadiness.drift(TREND.value) {
        Some(percent) => Some(SteadyFinding::Drift { percent }),
        None => hidden.map(|within_percent| SteadyFinding::HiddenDrift { within_percent }),
    };
    let variation = steadiness.variation.filter(|share| *share > VARIATION.share());
    let variation = variation.map(|share| SteadyFinding::Variation { share });
    [drift, stalls(rates, steadiness, width_s), variation].into_iter().flatten().collect()
}

fn stalls(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Option<SteadyFinding> {
    let stalled: Vec<&Rate> = steadiness.stalls.iter().filter_map(|place| rates.get(*place)).collect();
    let worst = stalled.iter().min_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s))?;
    Some(SteadyFinding::Stalls {
        stalls: stalled.len(),
        intervals: rates.len(),
        width_s,
        median: steadiness.median,
        worst: worst.operations_per_s,
        worst_at_s: worst.start_s,
    })
}

/// The session that stood still for longest.
fn standstill(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let window_s = figure::WINDOW_S.of(figures)?;
    let least_s = STANDSTILL.value.max(STANDSTILL_OF_WINDOW.share() * window_s);
    let standstill = |session: &SessionRecord| {
        let mean_s = ratio(session.busy_us as f64 / 1e6, session.operations() as f64).unwrap_or(0.0);
        let wait = session.longest_wait?;
        (wait.seconds >= least_s && wait.seconds >= STANDSTILL_OPERATIONS.value * mean_s)
            .then_some((session.session, wait))
    };
    let still: Vec<_> = figures.record.sessions.iter().filter_map(standstill).collect();
    let (session, wait) = still.iter().max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))?;
    Some(SteadyFinding::Standstill {
        session: *session,
        seconds: wait.seconds,
        percent: 100.0 * wait.seconds / window_s,
        at_s: wait.at_s,
        others: still.len() as u64 - 1,
    })
}

/// The session that did least, if others with the same work did much more.
fn behind(record: &Record) -> Option<SteadyFinding> {
    // With WORK_LOOP all do the same number; 'Complete?' names lost sessions.
    if record.workload.work_loop.is_some() || record.sessions.len() < 3 {
        return None;
    }
    let mut done: Vec<u64> = record.sessions.iter().map(SessionRecord::operations).collect();
    done.sort_unstable();
    let median = done[nearest_rank(50.0, done.len() as u64) as usize - 1];
    let whole = record.sessions.iter().filter(|session| session.whole_window);
    let least = whole.min_by_key(|session| session.operations())?;
    let operations = least.operations();
    let share = ratio(operations as f64, median as f64).filter(|share| *share < BEHIND.share())?;
    let is_comparable = median as f64 >= COMPARABLE_OPERATIONS.value;
    is_comparable.then_some(SteadyFinding::Behind { session: least.session, operations, share })
}

fn foreign_cpu(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let percent = figure::FOREIGN_CPU_PERCENT.of(figures).filter(|share| *share >= FOREIGN_CPU.value)?;
    Some(SteadyFinding::ForeignCpu { percent })
}

fn foreign_reads(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let mb_per_s = figure::FOREIGN_READ_MB_PER_S.of(figures).filter(|mb| *mb >= FOREIGN_READ_RATE.value)?;
    let all = figure::DEVICE_READ_MB_PER_S.of(figures)?;
    let percent = ratio(100.0 * mb_per_s, all).filter(|share| *share >= FOREIGN_READS.value)?;
    let by_kernel = own_read_bytes(figures.record).is_some();
    Some(SteadyFinding::ForeignReads { mb_per_s, percent, by_kernel })
}

fn others_unknown(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let cpu = figure::FOREIGN_CPU_PERCENT.of(figures).is_none();
    let reads = figure::FOREIGN_READ_MB_PER_S.of(figures).is_none();
    (cpu || reads).then_some(SteadyFinding::OthersUnknown { cpu, reads })
}

/// Other programs that were there for a part of the window only.
fn neighbours(record: &Record) -> impl Iterator<Item = SteadyFinding> {
    let reads = longest_visit(record, others_reads)
        .map(|(mean, from_s, to_s)| SteadyFinding::NeighbourReads { mb_per_s: mean / 1e6, from_s, to_s });
    let cpu = longest_visit(record, others_cpu).map(|(mean, from_s, to_s)| SteadyFinding::NeighbourCpu {
        percent: 100.0 * mean,
        from_s,
        to_s,
    });
    reads.into_iter().chain(cpu)
}

/// The use of others in an interval, and true if it is noticed.
type UseOfOthers = fn(&Record, &Interval) -> Option<(f64, bool)>;

/// Bytes per second that the device read beyond those that the database requested.
fn others_reads(record: &Record, interval: &Interval) -> Option<(f64, bool)> {
    let device = interval.device?.read_bytes as f64;
    let own = interval.physical_reads? as f64 * f64::from(record.server.block_bytes);
    let others = (device - own).max(0.0);
    let per_s = others / interval.sampled_s.unwrap_or(record.series.width_s() as f64);
    Some((per_s, others >= NEIGHBOUR.share() * device && per_s >= NEIGHBOUR_RATE.value * 1e6))
}

/// The share of the host's CPU time that was not the database's.
fn others_cpu(_: &Record, interval: &Interval) -> Option<(f64, bool)> {
    let host = interval.host_cpu?;
    let share = ratio((host.busy_s() - interval.db_cpu?.total_s()).max(0.0), host.total_s())?;
    Some((share, share >= NEIGHBOUR.share()))
}

/// The longest run of intervals with others: their mean use, and its begin and end in seconds. `None` if they were there all the
/// time or never.
fn longest_visit(record: &Record, use_of_others: UseOfOthers) -> Option<(f64, u64, u64)> {
    let used = |(start_s, interval): (u64, Option<&Interval>)| {
        let (amount, is_noticed) = use_of_others(record, interval?)?;
        Some((start_s, amount, is_noticed))
    };
    let known: Vec<(u64, f64, bool)> = window_intervals(record).into_iter().filter_map(used).collect();
    let noticed = known.iter().filter(|(_, _, noticed)| *noticed).count();
    if noticed as f64 > NEIGHBOUR_ALWAYS.share() * known.len() as f64 {
        return None;
    }
    let rows = known.chunk_by(|(_, _, before), (_, _, after)| before == after);
    let longest = rows.filter(|row| row[0].2).max_by_key(|row| row.len())?;
    let mean = longest.iter().map(|(_, amount, _)| amount).sum::<f64>() / longest.len() as f64;
    let end_s = longest[longest.len() - 1].0 + record.series.width_s();
    (longest.len() as f64 >= NEIGHBOUR_INTERVALS.value).then_some((mean, longest[0].0, end_s))
}
