//! Latencies of a record in microseconds: of operations, and those that the database measured.

use slob_measure::{LatencyKind, WaitTotal};
use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::{latency, ratio};

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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

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
