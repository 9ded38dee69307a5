//! What a record's database counted.

use std::collections::BTreeMap;

use crate::sums::total;
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
    counter(record, Counter::Commits).or_else(|| operations(record)?.get(&OpKind::Update).copied())
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
