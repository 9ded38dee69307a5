//! Figures side by side.

use serde::Serialize;
use slob_stats::{Comparison, summary};

use crate::info::{self, Row};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better, as of rates.
    Higher,
    /// Less is better, as of latencies.
    Lower,
    /// It depends.
    Neither,
}

/// A figure on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// The section of the report that it belongs to.
    pub section: &'static str,
    /// The name of the [column](crate::info::Column) that it is.
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

/// A line of the report: column, title, which way is better.
type Line = (&'static str, &'static str, Better);

use Better::{Higher, Lower, Neither};

const LOAD: &[Line] = &[
    ("average_active_sessions", "DB time (s)", Neither),
    ("db_cpus", "DB CPU (s)", Neither),
    ("operations_per_s", "Operations", Higher),
    ("selects_per_s", "SELECTs", Higher),
    ("updates_per_s", "UPDATEs", Higher),
    ("scans_per_s", "Scans", Higher),
    ("rows_per_s", "Rows (one in each block)", Higher),
    ("logical_reads_per_s", "Logical reads (blocks)", Higher),
    ("physical_reads_per_s", "Physical reads (blocks)", Higher),
    ("physical_read_mb_per_s", "Physical reads (MB)", Higher),
    ("physical_writes_per_s", "Physical writes (blocks)", Neither),
    ("physical_write_mb_per_s", "Physical writes (MB)", Neither),
    ("redo_mb_per_s", "Redo (MB)", Neither),
    ("redo_syncs_per_s", "Redo syncs", Neither),
    ("commits_per_s", "Transactions", Higher),
];

const LATENCY: &[Line] = &[
    ("operation_mean_us", "Operation, mean", Lower),
    ("operation_p50_us", "Operation, p50", Lower),
    ("operation_p90_us", "Operation, p90", Lower),
    ("operation_p95_us", "Operation, p95", Lower),
    ("operation_p99_us", "Operation, p99", Lower),
    ("operation_p999_us", "Operation, p99.9", Lower),
    ("operation_max_us", "Operation, max", Lower),
    ("physical_read_mean_us", "Physical read, mean", Lower),
    ("physical_read_p50_us", "Physical read, p50", Lower),
    ("physical_read_p99_us", "Physical read, p99", Lower),
    ("redo_sync_mean_us", "Redo sync, mean", Lower),
    ("redo_sync_p99_us", "Redo sync, p99", Lower),
];

const COST: &[Line] = &[
    ("hit_percent", "Buffer cache hits (%)", Neither),
    ("host_busy_percent", "Host CPU busy (%)", Neither),
    ("host_steal_percent", "Host CPU stolen (%)", Lower),
    ("db_cpu_percent_of_db_time", "DB CPU (% of DB time)", Neither),
    ("physical_reads_per_db_cpu_s", "Physical reads per DB-CPU-s", Higher),
    ("logical_reads_per_db_cpu_s", "Logical reads per DB-CPU-s", Higher),
    ("db_cpu_us_per_physical_read", "DB CPU per physical read (us)", Lower),
    ("device_reads_per_s", "Device reads/s", Neither),
    ("device_read_mb_per_s", "Device read MB/s", Neither),
    ("device_read_await_us", "Device read await (us)", Lower),
    ("device_writes_per_s", "Device writes/s", Neither),
    ("device_write_mb_per_s", "Device write MB/s", Neither),
    ("device_write_await_us", "Device write await (us)", Lower),
    ("device_queue", "Device queue", Neither),
    ("device_busy_percent", "Device busy (%)", Neither),
    ("percent_of_ceiling", "Of the device's ceiling (%)", Neither),
];

/// Title, unit of the figures if they have one in common, lines.
pub(super) const SECTIONS: [(&str, &[Line]); 3] =
    [("Load profile (per second)", LOAD), ("Latency (us)", LATENCY), ("CPU and device", COST)];

/// Every figure that at least one side knows.
pub(super) fn compare(first: &[Row<'_>], second: &[Row<'_>], confidence: f64) -> Vec<Metric> {
    let lines = SECTIONS.iter().flat_map(|(section, lines)| lines.iter().map(move |line| (*section, line)));
    lines.filter_map(|(section, line)| metric(section, line, first, second, confidence)).collect()
}

fn metric(
    section: &'static str,
    (name, title, better): &Line,
    first: &[Row<'_>],
    second: &[Row<'_>],
    confidence: f64,
) -> Option<Metric> {
    let column = info::column(name)?;
    let of = |rows: &[Row<'_>]| -> Vec<f64> {
        rows.iter().filter_map(|row| column.value(row)?.as_number()).collect()
    };
    let (a, b) = (of(first), of(second));
    if a.is_empty() && b.is_empty() {
        return None;
    }
    let (mean_a, mean_b) = (summary::mean(&a), summary::mean(&b));
    let all_known = a.len() == first.len() && b.len() == second.len();
    let is_bound = first.iter().chain(second).any(|row| row.figures.latency.is_bound(name));
    Some(Metric {
        section,
        name: column.name,
        title,
        unit: column.unit,
        better: *better,
        first: mean_a,
        second: mean_b,
        difference_percent: mean_a
            .zip(mean_b)
            .and_then(|(a, b)| (a != 0.0).then(|| 100.0 * (b - a) / a.abs())),
        // A mean over some of the runs must not look like one over all, nor equal buckets like no noise.
        comparison: (all_known && !is_bound).then(|| compared(name, &a, &b, confidence)).flatten(),
    })
}

fn compared(name: &str, first: &[f64], second: &[f64], confidence: f64) -> Option<Comparison> {
    let comparison = Comparison::of(first, second, confidence)?;
    let is_percentile = name.contains("_p50") || name.contains("_p9");
    let interval = comparison
        .interval
        .map(|interval| if is_percentile { interval.widened(PERCENTILE_PERCENT) } else { interval });
    Some(Comparison { interval, ..comparison })
}
