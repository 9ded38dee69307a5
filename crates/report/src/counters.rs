//! What a record's database counted, by name.

use std::collections::BTreeMap;

use crate::sums::total;
use slob_record::{OpKind, Record};
use slob_stats::Histogram;

pub(crate) const LOGICAL_READS: &str = "logical_reads";
pub(crate) const PHYSICAL_READS: &str = "physical_reads";
pub(crate) const PHYSICAL_READ_REQUESTS: &str = "physical_read_requests";
pub(crate) const PHYSICAL_READ_BYTES: &str = "physical_read_bytes";
pub(crate) const PHYSICAL_READ_TIME_NS: &str = "physical_read_time_ns";
pub(crate) const PHYSICAL_WRITES: &str = "physical_writes";
pub(crate) const REDO_BYTES: &str = "redo_bytes";
pub(crate) const REDO_WRITES: &str = "redo_writes";
pub(crate) const REDO_SYNCS: &str = "redo_syncs";
pub(crate) const COMMITS: &str = "commits";
pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// Name of the latency of one physical read.
pub(crate) const PHYSICAL_READ: &str = "physical_read";
/// Name of the latency of one physical write.
pub(crate) const PHYSICAL_WRITE: &str = "physical_write";
/// Name of the latency of one forced write of the log.
pub(crate) const REDO_SYNC: &str = "redo_sync";

/// A counter of the window; `None` if the database does not count it or there is no window.
pub(crate) fn counter(record: &Record, name: &str) -> Option<u64> {
    record.window?;
    record.counters.get(name).copied()
}

/// A latency of the window; `None` if the database does not measure it, or there was none.
pub(crate) fn latency<'a>(record: &'a Record, name: &str) -> Option<&'a Histogram> {
    record.window?;
    record.latencies.get(name).filter(|histogram| !histogram.is_empty())
}

/// Bytes that the database read physically: as counted, or else its blocks times their size.
pub(crate) fn physical_read_bytes(record: &Record) -> Option<u64> {
    let by_blocks = || counter(record, PHYSICAL_READS)?.checked_mul(u64::from(record.server.block_bytes));
    counter(record, PHYSICAL_READ_BYTES).or_else(by_blocks)
}

/// What the kernel fetched from storage for this process in the window, in bytes, where the database is embedded in
/// it; `None` for servers, whose reads are other processes'.
pub(crate) fn own_read_bytes(record: &Record) -> Option<u64> {
    record.window?;
    record.client_io.filter(|_| record.server.embedded).map(|io| io.read_bytes)
}

/// Operations of the window by kind, or `None` if there was no window.
pub(crate) fn operations(record: &Record) -> Option<BTreeMap<OpKind, u64>> {
    record.window?;
    Some(record.operations.iter().map(|(kind, figures)| (*kind, figures.operations)).collect())
}

/// Transactions of the window: the database's count, or else the UPDATEs, each of which ends with a commit.
pub(crate) fn commits(record: &Record) -> Option<u64> {
    counter(record, COMMITS).or_else(|| operations(record)?.get(&OpKind::Update).copied())
}

/// Time within operations, summed over the sessions, in seconds.
pub(crate) fn db_time_s(record: &Record) -> Option<f64> {
    record.window?;
    let busy_us = || total(record.sessions.iter().map(|session| session.busy_us));
    (!record.sessions.is_empty()).then(|| busy_us() as f64 / 1e6)
}

/// `amount / of` where that means something.
pub(crate) fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}
