//! How long things took.

use slob_measure::{Counter, LatencyKind, WaitTotal};
use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::{counter, latency, ratio};

/// How long operations, physical reads and log writes took, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyFigures {
    /// Mean of all operations.
    pub operation_mean_us: Option<f64>,
    /// Median of all operations.
    pub operation_p50_us: Option<f64>,
    /// What 99 % of all operations kept.
    pub operation_p99_us: Option<f64>,
    /// What 99.9 % of all operations kept.
    pub operation_p999_us: Option<f64>,
    /// The longest operation.
    pub operation_max_us: Option<f64>,
    /// Mean of physical reads: of the measured ones, or else the time counted for them by their number. Exact also where
    /// percentiles are bounds.
    pub physical_read_mean_us: Option<f64>,
    /// Median of physical reads.
    pub physical_read_p50_us: Option<f64>,
    /// What 99 % of physical reads kept.
    pub physical_read_p99_us: Option<f64>,
    /// Mean of forced log writes.
    pub redo_sync_mean_us: Option<f64>,
    /// What 99 % of forced log writes kept.
    pub redo_sync_p99_us: Option<f64>,
    /// Whether percentiles of physical reads are upper bounds: of the bucket that the database sorts a read into, the value is
    /// more than half of it.
    pub physical_read_is_bound: bool,
    /// The same of forced log writes.
    pub redo_sync_is_bound: bool,
}

impl LatencyFigures {
    pub(super) fn of(record: &Record) -> Self {
        let operations = all_operations(record);
        Self {
            operation_mean_us: mean_us(&operations),
            operation_p50_us: percentile_us(&operations, 50.0),
            operation_p99_us: percentile_us(&operations, 99.0),
            operation_p999_us: percentile_us(&operations, 99.9),
            operation_max_us: percentile_us(&operations, 100.0),
            physical_read_mean_us: latency_mean_us(record, LatencyKind::PhysicalRead)
                .or_else(|| counted_read_us(record)),
            physical_read_p50_us: latency_percentile_us(record, LatencyKind::PhysicalRead, 50.0),
            physical_read_p99_us: latency_percentile_us(record, LatencyKind::PhysicalRead, 99.0),
            redo_sync_mean_us: latency_mean_us(record, LatencyKind::RedoSync),
            redo_sync_p99_us: latency_percentile_us(record, LatencyKind::RedoSync, 99.0),
            physical_read_is_bound: is_coarse(record, LatencyKind::PhysicalRead),
            redo_sync_is_bound: is_coarse(record, LatencyKind::RedoSync),
        }
    }
}

impl LatencyFigures {
    /// Whether a figure of that name is an upper bound.
    #[must_use]
    pub fn is_bound(&self, name: &str) -> bool {
        let is_percentile =
            |of: LatencyKind| name.strip_prefix(of.name()).is_some_and(|rest| rest.starts_with("_p"));
        (self.physical_read_is_bound && is_percentile(LatencyKind::PhysicalRead))
            || (self.redo_sync_is_bound && is_percentile(LatencyKind::RedoSync))
    }
}

/// Durations of all operations of the window, whatever their kind.
pub(crate) fn all_operations(record: &Record) -> Histogram {
    let mut all = Histogram::new();
    record.operations.values().for_each(|kind| all.merge(&kind.latency));
    all
}

/// In an open loop, response times of all operations of the window: from the intended start to the end. Else empty.
pub(crate) fn all_responses(record: &Record) -> Histogram {
    let mut all = Histogram::new();
    record.operations.values().for_each(|kind| all.merge(&kind.response));
    all
}

/// Mean in microseconds.
pub(crate) fn mean_us(histogram: &Histogram) -> Option<f64> {
    histogram.mean().map(|ns| ns / 1e3)
}

/// Percentile in microseconds; 100 is the largest value, exactly.
pub(crate) fn percentile_us(histogram: &Histogram, percent: f64) -> Option<f64> {
    histogram.percentile(percent).map(|ns| ns as f64 / 1e3)
}

/// Whether the database sorts such latencies into a few wide buckets, of which their histogram has the upper bounds.
pub(crate) fn is_coarse(record: &Record, kind: LatencyKind) -> bool {
    latency(record, kind).is_some() && exact(record, kind).is_some()
}

/// What the database counted exactly beside a coarse latency.
fn exact(record: &Record, kind: LatencyKind) -> Option<WaitTotal> {
    record.latencies.get(kind)?.exact
}

/// Mean of a latency that the database measured, in microseconds: of the values, never of the bounds of their buckets.
pub(crate) fn latency_mean_us(record: &Record, kind: LatencyKind) -> Option<f64> {
    let histogram = latency(record, kind)?;
    match exact(record, kind) {
        Some(exact) => ratio(exact.time_us as f64, exact.waits as f64),
        None => mean_us(histogram),
    }
}

/// All of a latency that the database measured, in seconds: of the values, never of the bounds of their buckets.
pub(crate) fn latency_sum_s(record: &Record, kind: LatencyKind) -> Option<f64> {
    let histogram = latency(record, kind)?;
    Some(match exact(record, kind) {
        Some(exact) => exact.time_us as f64 / 1e6,
        None => histogram.sum() as f64 / 1e9,
    })
}

/// Percentile of a latency that the database measured, in microseconds; where its buckets are wide, their upper bound.
pub(crate) fn latency_percentile_us(record: &Record, kind: LatencyKind, percent: f64) -> Option<f64> {
    let us = percentile_us(latency(record, kind)?, percent)?;
    Some(if is_coarse(record, kind) { bound_us(us) } else { us })
}

/// The bound that a value of our own narrow buckets was: a power of two in microseconds or in milliseconds, as databases have.
fn bound_us(us: f64) -> f64 {
    let power_of_two = |unit: f64| unit * (us / unit).log2().round().exp2();
    let candidates = [power_of_two(1.0), power_of_two(1e3)];
    let near = candidates.into_iter().filter(|bound| (bound - us).abs() <= us * BUCKET_WIDTH);
    near.min_by(|a, b| (a - us).abs().total_cmp(&(b - us).abs())).unwrap_or(us)
}

/// Width of our narrow buckets, as a share of their values.
const BUCKET_WIDTH: f64 = 1.0 / 64.0;

/// The time that the database counted for its reads, divided by the requests where these are counted.
fn counted_read_us(record: &Record) -> Option<f64> {
    let time_ns = counter(record, Counter::PhysicalReadTimeNs)?;
    let reads =
        counter(record, Counter::PhysicalReadRequests).or_else(|| counter(record, Counter::PhysicalReads))?;
    ratio(time_ns as f64 / 1e3, reads as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use rstest::rstest;
    use slob_measure::WaitTotal;

    #[test]
    fn reads_that_the_database_sorts_into_wide_buckets_have_an_exact_mean_and_bounds_as_percentiles() {
        let mut record = fixture::direct_read_run();
        let mut reads = Histogram::new();
        reads.record_n(256_000, 900);
        reads.record_n(512_000, 100);
        record.latencies.set(LatencyKind::PhysicalRead, reads);
        let as_measured = LatencyFigures::of(&record);
        assert!(!as_measured.physical_read_is_bound);
        assert_eq!(as_measured.physical_read_mean_us, Some(281.6));
        // 900 reads of 140 us and 100 of 300 us.
        fixture::with_exact(
            &mut record,
            LatencyKind::PhysicalRead,
            WaitTotal { waits: 1000, time_us: 156_000 },
        );
        let coarse = LatencyFigures::of(&record);
        assert!(coarse.physical_read_is_bound && !coarse.redo_sync_is_bound);
        assert_eq!(coarse.physical_read_mean_us, Some(156.0));
        assert!(coarse.is_bound("physical_read_p99_us") && !coarse.is_bound("physical_read_mean_us"));
        assert_eq!((coarse.physical_read_p50_us, coarse.physical_read_p99_us), (Some(256.0), Some(512.0)));
    }

    #[rstest]
    #[case(1, 1.0)]
    #[case(512, 512.0)]
    #[case(1000, 1000.0)]
    #[case(1024, 1024.0)]
    #[case(4_194_304, 4_194_304.0)]
    #[case(64_000, 64_000.0)]
    fn bounds_of_buckets_are_found_again(#[case] recorded_us: u64, #[case] bound: f64) {
        let mut histogram = Histogram::new();
        // The smallest and the largest would be exact.
        for ns in [1, recorded_us * 1000, recorded_us * 1000, u64::from(u32::MAX) << 8] {
            histogram.record(ns);
        }
        assert_eq!(bound_us(percentile_us(&histogram, 50.0).unwrap()), bound);
    }
}
