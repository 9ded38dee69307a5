//! How long things took.

use super::Get::{Count, Number, Percentile};
use super::Latencies::{Database, Operations, Responses};
use super::measured::Measured;
use crate::counters::ratio;
use crate::latencies::{latency_mean_us, mean_us};
use slob_measure::{Counter, LatencyKind};

const TIMED: &str = "the duration of every operation of the window";
const RESPONSE: &str = "with RATE: from the moment at which an operation was due to its end";
const READS: &str = "physical reads, as the database timed them";
const SYNCS: &str = "forced writes of the log, as the database timed them";

figures! { LATENCY:
    OPERATION_MEAN_US = "operation_mean_us", "Operation, mean", "us", Lower, TIMED,
        Number(|run| mean_us(run.operations()));
    OPERATION_P50_US = "operation_p50_us", "Operation, p50", "us", Lower, TIMED, Percentile(Operations, 50.0);
    OPERATION_P90_US = "operation_p90_us", "Operation, p90", "us", Lower, TIMED, Percentile(Operations, 90.0);
    OPERATION_P95_US = "operation_p95_us", "Operation, p95", "us", Lower, TIMED, Percentile(Operations, 95.0);
    OPERATION_P99_US = "operation_p99_us", "Operation, p99", "us", Lower, TIMED, Percentile(Operations, 99.0);
    OPERATION_P999_US = "operation_p999_us", "Operation, p99.9", "us", Lower, TIMED, Percentile(Operations, 99.9);
    OPERATION_MAX_US = "operation_max_us", "Operation, max", "us", Lower, TIMED, Percentile(Operations, 100.0);
    RESPONSE_MEAN_US = "response_mean_us", "Response, mean", "us", Lower, RESPONSE,
        Number(|run| mean_us(run.responses()));
    RESPONSE_P50_US = "response_p50_us", "Response, p50", "us", Lower, RESPONSE, Percentile(Responses, 50.0);
    RESPONSE_P99_US = "response_p99_us", "Response, p99", "us", Lower, RESPONSE, Percentile(Responses, 99.0);
    RESPONSE_MAX_US = "response_max_us", "Response, max", "us", Lower, RESPONSE, Percentile(Responses, 100.0);
    BACKLOG = "backlog", "Operations due and not done", "", Lower,
        "with RATE: operations that were due at the end of the window and not done",
        Count(|run| run.record.backlog);
    /// Exact also where percentiles are bounds.
    PHYSICAL_READ_MEAN_US = "physical_read_mean_us", "Physical read, mean", "us", Lower,
        "physical reads, each as the database timed it, or else the time it counted for them by their number",
        Number(read_mean_us);
    PHYSICAL_READ_P50_US = "physical_read_p50_us", "Physical read, p50", "us", Lower, READS,
        Percentile(Database(LatencyKind::PhysicalRead), 50.0);
    PHYSICAL_READ_P99_US = "physical_read_p99_us", "Physical read, p99", "us", Lower, READS,
        Percentile(Database(LatencyKind::PhysicalRead), 99.0);
    PHYSICAL_WRITE_MEAN_US = "physical_write_mean_us", "Physical write, mean", "us", Lower,
        "writes of blocks, as the database timed them",
        Number(|run| latency_mean_us(run.record, LatencyKind::PhysicalWrite));
    REDO_SYNC_MEAN_US = "redo_sync_mean_us", "Redo sync, mean", "us", Lower, SYNCS,
        Number(|run| latency_mean_us(run.record, LatencyKind::RedoSync));
    REDO_SYNC_P99_US = "redo_sync_p99_us", "Redo sync, p99", "us", Lower, SYNCS,
        Percentile(Database(LatencyKind::RedoSync), 99.0);
}

/// Of reads that the database timed one by one, or else the time that it counted for them by the requests, where these
/// are counted.
pub(super) fn read_mean_us(run: &Measured<'_>) -> Option<f64> {
    let counted = || {
        let time_ns = run.counted(Counter::PhysicalReadTimeNs)?;
        let reads =
            run.counted(Counter::PhysicalReadRequests).or_else(|| run.counted(Counter::PhysicalReads))?;
        ratio(time_ns / 1e3, reads)
    };
    latency_mean_us(run.record, LatencyKind::PhysicalRead).or_else(counted)
}
