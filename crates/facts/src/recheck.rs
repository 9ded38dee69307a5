//! Checks that numbers held twice in a record agree, also with the list of all operations.

use std::collections::BTreeMap;

use itertools::Itertools;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use slob_host::CpuSplit;
use slob_measure::{Counter, LatencyKind, OpKind};
use slob_record::{
    Interval, KeptOperation, KindRecord, Record, SessionRecord, Status, Verification, digest_of,
};
use slob_stats::{Histogram, nearest_rank};

use crate::format::count;
use crate::measured::{
    Measured, counter, intervals_touching, latency, saturating_sum, total_operations, total_rows,
    window_intervals,
};
use crate::verdicts::{Pair, Rule, counter_pairs};
use crate::{Run, figure};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recheck {
    /// `None` if the numbers can't be compared, which is no fault.
    pub agrees: Option<bool>,
    pub words: String,
}

impl Recheck {
    pub fn new(agrees: bool, words: impl Into<String>) -> Self {
        Self { agrees: Some(agrees), words: words.into() }
    }

    pub fn unknown(words: impl Into<String>) -> Self {
        Self { agrees: None, words: words.into() }
    }

    pub fn differs(&self) -> bool {
        self.agrees == Some(false)
    }
}

impl From<Pair> for Recheck {
    fn from(pair: Pair) -> Self {
        let ((left, left_count), (right, right_count)) = (&pair.left, &pair.right);
        let than = if pair.rule == Rule::AtLeast { "at least " } else { "" };
        let words = format!("{left} {}, {than}{right} {}", count(*left_count), count(*right_count));
        Self::new(pair.agrees(), words)
    }
}

const TOLERANCE: f64 = 0.01;
/// CPU times are read at slightly different moments: seconds, and a share.
const CPU_SLACK_S: f64 = 0.01;
const CPU_TOLERANCE: f64 = 0.02;
/// Ticks of all modes together come a little late now and then, by this share.
const HOST_TOLERANCE: f64 = 0.1;
/// Ticks are lost while a hypervisor delays a virtual machine silently: 15 % of them were, on a busy host.
const LOST_TICKS: f64 = 0.25;
const SAMPLING_S: f64 = 1.0;
/// A completed window is not shorter than planned by more than this share.
const WINDOW_TOLERANCE: f64 = 0.01;

pub fn recheck(record: &Record) -> Vec<Recheck> {
    let mut checks = totals(record);
    if record.window.is_none() && record.status == Status::Completed {
        checks.push(Recheck::new(false, "the run was completed, and has no window"));
    }
    checks.extend(counter_pairs(record).into_iter().map(Recheck::from));
    checks.extend(embedded_counters(record));
    checks.extend(series_against_counters(record));
    checks.extend(series_in_itself(record));
    checks.extend(time_within_window(record));
    let host_cpu_s =
        |of: fn(slob_host::CpuTimes) -> f64| record.host.as_ref().and_then(|host| host.cpu).map(of);
    let db_cpu_s = record.db_cpu.as_ref().map(|db| db.cpu.total_s());
    let stated_twice = [
        ending(record),
        embedded_cpu(record),
        host_cpu(record),
        series_cpu(record, "s of the host's CPUs at work", host_cpu_s(|cpu| cpu.busy_s()), |interval| {
            interval.host_cpu.map(|cpu| cpu.busy_s())
        }),
        series_cpu(record, "s of DB CPU", db_cpu_s, |interval| {
            interval.db_cpu.as_ref().map(CpuSplit::total_s)
        }),
        series_cpu(
            record,
            "s of the host's CPUs in all modes",
            host_cpu_s(|cpu| cpu.total_s()),
            |interval| interval.host_cpu.map(|cpu| cpu.total_s()),
        ),
        direct_io(record),
        rows_read_back(record),
        name_and_date(record),
    ];
    checks.extend(stated_twice.into_iter().flatten());
    checks
}

fn equal(left: (String, u64), right: (&'static str, u64)) -> Recheck {
    Pair::new(Rule::Equal, left, right).exactly().into()
}

fn totals(record: &Record) -> Vec<Recheck> {
    let kinds = |of: fn(&KindRecord) -> u64| saturating_sum(record.operations.values().map(of));
    let sessions = |of: fn(&SessionRecord) -> u64| saturating_sum(record.sessions.iter().map(of));
    let operations = || ("operations".to_owned(), total_operations(record));
    let rows = ("rows".to_owned(), total_rows(record));
    let mut checks = vec![
        equal(operations(), ("durations in histograms", kinds(|kind| kind.latency.count()))),
        equal(rows, ("rows of the sessions", sessions(|session| session.rows))),
        equal(operations(), ("operations of the sessions", sessions(SessionRecord::operations))),
    ];
    if !record.endpoints.is_empty() {
        let kinds = record.endpoints.iter().flat_map(|endpoint| endpoint.operations.values());
        let of_endpoints = saturating_sum(kinds.map(|kind| kind.operations));
        checks.push(equal(operations(), ("operations of the endpoints", of_endpoints)));
    }
    let longest_us = record.operations.values().filter_map(|kind| kind.latency.max()).max().map(to_us);
    let of_sessions = record.sessions.iter().filter_map(|session| session.max_us).map(|us| us as u64).max();
    // A session that did not end in time counts in the totals and is not listed.
    if let Some((histogram, session)) = longest_us.zip(of_sessions) {
        let longest = ("us of the longest operation".to_owned(), histogram);
        checks.push(equal(longest, ("us of the sessions' longest", session)));
    }
    checks
}

fn to_us(ns: u64) -> u64 {
    ns / 1000
}

fn embedded_counters(record: &Record) -> Vec<Recheck> {
    let counted = |which| counter(record, which);
    let timed = |kind| latency(record, kind).map(Histogram::count);
    let bytes = |of| counted(of).map(|blocks| blocks.saturating_mul(record.server.block_bytes.into()));
    const TIMED: &str = "those that were timed";
    const BLOCKS: &str = "blocks of them";
    let pairs = [
        ("physical reads", Counter::PhysicalReads, TIMED, timed(LatencyKind::PhysicalRead)),
        ("physical writes", Counter::PhysicalWrites, TIMED, timed(LatencyKind::PhysicalWrite)),
        ("syncs of the log", Counter::RedoSyncs, TIMED, timed(LatencyKind::RedoSync)),
        ("bytes of physical reads", Counter::PhysicalReadBytes, BLOCKS, bytes(Counter::PhysicalReads)),
        ("bytes of physical writes", Counter::PhysicalWriteBytes, BLOCKS, bytes(Counter::PhysicalWrites)),
    ];
    let known = pairs.into_iter().filter_map(|(left, counter, right, other)| {
        Some(Pair::new(Rule::Equal, (left, counted(counter)?), (right, other?)).into())
    });
    known.filter(|_| record.server.embedded).collect()
}

type Of = fn(&Interval) -> Option<f64>;

/// Sessions report rows to every interval; the other quantities need a sample.
fn series_against_counters(record: &Record) -> Vec<Recheck> {
    let counted: [(&str, Counter, Of); 3] = [
        ("logical reads", Counter::LogicalReads, |interval| Some(interval.logical_reads? as f64)),
        ("physical reads", Counter::PhysicalReads, |interval| Some(interval.physical_reads? as f64)),
        ("bytes of redo", Counter::RedoBytes, |interval| Some(interval.redo_bytes? as f64)),
    ];
    let check = |name, total: u64, of, touching: &mut dyn Iterator<Item = _>| {
        let (total, show) = (total as f64, |amount| count(amount as u64));
        between(record, name, (total, TOLERANCE * total), of, touching, show)
    };
    let touching = &mut intervals_touching(record);
    let rows = check("rows", total_rows(record), |interval| Some(interval.rows as f64), touching);
    let of_counters = counted
        .into_iter()
        .filter_map(|(name, which, of)| check(name, counter(record, which)?, of, &mut sampled(record)));
    rows.into_iter().chain(of_counters).collect()
}

/// A window's total lies between the sums of intervals within it and of those that touch it, up to `slack`.
fn between(
    record: &Record,
    name: &str,
    (total, slack): (f64, f64),
    of: Of,
    touching: &mut dyn Iterator<Item = &Interval>,
    show: fn(f64) -> String,
) -> Option<Recheck> {
    let within: f64 = window_intervals(record).into_iter().filter_map(|(_, interval)| of(interval?)).sum();
    let touching: Vec<f64> = touching.map(of).collect::<Option<_>>()?;
    let all: f64 = touching.iter().sum();
    let agrees = within <= total + slack && all + slack >= total;
    let words = format!("{name} {}, in the series {} to {}", show(total), show(within), show(all));
    (!touching.is_empty()).then_some(Recheck::new(agrees, words))
}

fn sampled(record: &Record) -> impl Iterator<Item = &Interval> {
    intervals_touching(record).filter(|interval| interval.sampled_s.is_some())
}

fn series_in_itself(record: &Record) -> Option<Recheck> {
    let intervals: Vec<&Interval> = record.series.points().filter_map(|point| point.value).collect();
    let differ = intervals.iter().filter(|interval| interval.ops.total() != interval.latency.count()).count();
    let count = intervals.len();
    let words = format!("operations and durations of {count} intervals of the series; {differ} differ");
    (!intervals.is_empty()).then_some(Recheck::new(differ == 0, words))
}

/// Little's law: sessions are busy for the window at most, plus the operation that each had under way at its begin.
fn time_within_window(record: &Record) -> Option<Recheck> {
    let window_s = figure::WINDOW_S.of(&Run::of(record))?;
    let sessions = record.sessions.len() as f64;
    let longest_s = record.operations.values().filter_map(|kind| kind.latency.max()).max()? as f64 / 1e9;
    let busy_s = record.sessions.iter().map(|session| session.busy_us as f64 / 1e6).sum::<f64>();
    let available_s = sessions * window_s;
    let most = format!("sessions times seconds of the window {available_s:.3}");
    let words = format!("seconds of all operations {busy_s:.3}, at most {most}");
    Some(Recheck::new(busy_s <= available_s + sessions * longest_s, words))
}

fn ending(record: &Record) -> Option<Recheck> {
    let (window, planned_s) = (record.window?, record.workload.run_time_s?);
    let is_whole = window.seconds >= planned_s * (1.0 - WINDOW_TOLERANCE)
        || record.until_steady.as_ref().is_some_and(|until| until.reached);
    let (state, agrees) = match &record.status {
        Status::Completed => ("completed", is_whole),
        Status::Interrupted => ("interrupted", !is_whole),
        Status::Aborted { .. } => ("aborted", !is_whole),
        Status::Failed { .. } => return None,
    };
    let words = format!("the run was {state}, its window took {:.2} of {planned_s:.2} s", window.seconds);
    Some(Recheck::new(agrees, words))
}

/// The CPU time of an embedded database is this program's.
fn embedded_cpu(record: &Record) -> Option<Recheck> {
    let (database, client) = (record.db_cpu.as_ref()?.cpu.total_s(), record.client_cpu.as_ref()?.total_s());
    let agrees = (database - client).abs() <= CPU_SLACK_S + CPU_TOLERANCE * database.max(client);
    let words = format!("s of DB CPU {database:.3}, of this program {client:.3}");
    record.server.embedded.then_some(Recheck::new(agrees, words))
}

/// Each CPU is in one of the modes all the time.
fn host_cpu(record: &Record) -> Option<Recheck> {
    let host = record.host.as_ref()?;
    // Its edges can be late on a busy host: its own clock counts.
    let (cpus, seconds) = (f64::from(host.info.cpus_online?), Measured::of(record)?.observed_s());
    let (sampled_s, available_s) = (host.cpu?.total_s(), cpus * seconds);
    let modes = "s of the host's CPUs in all modes";
    let words = format!("{modes} {sampled_s:.2}, CPUs times seconds {available_s:.2}");
    // Each CPU may be a tick behind.
    let agrees = sampled_s >= available_s * (1.0 - LOST_TICKS) - cpus * CPU_SLACK_S
        && sampled_s <= available_s * (1.0 + HOST_TOLERANCE) + cpus * SAMPLING_S;
    Some(Recheck::new(agrees, words))
}

fn series_cpu(record: &Record, name: &str, total_s: Option<f64>, of: Of) -> Option<Recheck> {
    let total_s = total_s?;
    let slack = CPU_SLACK_S + CPU_TOLERANCE * total_s;
    between(record, name, (total_s, slack), of, &mut sampled(record), |seconds| format!("{seconds:.2}"))
}

/// The engine's flag against the setting of engines that can choose.
fn direct_io(record: &Record) -> Option<Recheck> {
    const SETTING: &str = "data file I/O";
    let direct = record.server.direct_io?;
    let setting = record.server.settings.iter().find(|setting| setting.name == SETTING)?;
    let words = format!("direct_io is {direct}, the setting {SETTING} is {}", setting.value);
    Some(Recheck::new(direct == setting.value.starts_with("direct"), words))
}

/// All drawn rows are read back, unless some are damaged or unreadable.
fn rows_read_back(record: &Record) -> Option<Recheck> {
    let verification = record.verification.as_ref()?;
    let most = Verification::SAMPLED_ROWS;
    let is_whole = verification.unread.is_none() && verification.faults.is_empty();
    let least = if is_whole { most } else { 0 };
    let (rows, updated) = (verification.rows, verification.updated);
    let words = format!("rows read back {rows}, of which {updated} updated, {most} to be read");
    let agrees = (least..=most).contains(&rows) && updated <= rows;
    Some(Recheck::new(agrees, words))
}

/// An id holds the run's begin. Preparations and a clock that is set take less than a day.
fn name_and_date(record: &Record) -> Option<Recheck> {
    let (stamp, name) = record.id.split_once('-')?;
    let begun = DateTime::strptime("%Y%m%dT%H%M%SZ", stamp).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let is_near = begun.duration_since(record.started).abs() <= SignedDuration::from_hours(24);
    let words = format!("the id {}, started {}, RUN_NAME {}", record.id, record.started, record.name);
    Some(Recheck::new(is_near && name.starts_with(&record.name), words))
}

pub fn recheck_operations(record: &Record, operations: &[KeptOperation]) -> Vec<Recheck> {
    let kinds = OpKind::ALL.iter().filter_map(|kind| Some((*kind, record.operations.get(kind)?)));
    let kinds = kinds.flat_map(|(kind, of_record)| kind_against_list(kind, of_record, operations));
    let sessions = sessions_against_list(record, operations);
    kinds.chain(sessions).chain(intervals_against_list(record, operations)).collect()
}

fn kind_against_list(kind: OpKind, of_record: &KindRecord, operations: &[KeptOperation]) -> Vec<Recheck> {
    const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];
    let listed = || operations.iter().filter(|operation| operation.kind == kind && operation.in_window);
    let mut durations: Vec<u64> = listed().map(|operation| operation.duration_ns).collect();
    durations.sort_unstable();
    let name = kind.name();
    let in_list = |what: String, of_record, n| equal((what, of_record), ("in the list", n));
    let mut checks = vec![
        in_list(format!("{name}s"), of_record.operations, durations.len() as u64),
        in_list(format!("rows of {name}s"), of_record.rows, saturating_sum(listed().map(|each| each.rows))),
        in_list(format!("ns of {name}s"), of_record.latency.sum(), saturating_sum(durations.iter().copied())),
    ];
    checks.extend(PERCENTILES.iter().filter_map(|p| percentile(name, *p, &of_record.latency, &durations)));
    checks
}

/// Nearest rank: the smallest duration that at least `p` percent do not exceed.
fn percentile(name: &str, p: f64, histogram: &Histogram, sorted: &[u64]) -> Option<Recheck> {
    /// Largest error of a histogram's percentile, as a share ([`Histogram::percentile`]).
    const RESOLUTION: f64 = 1.0 / 128.0;
    let rank = nearest_rank(p, sorted.len() as u64) as usize;
    let (of_histogram, listed) = (histogram.percentile(p)?, *sorted.get(rank - 1)?);
    let agrees = of_histogram.abs_diff(listed) as f64 <= RESOLUTION * listed as f64;
    let words = format!("p{p} of {name}s {} us, in the list {} us", to_us(of_histogram), to_us(listed));
    Some(Recheck::new(agrees, words))
}

fn sessions_against_list(record: &Record, operations: &[KeptOperation]) -> Option<Recheck> {
    let listed = operations.iter().filter(|operation| operation.in_window).counts_by(|one| one.session);
    let count = |session: &SessionRecord| listed.get(&session.session).map_or(0, |count| *count as u64);
    let differs = |session: &&SessionRecord| count(session) != session.operations();
    let (sessions, differ) = (record.sessions.len(), record.sessions.iter().filter(differs).count());
    let words = format!("operations of {sessions} sessions, and the list; {differ} differ");
    (sessions > 0).then_some(Recheck::new(differ == 0, words))
}

/// Operations count by their end. Calls that the warm-up left under way belong to its last interval, though some of their
/// operations began within the window.
fn intervals_against_list(record: &Record, operations: &[KeptOperation]) -> Option<Recheck> {
    let width_ns = record.series.width_s().saturating_mul(1_000_000_000).max(1);
    let ns = |seconds: f64| (seconds * 1e9).round() as u64;
    let (begin_ns, window_end_ns) =
        record.window.map_or((0, 0), |window| (ns(window.begin_s), ns(window.begin_s + window.seconds)));
    let mut differences: BTreeMap<u64, i128> = BTreeMap::new();
    for operation in operations {
        let end_ns = operation.start_ns.saturating_add(operation.duration_ns);
        let was_left_under_way = !operation.in_window
            && end_ns >= begin_ns
            && (operation.start_ns < begin_ns || end_ns < window_end_ns);
        let end_ns = if was_left_under_way { begin_ns - 1 } else { end_ns };
        *differences.entry(end_ns / width_ns).or_default() += 1;
    }
    let points = record.series.points();
    let intervals = points.len();
    for point in points {
        let of_record = point.value.map_or(0, |interval| interval.ops.total());
        let place = point.start_s / record.series.width_s().max(1);
        *differences.entry(place).or_default() -= i128::from(of_record);
    }
    let differ = differences.values().filter(|difference| **difference != 0).count();
    let words = format!("operations of {intervals} intervals of the series, and the list; {differ} differ");
    (intervals > 0).then_some(Recheck::new(differ == 0, words))
}

const DIGEST_NAME: &str = "Digest of the record:";

pub fn digest_words(record: &Record) -> String {
    digest_of(record).map_or_else(
        |error| format!("The digest of the record is not known: {error}"),
        |digest| format!("{DIGEST_NAME} {digest}"),
    )
}

pub fn digest_in_report(text: &str) -> Option<&str> {
    let name: Vec<&str> = DIGEST_NAME.split(' ').collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words.windows(name.len()).rposition(|found| found == name)?;
    words.get(place + name.len())?.split(|letter: char| !letter.is_ascii_hexdigit()).next()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slob_measure::Setting;

    use super::*;
    use slob_testing::records;

    fn disagreements(record: &Record) -> Vec<String> {
        recheck(record).into_iter().filter(|check| check.differs()).map(|check| check.words).collect()
    }

    #[test]
    fn a_sound_record_agrees_with_itself() {
        let record = records::direct_read_run();
        assert_eq!(disagreements(&record), [""; 0]);
        assert!(recheck(&record).len() >= 10, "{:?}", recheck(&record));
        // Neither has a run that failed before its window anything that disagrees.
        assert_eq!(disagreements(&records::failed_run()), [""; 0]);
    }

    #[rstest]
    #[case("operations of the sessions", |record: &mut Record| record.sessions[1].selects += 1)]
    #[case("rows of the sessions", |record: &mut Record| record.sessions[2].rows -= 1)]
    #[case("times seconds of the window", |record: &mut Record| record.sessions[0].busy_us += 90_000_000 * 4)]
    #[case("physical reads", |record: &mut Record| double_physical_reads(record))]
    #[case("timed", |record: &mut Record| double_physical_reads(record))]
    #[case("has no window", |record: &mut Record| record.window = None)]
    #[case("DB CPU", |record: &mut Record| record.db_cpu.as_mut().unwrap().cpu.user_s *= 1.3)]
    #[case("all modes", |record: &mut Record| record.host.as_mut().unwrap().cpu.as_mut().unwrap().idle_s /= 3.0)]
    #[case("the run was interrupted", |record: &mut Record| record.status = Status::Interrupted)]
    #[case("the run was completed", |record: &mut Record| record.workload.run_time_s = Some(90.0))]
    #[case("RUN_NAME", |record: &mut Record| record.name = "another".into())]
    #[case("started", |record: &mut Record| record.started += SignedDuration::from_hours(240))]
    #[case("rows read back", |record: &mut Record| record.verification.as_mut().unwrap().rows = 99)]
    #[case("rows read back", |record: &mut Record| record.verification.as_mut().unwrap().updated = 101)]
    #[case("direct_io is true", |record: &mut Record| {
        let setting = Setting { name: "data file I/O".into(), value: "buffered".into() };
        record.server.settings.push(setting);
    })]
    fn an_edited_number_disagrees(#[case] words: &str, #[case] edit: fn(&mut Record)) {
        let mut record = records::direct_read_run();
        edit(&mut record);
        let found = disagreements(&record);
        assert!(found.iter().any(|found| found.contains(words)), "{found:?}");
    }

    /// Its last sample came 3.4 s late, at a load of 90.
    #[test]
    fn a_busy_host_whose_edges_are_late_is_not_accused() {
        let mut record = records::direct_read_run();
        let (window_s, host) = (record.window.unwrap().seconds, record.host.as_mut().unwrap());
        host.cpu.as_mut().unwrap().idle_s += 10.0 * f64::from(host.info.cpus_online.unwrap());
        assert_eq!(host_cpu(&record).unwrap().agrees, Some(false));
        record.observed =
            vec![slob_record::ObservedRecord { seconds: Some(window_s + 10.0), ..Default::default() }];
        assert_eq!(host_cpu(&record).unwrap().agrees, Some(true));
    }

    fn double_physical_reads(record: &mut Record) {
        let reads = record.counters.get(Counter::PhysicalReads).unwrap();
        record.counters.set(Counter::PhysicalReads, 2 * reads);
    }

    fn operation(duration_ns: u64) -> KeptOperation {
        KeptOperation {
            session: 0,
            kind: OpKind::Select,
            start_ns: 0,
            duration_ns,
            rows: 64,
            in_window: true,
        }
    }

    #[test]
    fn a_list_of_operations_agrees_with_its_histogram_only() {
        let mut record = records::direct_read_run();
        let list: Vec<KeptOperation> = (1..=1000).map(|i| operation(i * i * 1000)).collect();
        let mut latency = Histogram::new();
        list.iter().for_each(|operation| latency.record(operation.duration_ns));
        let kind = KindRecord { operations: 1000, rows: 64_000, latency, ..KindRecord::default() };
        record.operations = BTreeMap::from([(OpKind::Select, kind)]);
        record.series = slob_stats::Series::new(0, 1800);
        record.sessions.truncate(1);
        record.sessions[0].selects = 1000;
        let disagreements = |list: &[KeptOperation]| {
            let checks = recheck_operations(&record, list);
            checks.into_iter().filter(|check| check.differs()).map(|check| check.words).collect::<Vec<_>>()
        };
        assert_eq!(disagreements(&list), [""; 0]);
        let mut slower = list.clone();
        slower[990..].iter_mut().for_each(|operation| operation.duration_ns += 20_000_000);
        let words = disagreements(&slower).join("\n");
        assert!(
            words.contains("ns of SELECTs") && words.contains("p99.9") && !words.contains("p50"),
            "{words}"
        );
        assert!(disagreements(&list[1..])[0].contains("1,000, in the list 999"));
    }

    #[test]
    fn operations_of_a_call_that_the_warm_up_left_under_way_are_not_accused() {
        let mut record = records::direct_read_run();
        record.window = Some(slob_record::Window { begin_s: 5.0, seconds: 3.0 });
        record.series = slob_stats::Series::new(0, 1800);
        for (second, selects) in [(4, 3), (6, 1), (8, 1)] {
            let ops = slob_measure::OpCounts { selects, ..Default::default() };
            record.series.push(second, Interval { ops, ..Default::default() }).unwrap();
        }
        let at = |start_ms: u64, in_window| KeptOperation {
            start_ns: start_ms * 1_000_000,
            in_window,
            ..operation(2_000_000)
        };
        let mut list = [at(4990, false), at(4999, false), at(5001, false), at(6000, true), at(8000, false)];
        assert!(!intervals_against_list(&record, &list).unwrap().differs());
        list[3] = at(7000, true);
        assert!(intervals_against_list(&record, &list).unwrap().differs());
    }

    /// 99.9 % of 1000 operations are 999 of them, in spite of floating point.
    #[test]
    fn the_slowest_of_a_thousand_operations_is_not_their_p999() {
        let mut histogram = Histogram::new();
        let sorted: Vec<u64> = (0..1000).map(|i| if i == 999 { 5_000_000 } else { 100_000 + i }).collect();
        sorted.iter().for_each(|ns| histogram.record(*ns));
        let check = percentile("select", 99.9, &histogram, &sorted).unwrap();
        assert!(!check.differs(), "{}", check.words);
    }

    #[test]
    fn damaged_numbers_cause_no_panic() {
        let mut record = records::direct_read_run();
        record.sessions.iter_mut().for_each(|session| (session.selects, session.rows) = (u64::MAX, u64::MAX));
        record.operations.values_mut().for_each(|kind| kind.rows = u64::MAX);
        assert!(disagreements(&record).len() > 2);
        let huge = KeptOperation { start_ns: u64::MAX, ..operation(u64::MAX) };
        assert!(!recheck_operations(&record, &[huge, huge]).is_empty());
    }
}
