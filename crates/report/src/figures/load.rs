//! What the database did.

use crate::sums::total;
use slob_measure::{Counter, OpKind};
use slob_record::Record;

use crate::counters::{commits, counter, db_time_s, operations, physical_read_bytes, ratio};

/// What the database did, per second of the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadFigures {
    /// Operations of all kinds.
    pub operations: Option<u64>,
    /// Operations of all kinds, per second.
    pub operations_per_s: Option<f64>,
    /// SELECTs per second.
    pub selects_per_s: Option<f64>,
    /// UPDATEs, each with its commit, per second.
    pub updates_per_s: Option<f64>,
    /// Short scans per second.
    pub scans_per_s: Option<f64>,
    /// Rows that operations counted or changed, per second: one row lies in each block.
    pub rows_per_s: Option<f64>,
    /// Transactions committed, by the database's count or else the number of UPDATEs.
    pub commits: Option<u64>,
    /// Transactions committed, per second.
    pub commits_per_s: Option<f64>,
    /// Block visits in the buffer cache, per second.
    pub logical_reads_per_s: Option<f64>,
    /// Blocks that the buffer cache asked the operating system for, per second: the run's IOPS.
    pub physical_reads_per_s: Option<f64>,
    /// Requests made for these blocks, per second, where the database counts them apart.
    pub physical_read_requests_per_s: Option<f64>,
    /// Megabytes of physical reads per second.
    pub physical_read_mb_per_s: Option<f64>,
    /// Blocks of tables and indexes written, per second.
    pub physical_writes_per_s: Option<f64>,
    /// Megabytes of these blocks per second.
    pub physical_write_mb_per_s: Option<f64>,
    /// Writes to the log per second, where the database counts them.
    pub redo_writes_per_s: Option<f64>,
    /// Megabytes of log per second.
    pub redo_mb_per_s: Option<f64>,
    /// Times that the log was forced to stable storage, per second.
    pub redo_syncs_per_s: Option<f64>,
    /// Checkpoints completed, per second.
    pub checkpoints_per_s: Option<f64>,
    /// Block visits that needed no physical read, in percent of all.
    pub hit_percent: Option<f64>,
    /// Time that all sessions spent inside operations, in seconds.
    pub db_time_s: Option<f64>,
    /// DB time per second of the window: how many sessions were inside an operation, on average.
    pub average_active_sessions: Option<f64>,
}

impl LoadFigures {
    pub(super) fn of(record: &Record, window_s: f64) -> Self {
        let by_kind = operations(record);
        let kind = |kind| by_kind.as_ref().map(|by_kind| by_kind.get(&kind).copied().unwrap_or(0));
        let operations = by_kind.as_ref().map(|by_kind| total(by_kind.values().copied()));
        let rows = by_kind.as_ref().map(|_| total(record.operations.values().map(|kind| kind.rows)));
        let per_s = |amount: Option<u64>| amount.map(|amount| amount as f64 / window_s);
        let mb_per_s = |bytes: Option<u64>| per_s(bytes).map(|bytes| bytes / 1e6);
        let counted = |name| counter(record, name);
        let db_time_s = db_time_s(record);
        Self {
            operations,
            operations_per_s: per_s(operations),
            selects_per_s: per_s(kind(OpKind::Select)),
            updates_per_s: per_s(kind(OpKind::Update)),
            scans_per_s: per_s(kind(OpKind::Scan)),
            rows_per_s: per_s(rows),
            commits: commits(record),
            commits_per_s: per_s(commits(record)),
            logical_reads_per_s: per_s(counted(Counter::LogicalReads)),
            physical_reads_per_s: per_s(counted(Counter::PhysicalReads)),
            physical_read_requests_per_s: per_s(counted(Counter::PhysicalReadRequests)),
            physical_read_mb_per_s: mb_per_s(physical_read_bytes(record)),
            physical_writes_per_s: per_s(counted(Counter::PhysicalWrites)),
            physical_write_mb_per_s: per_s(counted(Counter::PhysicalWrites))
                .map(|blocks| blocks * f64::from(record.server.block_bytes) / 1e6),
            redo_writes_per_s: per_s(counted(Counter::RedoWrites)),
            redo_mb_per_s: mb_per_s(counted(Counter::RedoBytes)),
            redo_syncs_per_s: per_s(counted(Counter::RedoSyncs)),
            checkpoints_per_s: per_s(counted(Counter::Checkpoints)),
            hit_percent: hit_percent(counted(Counter::LogicalReads), counted(Counter::PhysicalReads)),
            db_time_s,
            average_active_sessions: db_time_s.map(|db_time_s| db_time_s / window_s),
        }
    }
}

/// Where blocks come in ahead of their visits, physical reads can exceed logical ones: that is a ratio of 0.
fn hit_percent(logical: Option<u64>, physical: Option<u64>) -> Option<f64> {
    let (logical, physical) = (logical? as f64, physical? as f64);
    ratio(100.0 * (logical - physical).max(0.0), logical)
}
