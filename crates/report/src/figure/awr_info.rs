//! What the columns of `awr_info` hold beside the figures that are here anyway.
//!
//! Its latencies are those of Oracle's wait events, which have names: where a record has an event of that name whose
//! waits were counted, the latency is its mean. Elsewhere the figure is the same thing as this database measured it,
//! or nothing. What the block device counted is never put in their place: behind a page cache it is a time of other
//! reads (it has a figure of its own, `device_read_await_us`).

use super::Get::Number;
use super::latency::read_mean_us;
use super::load::{read_mb_per_s, redo_mb_per_s, write_mb_per_s};
use super::measured::Measured;
use slob_measure::LatencyKind;

use crate::latencies::latency_mean_us;

figures! { AWR_INFO:
    PHYSICAL_READ_MIB_PER_S = "physical_read_mib_per_s", "Physical reads (MiB)", "MiB/s", Higher,
        "physical_read_mb_per_s in 2^20 bytes, as awr_info has it",
        Number(|run| read_mb_per_s(run).map(mib));
    PHYSICAL_WRITE_MIB_PER_S = "physical_write_mib_per_s", "Physical writes (MiB)", "MiB/s", Neither,
        "physical_write_mb_per_s in 2^20 bytes, as awr_info has it",
        Number(|run| write_mb_per_s(run).map(mib));
    REDO_MIB_PER_S = "redo_mib_per_s", "Redo (MiB)", "MiB/s", Neither,
        "redo_mb_per_s in 2^20 bytes, as awr_info has it",
        Number(|run| redo_mb_per_s(run).map(mib));
    SINGLE_READ_MEAN_US = "single_read_mean_us", "Wait for one block, mean", "us", Lower,
        "mean wait for one block: event 'db file sequential read', or else physical_read_mean_us",
        Number(|run| event_mean_us(run, "db file sequential read").or_else(|| read_mean_us(run)));
    DIRECT_READ_MEAN_US = "direct_read_mean_us", "Direct path read, mean", "us", Lower,
        "mean wait of event 'direct path read'",
        Number(|run| event_mean_us(run, "direct path read"));
    PARALLEL_READ_MEAN_US = "parallel_read_mean_us", "Parallel read, mean", "us", Lower,
        "mean wait of event 'db file parallel read'",
        Number(|run| event_mean_us(run, "db file parallel read"));
    BLOCK_WRITE_MEAN_US = "block_write_mean_us", "Write of blocks, mean", "us", Lower,
        "mean write of table and index blocks: event 'db file parallel write', or else as the database measured it",
        Number(|run| event_mean_us(run, "db file parallel write").or_else(|| latency_mean_us(run.record, LatencyKind::PhysicalWrite)));
    LOG_WRITE_MEAN_US = "log_write_mean_us", "Write of the log, mean", "us", Lower,
        "mean write of the log: event 'log file parallel write', or else redo_sync_mean_us",
        Number(|run| event_mean_us(run, "log file parallel write").or_else(|| latency_mean_us(run.record, LatencyKind::RedoSync)));
}

/// Its megabytes are 2^20 bytes.
fn mib(mb: f64) -> f64 {
    mb * 1e6 / 1_048_576.0
}

/// Mean of an event whose waits were counted; sampled events have no waits.
fn event_mean_us(run: &Measured<'_>, name: &str) -> Option<f64> {
    let events = || run.record.events.iter().filter(|event| event.name == name);
    // What sessions waited for, or else the server's own processes: those write blocks and log.
    let event = events().find(|event| !event.background).or_else(|| events().next())?;
    event.waits.filter(|waits| *waits > 0).map(|waits| event.time_us as f64 / waits as f64)
}
