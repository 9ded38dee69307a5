//! Steady? Was the load even over window and sessions, and alone on host and device?

use itertools::Itertools;
use slob_measure::Counter;
use slob_record::{Interval, LongestWait, Record, SessionRecord};
use slob_stats::{Steadiness, TokenBucket, nearest_rank, summary};

use super::{BAD, DOUBT, GOOD, Grade, OBSERVATION, UNKNOWN, bad_if, findings, worst_first};
use crate::figure::{self, Figures};
use crate::format::{
    Count, Duration, Percent, Share, SignedPercent, Tenths, Whole, burst_credits, plural, shown,
};
use crate::measured::{
    Measured, Rate, alike, all_operations, all_responses, commits, counter, device_counters, did_nothing,
    named_neighbours, neighbours_cpu_s, neighbours_read_bytes, operation_rates, own_io, own_read_bytes,
    ratio, window_intervals,
};
use crate::thresholds::{
    BEHIND, CLIFF, COMPARABLE_OPERATIONS, FOREIGN_CPU, FOREIGN_JOURNAL, FOREIGN_READ_RATE, FOREIGN_READS,
    FOREIGN_WRITE_RATE, FOREIGN_WRITES, HIDDEN_TREND, LEAST_INTERVALS, LEAST_OPERATIONS, MANY_STALLS,
    NEIGHBOUR, NEIGHBOUR_ALWAYS, NEIGHBOUR_INTERVALS, NEIGHBOUR_RATE, STALL, STANDSTILL,
    STANDSTILL_OF_WINDOW, STANDSTILL_OPERATIONS, STEEP_TREND, TREND, VARIATION, WAITING, WILD_VARIATION,
};

findings! {
    SteadyFinding {
        TooShort { intervals: u64, width_s: f64 } = UNKNOWN.by(&LEAST_INTERVALS) =>
            "the window holds {} of {width_s} s, {} are needed.",
            plural(*intervals, "interval"), LEAST_INTERVALS.value;
        TooSlow { operations: Tenths, width_s: f64 } = UNKNOWN.by(&LEAST_OPERATIONS) =>
            "{operations} operations in {width_s} s, {} are needed.", LEAST_OPERATIONS.value;
        // A trend that may be chance is not one.
        Even {
            operations_per_s: Count, variation: Option<Share>, trend: Option<SignedPercent>,
            within_percent: Option<Percent>,
        } = GOOD =>
            "{operations_per_s} operations/s, varying by {} % from interval to interval, {}, no stalls.",
            shown(*variation),
            match trend {
                Some(change) => format!("trend {change} % over the window"),
                None => format!("no trend found, within +-{} %", shown(*within_percent)),
            };
        /// The series is that of the physical reads of the whole run, its warm-up included.
        Cliff { bucket: TokenBucket, block_bytes: u32, at_s: Tenths } = BAD.by(&CLIFF).remedy(BEHIND_THE_CLIFF) =>
            "physical reads {}.", burst_credits(bucket, *block_bytes);
        Fall { percent: Percent } = bad_if(percent.0 >= STEEP_TREND.value, &STEEP_TREND, &TREND) =>
            "operations/s fell by {percent} % over the window; perhaps something wore off.";
        Rise { percent: Percent } = bad_if(percent.0 >= STEEP_TREND.value, &STEEP_TREND, &TREND) =>
            "operations/s rose by {percent} % over the window; perhaps the warm-up was too short.";
        HiddenTrend { within_percent: Percent } = DOUBT.by(&HIDDEN_TREND) =>
            "the rate varies so much that a change of {within_percent} % over the window would go unnoticed.";
        Stalls { stalls: usize, intervals: usize, width_s: f64, median: Whole, worst: Whole, worst_at_s: f64 } =
            bad_if(ratio(*stalls as f64, *intervals as f64) > Some(MANY_STALLS.share()), &MANY_STALLS, &STALL) =>
            "{stalls} of {intervals} intervals of {width_s} s did less than half the median of {median} \
             operations/s; the worst, {worst} operations/s, began at second {worst_at_s}.";
        Variation { share: Share } = bad_if(share.0 >= WILD_VARIATION.share(), &WILD_VARIATION, &VARIATION) =>
            "operations/s vary by {share} % from interval to interval.";
        Standstill { session: u32, seconds: Tenths, percent: Percent, at_s: Tenths, others: u64 } =
            DOUBT.by(&STANDSTILL_OF_WINDOW) =>
            "session {session} stood still for {seconds} s, {percent} % of the window, from second \
             {at_s} on{}.",
            match others {
                0 => String::new(),
                others => format!("; so did {}, for less", plural(*others, "other session")),
            };
        /// Short stalls, by their share of the window.
        ShortStalls {
            times: usize, intervals: usize, least: Duration, longest: Duration, seconds: Tenths, percent: Percent,
        } = DOUBT.by(&STANDSTILL_OF_WINDOW) =>
            "in {times} of {} operations waited {least} to {longest}, {} times what is usual or more: \
             together {seconds} s, {percent} % of the window.",
            plural(*intervals as u64, "interval"), STANDSTILL_OPERATIONS.value;
        Behind { session: u32, operations: Count, share: Share } = DOUBT.by(&BEHIND) =>
            "session {session} did {operations} operations, {share} % of what the median session did.";
        NoOperation { sessions: Count, of: u64 } = DOUBT.by(&BEHIND) =>
            "{sessions} of {} ended no operation in the window.", plural(*of, "session");
        /// Latencies of operations say little of the sessions' time.
        Waiting { percent: Percent } = DOUBT.by(&WAITING).remedy(FEWER_SESSIONS) =>
            "sessions waited outside operations for {percent} % of it, for this program, the network \
             or a CPU.";
        ForeignCpu { percent: Percent } = DOUBT.by(&FOREIGN_CPU) =>
            "other programs and the kernel's own threads used {percent} % of the host's CPU time.";
        ForeignReads { mb_per_s: Tenths, percent: Percent } = DOUBT.by(&FOREIGN_READS) =>
            "{mb_per_s} MB/s, {percent} % of what the device read, were others' reads.";
        /// The kernel's count of the database's own reads is unknown.
        ForeignReadsOrReadAhead { mb_per_s: Tenths, percent: Percent } = DOUBT.by(&FOREIGN_READS) =>
            "{mb_per_s} MB/s, {percent} % of what the device read, were not asked for by this run: other \
             programs' reads, or read ahead.";
        ForeignWrites { mb_per_s: Tenths, percent: Percent } = DOUBT.by(&FOREIGN_WRITES) =>
            "{mb_per_s} MB/s, {percent} % of what the device read and wrote, were not this run's writes: others \
             wrote, or pages that were changed before the window.";
        // Others read for a part of the window.
        NeighbourReads { mb_per_s: Tenths, from_s: u64, to_s: u64 } = OBSERVATION.by(&NEIGHBOUR) =>
            "Others read {mb_per_s} MB/s from second {from_s} to second {to_s}, and far less before and after.";
        NeighbourCpu { percent: Percent, from_s: u64, to_s: u64 } = OBSERVATION.by(&NEIGHBOUR) =>
            "Others used {percent} % of the host's CPUs from second {from_s} to second {to_s}, and far less before and \
             after.";
        /// Runs that were started together with this one.
        Beside { names: String, cpu_percent: Percent, mb_per_s: Tenths } = OBSERVATION =>
            "Beside this run, as planned: {names}. Of this host's CPU time they used {cpu_percent} %, and of its device they \
             read {mb_per_s} MB/s.";
        /// WARMUP=auto ended at its limit.
        NotSettled { seconds: Tenths } = OBSERVATION =>
            "The load was not steady yet when its warm-up ended at the limit of {seconds} s; a longer one is WARMUP=auto:10m.";
        OthersUnknown { what: String } = OBSERVATION => "Other programs' {what} could not be measured.";
    }
}

const BEHIND_THE_CLIFF: &str = "Measure behind the cliff, with a warm-up that lasts longer than the credits, or on a volume without burst credits.";
const FEWER_SESSIONS: &str =
    "Where they share CPUs with their server, use fewer sessions, or run this program on another host.";

pub(super) fn judge(figures: &Figures<'_>) -> Vec<SteadyFinding> {
    let record = figures.record;
    let width_s = record.series.width_s() as f64;
    let rates = as_asked(record, operation_rates(record), width_s);
    let points: Vec<(f64, f64)> = rates.iter().map(|rate| (rate.start_s, rate.operations_per_s)).collect();
    let steadiness = Steadiness::of(&points);
    let even = even(rates.len(), steadiness.as_ref(), width_s);
    let uneven = match &steadiness {
        Some(steadiness) if even.judgement().answer() == Grade::Good => uneven(&rates, steadiness, width_s),
        _ => Vec::new(),
    };
    let still = standstill(figures).or_else(|| short_stalls(figures));
    let uneven: Vec<SteadyFinding> = cliff(record).into_iter().chain(uneven).collect();
    let is_even = uneven.is_empty() && still.is_none();
    let of_sessions = [still, no_operation(record), behind(record), waiting(figures)];
    let of_others = [foreign_cpu(figures), foreign_reads(figures), foreign_writes(figures)];
    let beside = of_sessions.into_iter().chain(of_others).flatten();
    let mut findings = worst_first(uneven.into_iter().chain(beside).collect(), SteadyFinding::judgement);
    findings.extend(is_even.then_some(even));
    findings.extend(neighbours(record));
    findings.extend(started_together(figures));
    findings.extend(others_unknown(figures));
    findings.extend(not_settled(record));
    findings
}

/// Rates as if RATE were constant. Intervals in which next to nothing was due are left out.
fn as_asked(record: &Record, rates: Vec<Rate>, width_s: f64) -> Vec<Rate> {
    let workload = &record.workload;
    if workload.rate_per_s.as_ref().is_none_or(|rate| rate.only().is_some()) {
        return rates;
    }
    let due_between = |from_s, to_s| workload.due_between(from_s, to_s).unwrap_or_default();
    let due = |rate: &Rate| due_between(rate.start_s, rate.start_s + width_s) / width_s;
    let mean = ratio(rates.iter().map(due).sum(), rates.len() as f64).unwrap_or_default();
    let scaled = |rate: Rate| {
        let due = due(&rate);
        let is_enough = due * width_s >= LEAST_OPERATIONS.value;
        is_enough.then(|| Rate { operations_per_s: rate.operations_per_s * mean / due, ..rate })
    };
    rates.into_iter().filter_map(scaled).collect()
}

fn even(intervals: usize, steadiness: Option<&Steadiness>, width_s: f64) -> SteadyFinding {
    let enough = intervals as f64 >= LEAST_INTERVALS.value;
    let Some(steadiness) = steadiness.filter(|_| enough) else {
        return SteadyFinding::TooShort { intervals: intervals as u64, width_s };
    };
    let operations = steadiness.median * width_s;
    if operations < LEAST_OPERATIONS.value {
        return SteadyFinding::TooSlow { operations: Tenths(operations), width_s };
    }
    SteadyFinding::Even {
        operations_per_s: Count(steadiness.median.round() as u64),
        variation: steadiness.variation.map(Share),
        trend: steadiness.drift(0.0).map(SignedPercent),
        within_percent: steadiness.trend.and_then(|trend| trend.within_percent).map(Percent),
    }
}

fn uneven(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Vec<SteadyFinding> {
    let within = steadiness.trend.and_then(|trend| trend.within_percent);
    let hidden = within.filter(|within| *within >= HIDDEN_TREND.value);
    let drift = match steadiness.drift(TREND.value) {
        Some(change) if change < 0.0 => Some(SteadyFinding::Fall { percent: Percent(-change) }),
        Some(change) => Some(SteadyFinding::Rise { percent: Percent(change) }),
        None => hidden.map(|within| SteadyFinding::HiddenTrend { within_percent: Percent(within) }),
    };
    let variation = steadiness.variation.filter(|share| *share > VARIATION.share());
    let variation = variation.map(|share| SteadyFinding::Variation { share: Share(share) });
    [drift, stalls(rates, steadiness, width_s), variation].into_iter().flatten().collect()
}

/// Operations fall with their reads; where a cache gets warm, they don't. Others on the device don't come then. Credits last from the begin of the warm-up on.
fn cliff(record: &Record) -> Option<SteadyFinding> {
    let (window, width_s) = (record.window?, record.series.width_s() as f64);
    let end_s = window.begin_s + window.seconds;
    // A planned fall of the rate is none.
    if record.workload.rate_per_s.as_ref().is_some_and(|rate| rate.only().is_none()) {
        return None;
    }
    let of_run = record.series.points().filter(|point| point.start_s as f64 + width_s <= end_s);
    let (block_bytes, mut others) = (f64::from(record.server.block_bytes), Vec::new());
    let rates = of_run.filter_map(|point| {
        let interval = point.value?;
        let reads_per_s = interval.physical_reads? as f64 / interval.sampled_s.unwrap_or(width_s);
        let start_s = point.start_s as f64;
        let moved = interval.device.map(|device| device.read_bytes.saturating_add(device.write_bytes) as f64);
        let moved = moved.map(|bytes| bytes / block_bytes / interval.observed_s.unwrap_or(width_s));
        others.extend(moved.map(|moved| (start_s, (moved - reads_per_s).max(0.0))));
        Some((start_s, reads_per_s, interval.ops.total() as f64))
    });
    let rates: Vec<(f64, f64, f64)> = rates.collect();
    let reads: Vec<(f64, f64)> = rates.iter().map(|(start_s, reads, _)| (*start_s, *reads)).collect();
    let bucket = TokenBucket::fit(&reads).filter(|bucket| !bucket.is_of_others(&others))?;
    let at_s = reads.first()?.0 + bucket.lasts_s;
    let (before, after): (Vec<_>, Vec<_>) = rates.iter().partition(|(start_s, ..)| *start_s < at_s);
    let level = |of: &[(f64, f64, f64)]| summary::median(&of.iter().map(|rate| rate.2).collect::<Vec<_>>());
    let falls = level(&before)? >= CLIFF.value * level(&after)?;
    let block_bytes = record.server.block_bytes;
    (falls && window.begin_s < at_s).then_some(SteadyFinding::Cliff {
        bucket,
        block_bytes,
        at_s: Tenths(at_s),
    })
}

fn stalls(rates: &[Rate], steadiness: &Steadiness, width_s: f64) -> Option<SteadyFinding> {
    let stalled: Vec<&Rate> = steadiness.stalls.iter().filter_map(|place| rates.get(*place)).collect();
    let worst = stalled.iter().min_by(|a, b| a.operations_per_s.total_cmp(&b.operations_per_s))?;
    Some(SteadyFinding::Stalls {
        stalls: stalled.len(),
        intervals: rates.len(),
        width_s,
        median: Whole(steadiness.median),
        worst: Whole(worst.operations_per_s),
        worst_at_s: worst.start_s,
    })
}

fn standstill(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let window_s = figure::WINDOW_S.of(figures)?;
    let least_s = STANDSTILL.value.max(STANDSTILL_OF_WINDOW.share() * window_s);
    let standstill = |session: &SessionRecord| {
        let mean_s = ratio(session.busy_us as f64 / 1e6, session.operations() as f64).unwrap_or(0.0);
        let begin_s = || figures.record.window.map(|window| window.begin_s);
        let whole = || Some(LongestWait { at_s: begin_s()?, seconds: window_s });
        let wait = session.longest_wait.or_else(|| did_nothing(session).then(whole)?)?;
        (wait.seconds >= least_s && wait.seconds >= STANDSTILL_OPERATIONS.value * mean_s)
            .then_some((session.session, wait))
    };
    let still: Vec<_> = figures.record.sessions.iter().filter_map(standstill).collect();
    let (session, wait) = still.iter().max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))?;
    Some(SteadyFinding::Standstill {
        session: *session,
        seconds: Tenths(wait.seconds),
        percent: Percent(100.0 * wait.seconds / window_s),
        at_s: Tenths(wait.at_s),
        others: still.len() as u64 - 1,
    })
}

/// With RATE operations count from their intended start: a halt while sessions wait for arrivals delays them.
fn short_stalls(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let record = figures.record;
    let is_open = record.workload.rate_per_s.is_some();
    let all = if is_open { all_responses(record) } else { all_operations(record) };
    let means_ns = record.operations.values().filter_map(|kind| kind.latency.mean());
    let usual_ns = means_ns.chain(all.percentile(50.0).map(|ns| ns as f64)).reduce(f64::max)?;
    let least_ns = STANDSTILL_OPERATIONS.value * usual_ns;
    let intervals = window_intervals(record);
    let stall_ns = |(_, interval): &(u64, Option<&Interval>)| {
        let Interval { response, latency, .. } = (*interval)?;
        let waits = if is_open { response } else { latency };
        let is_stall = waits.max()? as f64 >= least_ns && (waits.percentile(50.0)? as f64) < least_ns;
        is_stall.then_some(waits.max()? as f64)
    };
    let stalls: Vec<f64> = intervals.iter().filter_map(stall_ns).collect();
    let (seconds, window_s) = (stalls.iter().sum::<f64>() / 1e9, figure::WINDOW_S.of(figures)?);
    let is_much = seconds >= STANDSTILL.value.max(STANDSTILL_OF_WINDOW.share() * window_s);
    let of_us = |choose: fn(f64, f64) -> f64| Some(Duration(stalls.iter().copied().reduce(choose)? / 1e3));
    (is_much && stalls.len() > 1).then_some(SteadyFinding::ShortStalls {
        times: stalls.len(),
        intervals: intervals.len(),
        least: of_us(f64::min)?,
        longest: of_us(f64::max)?,
        seconds: Tenths(seconds),
        percent: Percent(100.0 * seconds / window_s),
    })
}

fn no_operation(record: &Record) -> Option<SteadyFinding> {
    let none = record.sessions.iter().filter(|session| did_nothing(session)).count() as u64;
    let of = record.sessions.len() as u64;
    (none > 0 && none < of).then_some(SteadyFinding::NoOperation { sessions: Count(none), of })
}

/// An embedded database works in the sessions' own threads.
fn waiting(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let percent = figure::WAITING_PERCENT.of(figures).filter(|share| *share >= WAITING.value)?;
    (!figures.record.server.embedded).then_some(SteadyFinding::Waiting { percent: Percent(percent) })
}

fn behind(record: &Record) -> Option<SteadyFinding> {
    // With WORK_LOOP all do the same number; 'Complete?' names lost sessions.
    if record.workload.work_loop.is_some() {
        return None;
    }
    alike(record).iter().find_map(|(_, sessions)| behind_others(sessions))
}

fn behind_others(sessions: &[&SessionRecord]) -> Option<SteadyFinding> {
    if sessions.len() < 3 {
        return None;
    }
    let done = sessions.iter().map(|session| session.operations()).sorted_unstable().collect_vec();
    let median = done[nearest_rank(50.0, done.len() as u64) as usize - 1];
    let whole = sessions.iter().filter(|session| session.whole_window);
    let least = whole.min_by_key(|session| session.operations())?;
    let operations = least.operations();
    let share = ratio(operations as f64, median as f64).filter(|share| *share < BEHIND.share())?;
    let by_chance = COMPARABLE_OPERATIONS.value * (median as f64).sqrt();
    let is_comparable = (median - operations) as f64 >= by_chance;
    is_comparable.then_some(SteadyFinding::Behind {
        session: least.session,
        operations: Count(operations),
        share: Share(share),
    })
}

fn foreign_cpu(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let foreign = figure::FOREIGN_CPU_PERCENT.of(figures)? - neighbours_cpu_percent(figures);
    let percent = Some(foreign).filter(|share| *share >= FOREIGN_CPU.value)?;
    Some(SteadyFinding::ForeignCpu { percent: Percent(percent) })
}

fn foreign_reads(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let foreign = figure::FOREIGN_READ_MB_PER_S.of(figures)? - neighbours_mb_per_s(figures);
    let mb_per_s = Some(foreign).filter(|mb| *mb >= FOREIGN_READ_RATE.value)?;
    let all = figure::DEVICE_READ_MB_PER_S.of(figures)?;
    let percent = ratio(100.0 * mb_per_s, all).filter(|share| *share >= FOREIGN_READS.value)?;
    let (mb_per_s, percent) = (Tenths(mb_per_s), Percent(percent));
    Some(match own_read_bytes(figures.record) {
        Some(_) => SteadyFinding::ForeignReads { mb_per_s, percent },
        None => SteadyFinding::ForeignReadsOrReadAhead { mb_per_s, percent },
    })
}

/// Allows twice the run's own writes, for file system and mirrors, and the journal's part of each sync.
fn foreign_writes(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let record = figures.record;
    // The writes of runs beside this one are unknown.
    if !named_neighbours(record).is_empty() {
        return None;
    }
    let (run, used, own) = (Measured::of(record)?, device_counters(record)?.used, own_write_bytes(record)?);
    let syncs = counter(record, Counter::RedoSyncs).or_else(|| commits(record)).unwrap_or(0);
    let journal = syncs.saturating_mul((FOREIGN_JOURNAL.value * 1024.0) as u64);
    let allowed = own.saturating_mul(2).saturating_add(journal);
    let beyond_mb_per_s = run.per_s(used.write_bytes.saturating_sub(allowed)) / 1e6;
    let foreign = used.write_bytes.saturating_sub(own);
    let all = used.read_bytes.saturating_add(used.write_bytes);
    let percent = ratio(100.0 * foreign as f64, all as f64)?;
    let is_much = beyond_mb_per_s >= FOREIGN_WRITE_RATE.value && percent >= FOREIGN_WRITES.value;
    is_much.then(|| SteadyFinding::ForeignWrites {
        mb_per_s: Tenths(run.per_s(foreign) / 1e6),
        percent: Percent(percent),
    })
}

fn own_write_bytes(record: &Record) -> Option<u64> {
    let beside = record.client_io.filter(|_| !record.server.embedded && record.client_host.is_none());
    let by_database = || {
        let pages = counter(record, Counter::PhysicalWriteBytes).or_else(|| {
            counter(record, Counter::PhysicalWrites)?.checked_mul(u64::from(record.server.block_bytes))
        })?;
        Some(pages.saturating_add(counter(record, Counter::RedoBytes)?))
    };
    let own = own_io(record).map(|io| io.write_bytes).or_else(by_database)?;
    Some(own.saturating_add(beside.map_or(0, |io| io.write_bytes)))
}

fn neighbours_cpu_percent(figures: &Figures<'_>) -> f64 {
    // Members on one server each report all of its CPU time.
    let host_s =
        Measured::of(figures.record).and_then(|run| Some(run.observed_s() * f64::from(run.host_cpus()?)));
    let share = host_s.and_then(|host_s| ratio(neighbours_cpu_s(figures.record), host_s));
    100.0 * share.unwrap_or(0.0).min(1.0)
}

fn neighbours_mb_per_s(figures: &Figures<'_>) -> f64 {
    let run = Measured::of(figures.record);
    run.map_or(0.0, |run| run.per_s(neighbours_read_bytes(figures.record)) / 1e6)
}

fn started_together(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let names = named_neighbours(figures.record);
    (!names.is_empty()).then(|| SteadyFinding::Beside {
        names,
        cpu_percent: Percent(neighbours_cpu_percent(figures)),
        mb_per_s: Tenths(neighbours_mb_per_s(figures)),
    })
}

fn others_unknown(figures: &Figures<'_>) -> Option<SteadyFinding> {
    let all = [(&figure::FOREIGN_CPU_PERCENT, "CPU use"), (&figure::FOREIGN_READ_MB_PER_S, "device reads")];
    let unknown = all.into_iter().filter(|(figure, _)| figure.of(figures).is_none());
    let what = unknown.map(|(_, what)| what).join(" and ");
    (!what.is_empty()).then_some(SteadyFinding::OthersUnknown { what })
}

fn not_settled(record: &Record) -> Option<SteadyFinding> {
    let warm_up = record.warm_up.as_ref().filter(|warm_up| !warm_up.steady.reached)?;
    Some(SteadyFinding::NotSettled { seconds: Tenths(warm_up.seconds) })
}

fn neighbours(record: &Record) -> impl Iterator<Item = SteadyFinding> {
    let reads = longest_visit(record, others_reads).map(|(mean, from_s, to_s)| {
        SteadyFinding::NeighbourReads { mb_per_s: Tenths(mean / 1e6), from_s, to_s }
    });
    let cpu = longest_visit(record, others_cpu).map(|(mean, from_s, to_s)| SteadyFinding::NeighbourCpu {
        percent: Percent(100.0 * mean),
        from_s,
        to_s,
    });
    reads.into_iter().chain(cpu)
}

type UseOfOthers = fn(&Record, &Interval) -> Option<(f64, bool)>;

fn others_reads(record: &Record, interval: &Interval) -> Option<(f64, bool)> {
    let device = interval.device?.read_bytes as f64;
    let own = interval.physical_reads? as f64 * f64::from(record.server.block_bytes);
    let others = (device - own).max(0.0);
    let per_s = others / interval.sampled_s.unwrap_or(record.series.width_s() as f64);
    Some((per_s, others >= NEIGHBOUR.share() * device && per_s >= NEIGHBOUR_RATE.value * 1e6))
}

fn others_cpu(_: &Record, interval: &Interval) -> Option<(f64, bool)> {
    let host = interval.host_cpu?;
    let share = ratio((host.busy_s() - interval.db_cpu?.total_s()).max(0.0), host.total_s())?;
    Some((share, share >= NEIGHBOUR.share()))
}

/// `None` if others were there all the time or never.
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
