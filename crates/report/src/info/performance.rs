//! What the database did, and how long it took.

use slob_measure::LatencyKind;

use super::column::{Column, Columns};
use crate::figures::{all_operations, all_responses, latency_mean_us, mean_us, percentile_us};

const OURS: &str = "operations that ended in the window, counted by this program";
const COUNTED: &str = "the database's counters between two snapshots";
const TIMED: &str = "the duration of every operation of the window";
const RESPONSE: &str = "with RATE: from the moment at which an operation was due to its end";
const READS: &str = "physical reads, as the database timed them";
const SYNCS: &str = "forced writes of the log, as the database timed them";

macro_rules! figure {
    ($name:ident, $unit:literal, $source:expr, $group:ident) => {
        Column::number(stringify!($name), $unit, $source, |row| row.figures.$group.$name)
    };
}

pub(super) const LOAD: Columns = &[
    Column::count("operations", "", OURS, |row| row.figures.load.operations),
    figure!(operations_per_s, "1/s", OURS, load),
    figure!(selects_per_s, "1/s", OURS, load),
    figure!(updates_per_s, "1/s", OURS, load),
    figure!(scans_per_s, "1/s", OURS, load),
    figure!(rows_per_s, "1/s", "rows of these operations; one lies in each block", load),
    Column::count("commits", "", "the database's count, or else the UPDATEs", |row| row.figures.load.commits),
    figure!(commits_per_s, "1/s", "the database's count, or else the UPDATEs", load),
    figure!(logical_reads_per_s, "blocks/s", COUNTED, load),
    figure!(physical_reads_per_s, "blocks/s", COUNTED, load),
    figure!(physical_read_requests_per_s, "1/s", COUNTED, load),
    figure!(physical_read_mb_per_s, "MB/s", COUNTED, load),
    figure!(physical_writes_per_s, "blocks/s", COUNTED, load),
    figure!(physical_write_mb_per_s, "MB/s", COUNTED, load),
    figure!(redo_writes_per_s, "1/s", COUNTED, load),
    figure!(redo_mb_per_s, "MB/s", COUNTED, load),
    figure!(redo_syncs_per_s, "1/s", COUNTED, load),
    figure!(checkpoints_per_s, "1/s", COUNTED, load),
    figure!(hit_percent, "%", "logical reads that needed no physical one", load),
    figure!(db_time_s, "s", "time inside operations, all sessions together", load),
    figure!(
        average_active_sessions,
        "",
        "DB time per second: sessions inside an operation, on average",
        load
    ),
];

pub(super) const LATENCY: Columns = &[
    figure!(operation_mean_us, "us", TIMED, latency),
    figure!(operation_p50_us, "us", TIMED, latency),
    Column::number("operation_p90_us", "us", TIMED, |row| percentile_us(&all_operations(row.record), 90.0)),
    Column::number("operation_p95_us", "us", TIMED, |row| percentile_us(&all_operations(row.record), 95.0)),
    figure!(operation_p99_us, "us", TIMED, latency),
    figure!(operation_p999_us, "us", TIMED, latency),
    figure!(operation_max_us, "us", TIMED, latency),
    Column::number("response_mean_us", "us", RESPONSE, |row| mean_us(&all_responses(row.record))),
    Column::number("response_p50_us", "us", RESPONSE, |row| percentile_us(&all_responses(row.record), 50.0)),
    Column::number("response_p99_us", "us", RESPONSE, |row| percentile_us(&all_responses(row.record), 99.0)),
    Column::number("response_max_us", "us", RESPONSE, |row| percentile_us(&all_responses(row.record), 100.0)),
    Column::count(
        "backlog",
        "",
        "with RATE: operations that were due at the end of the window and not done",
        |row| row.record.backlog,
    ),
    figure!(
        physical_read_mean_us,
        "us",
        "physical reads, each as the database timed it, or else the time it counted for them by their number",
        latency
    ),
    figure!(physical_read_p50_us, "us", READS, latency),
    figure!(physical_read_p99_us, "us", READS, latency),
    Column::number("physical_write_mean_us", "us", "writes of blocks, as the database timed them", |row| {
        latency_mean_us(row.record, LatencyKind::PhysicalWrite)
    }),
    figure!(redo_sync_mean_us, "us", SYNCS, latency),
    figure!(redo_sync_p99_us, "us", SYNCS, latency),
];
