//! The sums of a record once more: whatever it holds twice must be the same twice.

use std::collections::BTreeMap;

use slob_record::{KeptOperation, KindRecord, OpKind, Record, SessionRecord};
use slob_stats::Histogram;

use crate::figures::Figures;
use crate::format::count;
use crate::verdicts::counter_pairs;

/// Something that a record holds twice, or that another counter counted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recheck {
    /// Whether both are the same, as far as they must be.
    pub agrees: bool,
    /// Both, in words.
    pub words: String,
}

/// All that can be held against each other in a record: its own totals exactly, independent counters within 1 %.
#[must_use]
pub fn recheck(record: &Record) -> Vec<Recheck> {
    let pairs = counter_pairs(record).into_iter();
    let pairs = pairs.map(|pair| Recheck { agrees: pair.agrees(), words: pair.words() });
    exact_sums(record).into_iter().chain(pairs).chain(time_within_window(record)).collect()
}

fn exact_sums(record: &Record) -> Vec<Recheck> {
    let kinds = |of: fn(&KindRecord) -> u64| record.operations.values().map(of).sum::<u64>();
    let sessions = |of: fn(&SessionRecord) -> u64| record.sessions.iter().map(of).sum::<u64>();
    let operations = kinds(|kind| kind.operations);
    let mut sums = vec![
        equal("operations", operations, "durations in histograms", kinds(|kind| kind.latency.count())),
        equal("rows", kinds(|kind| kind.rows), "rows of the sessions", sessions(|session| session.rows)),
        equal("operations", operations, "operations of the sessions", sessions(operations_of)),
    ];
    if !record.endpoints.is_empty() {
        let of_endpoints = record.endpoints.iter().flat_map(|endpoint| endpoint.operations.values());
        let of_endpoints = of_endpoints.map(|kind| kind.operations).sum();
        sums.push(equal("operations", operations, "operations of the endpoints", of_endpoints));
    }
    let longest_us = record.operations.values().filter_map(|kind| kind.latency.max()).max().map(to_us);
    let of_sessions = record.sessions.iter().filter_map(|session| session.max_us).map(|us| us as u64).max();
    // A session that did not end in time has its operations in the sums, and no line of its own.
    if let Some((histogram, session)) = longest_us.zip(of_sessions) {
        sums.push(equal("us of the longest operation", histogram, "us of the sessions' longest", session));
    }
    sums
}

fn operations_of(session: &SessionRecord) -> u64 {
    session.selects + session.updates + session.scans
}

fn to_us(ns: u64) -> u64 {
    ns / 1000
}

fn equal(left: &str, left_count: u64, right: &str, right_count: u64) -> Recheck {
    let words = format!("{left} {}, {right} {}", count(left_count), count(right_count));
    Recheck { agrees: left_count == right_count, words }
}

/// Little's law at its plainest: sessions can't have been busy for longer than there was time, but for the operation that
/// each was at when the window began.
fn time_within_window(record: &Record) -> Option<Recheck> {
    let window_s = Figures::of(record).window_s?;
    let sessions = record.sessions.len() as f64;
    let longest_s = record.operations.values().filter_map(|kind| kind.latency.max()).max()? as f64 / 1e9;
    let busy_s = record.sessions.iter().map(|session| session.busy_us as f64 / 1e6).sum::<f64>();
    let there_s = sessions * window_s;
    let words =
        format!("seconds of all operations {busy_s:.3}, sessions times seconds of the window {there_s:.3}");
    Some(Recheck { agrees: busy_s <= there_s + sessions * longest_s, words })
}

/// The percentiles that a report shows.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];
/// How far a percentile of a histogram may lie from the true one ([`Histogram::percentile`]).
const RESOLUTION: f64 = 1.0 / 128.0;

/// The record's histograms and series against the list of all operations, where that was kept.
#[must_use]
pub fn recheck_operations(record: &Record, operations: &[KeptOperation]) -> Vec<Recheck> {
    let mut checks: Vec<Recheck> = OpKind::ALL
        .iter()
        .filter_map(|kind| Some((*kind, record.operations.get(kind)?)))
        .flat_map(|(kind, of_record)| recheck_kind(kind, of_record, operations))
        .collect();
    checks.push(by_interval(record, operations));
    checks
}

fn recheck_kind(kind: OpKind, of_record: &KindRecord, operations: &[KeptOperation]) -> Vec<Recheck> {
    let listed = || operations.iter().filter(|operation| operation.kind == kind && operation.in_window);
    let mut durations: Vec<u64> = listed().map(|operation| operation.duration_ns).collect();
    durations.sort_unstable();
    let name = kind.name();
    let mut checks = vec![
        equal(&format!("{name}s"), of_record.operations, "in the list", durations.len() as u64),
        equal(
            &format!("rows of {name}s"),
            of_record.rows,
            "in the list",
            listed().map(|each| each.rows).sum(),
        ),
        equal(&format!("ns of {name}s"), of_record.latency.sum(), "in the list", durations.iter().sum()),
    ];
    checks.extend(PERCENTILES.iter().filter_map(|p| percentile(name, *p, &of_record.latency, &durations)));
    checks
}

/// By nearest rank: the smallest duration that at least `p` percent do not exceed.
fn percentile(name: &str, p: f64, histogram: &Histogram, sorted: &[u64]) -> Option<Recheck> {
    let rank = (p / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    let (told, listed) = (histogram.percentile(p)?, *sorted.get(rank - 1)?);
    let agrees = told.abs_diff(listed) as f64 <= RESOLUTION * listed as f64;
    let words = format!("p{p} of {name}s {} us, in the list {} us", to_us(told), to_us(listed));
    Some(Recheck { agrees, words })
}

/// Every interval of the series, by when operations ended.
fn by_interval(record: &Record, operations: &[KeptOperation]) -> Recheck {
    let width_ns = record.series.width_s() * 1_000_000_000;
    let mut listed: BTreeMap<u64, u64> = BTreeMap::new();
    for operation in operations {
        *listed.entry((operation.start_ns + operation.duration_ns) / width_ns).or_default() += 1;
    }
    let series = record.series.points();
    let series = series.map(|point| (point.start_s, point.value.map_or(0, |interval| interval.ops.total())));
    let differ = series
        .filter(|(start_s, ops)| listed.get(&(start_s / record.series.width_s())) != Some(ops) && *ops > 0);
    let (differ, intervals) = (differ.count(), record.series.points().count());
    Recheck {
        agrees: differ == 0,
        words: format!("{intervals} intervals of the series and the list; {differ} differ"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn disagreements(record: &Record) -> Vec<String> {
        recheck(record).into_iter().filter(|check| !check.agrees).map(|check| check.words).collect()
    }

    #[test]
    fn a_sound_record_agrees_with_itself() {
        let record = fixture::direct_read_run();
        assert_eq!(disagreements(&record), [""; 0]);
        assert!(recheck(&record).len() >= 6, "{:?}", recheck(&record));
    }

    #[test]
    fn one_operation_more_or_a_row_less_shows() {
        let mut record = fixture::direct_read_run();
        record.sessions[1].selects += 1;
        assert!(disagreements(&record)[0].contains("operations of the sessions"));
        let mut record = fixture::direct_read_run();
        record.sessions[2].rows -= 1;
        assert!(disagreements(&record)[0].contains("rows of the sessions"));
        let mut record = fixture::direct_read_run();
        record.sessions[0].busy_us += 90_000_000 * 4;
        assert!(disagreements(&record).iter().any(|words| words.contains("times seconds of the window")));
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
    fn a_list_of_operations_agrees_with_the_histogram_made_of_it_and_with_no_other() {
        let mut record = fixture::direct_read_run();
        let list: Vec<KeptOperation> = (1..=1000).map(|i| operation(i * i * 1000)).collect();
        let mut latency = Histogram::new();
        list.iter().for_each(|operation| latency.record(operation.duration_ns));
        let kind = KindRecord { operations: 1000, rows: 64_000, latency, ..KindRecord::default() };
        record.operations = BTreeMap::from([(OpKind::Select, kind)]);
        record.series = slob_stats::Series::new(0, 1800);
        let doubts = |list: &[KeptOperation]| {
            let checks = recheck_operations(&record, list);
            checks.into_iter().filter(|check| !check.agrees).map(|check| check.words).collect::<Vec<_>>()
        };
        assert_eq!(doubts(&list), [""; 0]);
        let mut slower = list.clone();
        slower[990..].iter_mut().for_each(|operation| operation.duration_ns += 20_000_000);
        let told = doubts(&slower).join("\n");
        assert!(told.contains("ns of SELECTs") && told.contains("p99.9") && !told.contains("p50"), "{told}");
        assert!(doubts(&list[1..])[0].contains("1,000, in the list 999"));
    }

    #[test]
    fn a_run_that_failed_before_its_window_has_nothing_that_disagrees() {
        assert_eq!(disagreements(&fixture::failed_run()), [""; 0]);
    }
}
