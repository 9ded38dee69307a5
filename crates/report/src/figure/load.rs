//! What the database did.

use slob_measure::{Counter, OpKind};

use super::Get::{Count, Number};
use super::measured::Measured;
use crate::counters::{commits, db_time_s, physical_read_bytes, ratio};
use crate::sums::total;

const OURS: &str = "operations that ended in the window, counted by this program";
const COUNTED: &str = "the database's counters between two snapshots";
const COMMITTED: &str = "the database's count, or else the UPDATEs";

figures! { LOAD:
    OPERATIONS = "operations", "Operations of the window", "", Neither, OURS,
        Count(|run| Some(operations(run)));
    OPERATIONS_PER_S = "operations_per_s", "Operations", "1/s", Higher, OURS,
        Number(|run| Some(run.per_s(operations(run))));
    SELECTS_PER_S = "selects_per_s", "SELECTs", "1/s", Higher, OURS,
        Number(|run| Some(run.per_s(of_kind(run, OpKind::Select))));
    /// Each with its commit.
    UPDATES_PER_S = "updates_per_s", "UPDATEs", "1/s", Higher, OURS,
        Number(|run| Some(run.per_s(of_kind(run, OpKind::Update))));
    SCANS_PER_S = "scans_per_s", "Scans", "1/s", Higher, OURS,
        Number(|run| Some(run.per_s(of_kind(run, OpKind::Scan))));
    ROWS_PER_S = "rows_per_s", "Rows (one per block)", "1/s", Higher,
        "rows of these operations; each block holds one",
        Number(|run| Some(run.per_s(total(run.record.operations.values().map(|kind| kind.rows)))));
    COMMITS = "commits", "Transactions of the window", "", Neither, COMMITTED,
        Count(|run| commits(run.record));
    COMMITS_PER_S = "commits_per_s", "Transactions", "1/s", Higher, COMMITTED,
        Number(|run| commits(run.record).map(|commits| run.per_s(commits)));
    /// Block visits in the buffer cache.
    LOGICAL_READS_PER_S = "logical_reads_per_s", "Logical reads (blocks)", "blocks/s", Higher, COUNTED,
        Number(|run| run.counted_per_s(Counter::LogicalReads));
    /// Blocks that the buffer cache asked the operating system for: the run's IOPS.
    PHYSICAL_READS_PER_S = "physical_reads_per_s", "Physical reads (blocks)", "blocks/s", Higher, COUNTED,
        Number(|run| run.counted_per_s(Counter::PhysicalReads));
    /// Requests made for these blocks, where the database counts them apart.
    PHYSICAL_READ_REQUESTS_PER_S = "physical_read_requests_per_s", "Physical read requests", "1/s", Neither, COUNTED,
        Number(|run| run.counted_per_s(Counter::PhysicalReadRequests));
    PHYSICAL_READ_MB_PER_S = "physical_read_mb_per_s", "Physical reads (MB)", "MB/s", Higher, COUNTED,
        Number(read_mb_per_s);
    /// Blocks of tables and indexes.
    PHYSICAL_WRITES_PER_S = "physical_writes_per_s", "Physical writes (blocks)", "blocks/s", Neither, COUNTED,
        Number(|run| run.counted_per_s(Counter::PhysicalWrites));
    PHYSICAL_WRITE_MB_PER_S = "physical_write_mb_per_s", "Physical writes (MB)", "MB/s", Neither, COUNTED,
        Number(write_mb_per_s);
    /// Writes to the log, where the database counts them.
    REDO_WRITES_PER_S = "redo_writes_per_s", "Redo writes", "1/s", Neither, COUNTED,
        Number(|run| run.counted_per_s(Counter::RedoWrites));
    REDO_MB_PER_S = "redo_mb_per_s", "Redo (MB)", "MB/s", Neither, COUNTED,
        Number(redo_mb_per_s);
    /// Times that the log was forced to stable storage.
    REDO_SYNCS_PER_S = "redo_syncs_per_s", "Redo syncs", "1/s", Neither, COUNTED,
        Number(|run| run.counted_per_s(Counter::RedoSyncs));
    CHECKPOINTS_PER_S = "checkpoints_per_s", "Checkpoints", "1/s", Neither, COUNTED,
        Number(|run| run.counted_per_s(Counter::Checkpoints));
    HIT_PERCENT = "hit_percent", "Buffer cache hits (%)", "%", Neither, "logical reads that needed no physical one",
        Number(hit_percent);
    DB_TIME_S = "db_time_s", "DB time of the window (s)", "s", Neither,
        "time inside operations, all sessions together",
        Number(|run| db_time_s(run.record));
    AVERAGE_ACTIVE_SESSIONS = "average_active_sessions", "DB time (s)", "", Neither,
        "DB time per second: sessions inside an operation, on average",
        Number(|run| Some(db_time_s(run.record)? / run.window_s));
}

fn operations(run: &Measured<'_>) -> u64 {
    total(run.record.operations.values().map(|kind| kind.operations))
}

fn of_kind(run: &Measured<'_>, kind: OpKind) -> u64 {
    run.record.operations.get(&kind).map_or(0, |kind| kind.operations)
}

pub(super) fn read_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    physical_read_bytes(run.record).map(|bytes| run.per_s(bytes) / 1e6)
}

pub(super) fn write_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    let block_bytes = f64::from(run.record.server.block_bytes);
    run.counted_per_s(Counter::PhysicalWrites).map(|blocks| blocks * block_bytes / 1e6)
}

pub(super) fn redo_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    run.counted_per_s(Counter::RedoBytes).map(|bytes| bytes / 1e6)
}

/// Where blocks come in ahead of their visits, physical reads can exceed logical ones: that is a ratio of 0.
fn hit_percent(run: &Measured<'_>) -> Option<f64> {
    let (logical, physical) = (run.counted(Counter::LogicalReads)?, run.counted(Counter::PhysicalReads)?);
    ratio(100.0 * (logical - physical).max(0.0), logical)
}
