//! What a record's database counted.

use std::collections::BTreeMap;

use crate::latencies::all_operations;
use crate::sums::total;
use slob_host::ProcessIo;
use slob_measure::{Counter, LatencyKind, OpKind};
use slob_record::Record;
use slob_stats::Histogram;

/// A counter of the window; `None` if the database does not count it or there is no window.
pub(crate) fn counter(record: &Record, counter: Counter) -> Option<u64> {
    record.window?;
    record.counters.get(counter)
}

/// A latency of the window; `None` if the database does not measure it, or there was none.
pub(crate) fn latency(record: &Record, kind: LatencyKind) -> Option<&Histogram> {
    record.window?;
    record.latencies.get(kind).map(|latency| &latency.histogram).filter(|histogram| !histogram.is_empty())
}

/// Bytes that the database read physically: as counted, or else its blocks times their size.
pub(crate) fn physical_read_bytes(record: &Record) -> Option<u64> {
    let by_blocks =
        || counter(record, Counter::PhysicalReads)?.checked_mul(u64::from(record.server.block_bytes));
    counter(record, Counter::PhysicalReadBytes).or_else(by_blocks)
}

/// I/O of the database's own processes in the window, as the kernel counted it; an embedded one's is this process's. `None`
/// where they could not be looked at.
pub(crate) fn own_io(record: &Record) -> Option<ProcessIo> {
    record.window?;
    if record.server.embedded { record.client_io } else { record.db_io }
}

/// What the kernel fetched from storage for the database's own processes in the window, in bytes.
pub(crate) fn own_read_bytes(record: &Record) -> Option<u64> {
    own_io(record).map(|io| io.read_bytes)
}

/// Operations of the window by kind, or `None` if there was no window.
pub(crate) fn operations(record: &Record) -> Option<BTreeMap<OpKind, u64>> {
    record.window?;
    Some(record.operations.iter().map(|(kind, figures)| (*kind, figures.operations)).collect())
}

/// Transactions of the window: the database's count, or else the UPDATEs, each of which ends with a commit.
pub(crate) fn commits(record: &Record) -> Option<u64> {
    counter(record, Counter::Commits).or_else(|| operations(record)?.get(&OpKind::Update).copied())
}

/// Time within operations, summed over the sessions, in seconds; of a run that is still going on, whose sessions have not told
/// theirs, the sum of all durations, which is the same.
pub(crate) fn db_time_s(record: &Record) -> Option<f64> {
    record.window?;
    if record.sessions.is_empty() {
        return (!record.operations.is_empty()).then(|| all_operations(record).sum() as f64 / 1e9);
    }
    let busy_us = total(record.sessions.iter().map(|session| session.busy_us));
    Some(busy_us as f64 / 1e6)
}

/// `amount / of` where that means something.
pub(crate) fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}
