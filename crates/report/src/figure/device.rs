//! What the block device behind the data did in the window, for everybody on the host.

use slob_host::DeviceCounters;

use super::Get::Number;
use super::measured::Measured;
use crate::counters::{own_read_bytes, physical_read_bytes, ratio};

const KERNEL: &str = "the kernel's counters of the device, for everybody on the host";

figures! { DEVICE:
    /// After merging.
    DEVICE_READS_PER_S = "device_reads_per_s", "Device reads/s", "1/s", Neither, KERNEL,
        Number(|run| run.device()?.used.reads_per_s(run.seen_s()));
    DEVICE_READ_MB_PER_S = "device_read_mb_per_s", "Device read MB/s", "MB/s", Neither, KERNEL,
        Number(|run| run.device()?.used.read_mb_per_s(run.seen_s()));
    /// Queueing included (iostat's r_await).
    DEVICE_READ_AWAIT_US = "device_read_await_us", "Device read await (us)", "us", Lower, KERNEL,
        Number(|run| run.device()?.used.mean_read_us());
    /// After merging.
    DEVICE_WRITES_PER_S = "device_writes_per_s", "Device writes/s", "1/s", Neither, KERNEL,
        Number(|run| run.device()?.used.writes_per_s(run.seen_s()));
    DEVICE_WRITE_MB_PER_S = "device_write_mb_per_s", "Device write MB/s", "MB/s", Neither, KERNEL,
        Number(|run| run.device()?.used.write_mb_per_s(run.seen_s()));
    /// Queueing included (iostat's w_await).
    DEVICE_WRITE_AWAIT_US = "device_write_await_us", "Device write await (us)", "us", Lower, KERNEL,
        Number(|run| run.device()?.used.mean_write_us());
    /// Mean number of requests in flight (iostat's aqu-sz).
    DEVICE_QUEUE = "device_queue", "Device queue", "", Neither, KERNEL,
        Number(|run| run.device()?.used.mean_queue_length(run.seen_s()));
    /// Share of the window with at least one request in flight.
    DEVICE_BUSY_PERCENT = "device_busy_percent", "Device busy (%)", "%", Neither, KERNEL,
        Number(|run| run.device()?.used.utilisation_percent(run.seen_s()));
    /// Blocks' worth of bytes that the device read for the database: the smallest of the database's physical reads, the
    /// device's reads, the reads of the disks below it, and what the kernel fetched for the database's processes, as far
    /// as they are known. What a cache served is not in it, nor what others read.
    DATABASE_READS_PER_S = "database_reads_per_s", "Device reads for the database (blocks)", "blocks/s", Higher,
        "reads that the device served for the database",
        Number(database_reads_per_s);
    /// Beyond what the database's processes had fetched, or else beyond the database's physical reads.
    FOREIGN_READ_MB_PER_S = "foreign_read_mb_per_s", "Device read MB/s for others", "MB/s", Lower,
        "reads of the device for others than this run",
        Number(foreign_read_mb_per_s);
}

pub(super) fn database_reads_per_s(run: &Measured<'_>) -> Option<f64> {
    let DeviceCounters { used, disk_read_bytes, .. } = run.device()?;
    let limits = [Some(used.read_bytes), disk_read_bytes, own_read_bytes(run.record)];
    let bytes = limits.into_iter().flatten().fold(physical_read_bytes(run.record)?, u64::min);
    ratio(run.per_s(bytes), f64::from(run.record.server.block_bytes))
}

fn foreign_read_mb_per_s(run: &Measured<'_>) -> Option<f64> {
    let own = own_read_bytes(run.record).or_else(|| physical_read_bytes(run.record))?;
    Some(run.per_s(run.device()?.used.read_bytes.saturating_sub(own)) / 1e6)
}
