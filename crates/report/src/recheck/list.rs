//! The list of all operations of a run against its record.

use std::collections::BTreeMap;

use slob_measure::OpKind;
use slob_record::{KeptOperation, KindRecord, Record};
use slob_stats::{Histogram, nearest_rank};

use crate::sums::total;

use super::{Recheck, equal, to_us};

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
    checks.extend(by_session(record, operations));
    checks.extend(by_interval(record, operations));
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
            total(listed().map(|each| each.rows)),
        ),
        equal(
            &format!("ns of {name}s"),
            of_record.latency.sum(),
            "in the list",
            total(durations.iter().copied()),
        ),
    ];
    checks.extend(PERCENTILES.iter().filter_map(|p| percentile(name, *p, &of_record.latency, &durations)));
    checks
}

/// By nearest rank: the smallest duration that at least `p` percent do not exceed.
fn percentile(name: &str, p: f64, histogram: &Histogram, sorted: &[u64]) -> Option<Recheck> {
    let rank = nearest_rank(p, sorted.len() as u64) as usize;
    let (told, listed) = (histogram.percentile(p)?, *sorted.get(rank - 1)?);
    let agrees = told.abs_diff(listed) as f64 <= RESOLUTION * listed as f64;
    let words = format!("p{p} of {name}s {} us, in the list {} us", to_us(told), to_us(listed));
    Some(Recheck { agrees, words })
}

/// Operations of each session within the window.
fn by_session(record: &Record, operations: &[KeptOperation]) -> Option<Recheck> {
    let mut listed: BTreeMap<u32, u64> = BTreeMap::new();
    for operation in operations.iter().filter(|operation| operation.in_window) {
        *listed.entry(operation.session).or_default() += 1;
    }
    let differ = record
        .sessions
        .iter()
        .filter(|session| listed.get(&session.session).copied().unwrap_or(0) != session.operations());
    let (sessions, differ) = (record.sessions.len(), differ.count());
    // One that did not end in time has no line of its own.
    let words = format!("operations of {sessions} sessions, and the list; {differ} differ");
    (sessions > 0).then_some(Recheck { agrees: differ == 0, words })
}

/// Operations of each interval of the series, by when they ended; of those that the warm-up left under way, its last one.
fn by_interval(record: &Record, operations: &[KeptOperation]) -> Option<Recheck> {
    let width_ns = record.series.width_s().saturating_mul(1_000_000_000).max(1);
    let begin_ns = record.window.map_or(0, |window| (window.begin_s * 1e9).round() as u64);
    let mut differences: BTreeMap<u64, i128> = BTreeMap::new();
    for operation in operations {
        let end_ns = operation.start_ns.saturating_add(operation.duration_ns);
        let was_left_under_way = !operation.in_window && operation.start_ns < begin_ns && end_ns >= begin_ns;
        let end_ns = if was_left_under_way { begin_ns - 1 } else { end_ns };
        *differences.entry(end_ns / width_ns).or_default() += 1;
    }
    let points = record.series.points();
    let intervals = points.len();
    for point in points {
        let told = point.value.map_or(0, |interval| interval.ops.total());
        *differences.entry(point.start_s / record.series.width_s().max(1)).or_default() -= i128::from(told);
    }
    let differ = differences.values().filter(|difference| **difference != 0).count();
    let words = format!("operations of {intervals} intervals of the series, and the list; {differ} differ");
    (intervals > 0).then_some(Recheck { agrees: differ == 0, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 99.9 % of 1000 operations are 999 of them, whatever floating point makes of it.
    #[test]
    fn the_slowest_of_a_thousand_operations_is_not_their_p999() {
        let mut histogram = Histogram::new();
        let sorted: Vec<u64> = (0..1000).map(|i| if i == 999 { 5_000_000 } else { 100_000 + i }).collect();
        sorted.iter().for_each(|ns| histogram.record(*ns));
        let check = percentile("select", 99.9, &histogram, &sorted).unwrap();
        assert!(check.agrees, "{}", check.words);
    }
}
