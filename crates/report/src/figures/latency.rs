//! How long things took.

use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::{
    PHYSICAL_READ, PHYSICAL_READ_REQUESTS, PHYSICAL_READ_TIME_NS, PHYSICAL_READS, REDO_SYNC, counter,
    latency, ratio,
};

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
    /// Mean of physical reads: of the measured ones, or else the time counted for them by their number.
    pub physical_read_mean_us: Option<f64>,
    /// Median of physical reads.
    pub physical_read_p50_us: Option<f64>,
    /// What 99 % of physical reads kept.
    pub physical_read_p99_us: Option<f64>,
    /// Mean of forced log writes.
    pub redo_sync_mean_us: Option<f64>,
    /// What 99 % of forced log writes kept.
    pub redo_sync_p99_us: Option<f64>,
}

impl LatencyFigures {
    pub(super) fn of(record: &Record) -> Self {
        let operations = all_operations(record);
        let reads = latency(record, PHYSICAL_READ);
        let syncs = latency(record, REDO_SYNC);
        Self {
            operation_mean_us: mean_us(&operations),
            operation_p50_us: percentile_us(&operations, 50.0),
            operation_p99_us: percentile_us(&operations, 99.0),
            operation_p999_us: percentile_us(&operations, 99.9),
            operation_max_us: percentile_us(&operations, 100.0),
            physical_read_mean_us: reads.and_then(mean_us).or_else(|| counted_read_us(record)),
            physical_read_p50_us: reads.and_then(|reads| percentile_us(reads, 50.0)),
            physical_read_p99_us: reads.and_then(|reads| percentile_us(reads, 99.0)),
            redo_sync_mean_us: syncs.and_then(mean_us),
            redo_sync_p99_us: syncs.and_then(|syncs| percentile_us(syncs, 99.0)),
        }
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

/// The time that the database counted for its reads, divided by the requests where these are counted.
fn counted_read_us(record: &Record) -> Option<f64> {
    let time_ns = counter(record, PHYSICAL_READ_TIME_NS)?;
    let reads = counter(record, PHYSICAL_READ_REQUESTS).or_else(|| counter(record, PHYSICAL_READS))?;
    ratio(time_ns as f64 / 1e3, reads as f64)
}
