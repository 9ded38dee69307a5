//! Figures side by side.

use serde::Serialize;
use slob_stats::{Comparison, PercentInterval, summary};

use crate::Confidence;
use crate::figure::{self, Better, Figure, Figures};

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The section of the report that it belongs to.
    pub section: &'static str,
    /// The name of the [figure](crate::Figure) that it is.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Of the first side: the mean of those runs that know it.
    pub first: Option<f64>,
    /// Of the second side.
    pub second: Option<f64>,
    /// The difference of these means in percent of the first; absent if one is not known or the first is 0.
    pub difference_percent: Option<f64>,
    /// What the repeats say of it; absent if a run does not know it, or has a 0 or less.
    pub comparison: Option<Comparison>,
}

/// How far the ratio of two percentiles of a histogram can be from the true one, in percent: each is within 1/128 of its
/// own. Runs whose percentiles fall into the same bucket would otherwise seem to have no noise at all.
const PERCENTILE_PERCENT: f64 = 1.6;

/// The sections of the report, with their figures in its order.
pub(super) const SECTIONS: [(&str, &[Figure]); 3] = [
    (
        "Load profile (per second)",
        &[
            figure::AVERAGE_ACTIVE_SESSIONS,
            figure::DB_CPUS,
            figure::OPERATIONS_PER_S,
            figure::SELECTS_PER_S,
            figure::UPDATES_PER_S,
            figure::SCANS_PER_S,
            figure::ROWS_PER_S,
            figure::LOGICAL_READS_PER_S,
            figure::PHYSICAL_READS_PER_S,
            figure::PHYSICAL_READ_MB_PER_S,
            figure::PHYSICAL_WRITES_PER_S,
            figure::PHYSICAL_WRITE_MB_PER_S,
            figure::REDO_MB_PER_S,
            figure::REDO_SYNCS_PER_S,
            figure::COMMITS_PER_S,
        ],
    ),
    (
        "Latency (us)",
        &[
            figure::OPERATION_MEAN_US,
            figure::OPERATION_P50_US,
            figure::OPERATION_P90_US,
            figure::OPERATION_P95_US,
            figure::OPERATION_P99_US,
            figure::OPERATION_P999_US,
            figure::OPERATION_MAX_US,
            figure::PHYSICAL_READ_MEAN_US,
            figure::PHYSICAL_READ_P50_US,
            figure::PHYSICAL_READ_P99_US,
            figure::REDO_SYNC_MEAN_US,
            figure::REDO_SYNC_P99_US,
        ],
    ),
    (
        "CPU and device",
        &[
            figure::HIT_PERCENT,
            figure::HOST_BUSY_PERCENT,
            figure::HOST_STEAL_PERCENT,
            figure::DB_CPU_PERCENT_OF_DB_TIME,
            figure::PHYSICAL_READS_PER_DB_CPU_S,
            figure::LOGICAL_READS_PER_DB_CPU_S,
            figure::DB_CPU_US_PER_PHYSICAL_READ,
            figure::DEVICE_READS_PER_S,
            figure::DEVICE_READ_MB_PER_S,
            figure::DEVICE_READ_AWAIT_US,
            figure::DEVICE_WRITES_PER_S,
            figure::DEVICE_WRITE_MB_PER_S,
            figure::DEVICE_WRITE_AWAIT_US,
            figure::DEVICE_QUEUE,
            figure::DEVICE_BUSY_PERCENT,
            figure::PERCENT_OF_CEILING,
        ],
    ),
];

/// Every figure that at least one side knows.
pub(super) fn compare(first: &[Figures<'_>], second: &[Figures<'_>], confidence: Confidence) -> Vec<Metric> {
    let metric = |section, figure| metric(section, figure, first, second, confidence);
    SECTIONS
        .iter()
        .flat_map(|(section, figures)| figures.iter().filter_map(|figure| metric(section, figure)))
        .collect()
}

fn metric(
    section: &'static str,
    figure: &Figure,
    first: &[Figures<'_>],
    second: &[Figures<'_>],
    confidence: Confidence,
) -> Option<Metric> {
    let of = |runs: &[Figures<'_>]| -> Vec<f64> { runs.iter().filter_map(|run| figure.of(run)).collect() };
    let (a, b) = (of(first), of(second));
    if a.is_empty() && b.is_empty() {
        return None;
    }
    let (mean_a, mean_b) = (summary::mean(&a), summary::mean(&b));
    let all_known = a.len() == first.len() && b.len() == second.len();
    let is_bound = first.iter().chain(second).any(|run| figure.is_bound(run));
    Some(Metric {
        section,
        name: figure.name,
        title: figure.title,
        unit: figure.unit,
        better: figure.better,
        first: mean_a,
        second: mean_b,
        difference_percent: mean_a
            .zip(mean_b)
            .and_then(|(a, b)| (a != 0.0).then(|| 100.0 * (b - a) / a.abs())),
        // A mean over some of the runs must not look like one over all, nor equal buckets like no noise.
        comparison: (all_known && !is_bound).then(|| compared(figure, &a, &b, confidence)).flatten(),
    })
}

fn compared(figure: &Figure, first: &[f64], second: &[f64], confidence: Confidence) -> Option<Comparison> {
    let comparison = Comparison::of(first, second, confidence.ratio())?;
    let widened = |interval: PercentInterval| match figure.is_percentile() {
        true => interval.widened(PERCENTILE_PERCENT),
        false => interval,
    };
    Some(Comparison { interval: comparison.interval.map(widened), ..comparison })
}
