//! What the device did, and could have done.

use slob_record::{Record, SavedProbe};

use super::LoadFigures;
use crate::counters::{own_read_bytes, physical_read_bytes, ratio};

/// Above this a run shows that the probe did not find the ceiling: the rest may be what they differ by in time.
const ABOVE_PROBE_PERCENT: f64 = 105.0;

/// What the block device behind the data did in the window, for everybody on the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFigures {
    /// Reads per second, after merging.
    pub reads_per_s: Option<f64>,
    /// Megabytes read per second.
    pub read_mb_per_s: Option<f64>,
    /// Mean time of a read, queueing included (iostat's r_await).
    pub read_await_us: Option<f64>,
    /// Writes per second, after merging.
    pub writes_per_s: Option<f64>,
    /// Megabytes written per second.
    pub write_mb_per_s: Option<f64>,
    /// Mean time of a write, queueing included (iostat's w_await).
    pub write_await_us: Option<f64>,
    /// Mean number of requests in flight (iostat's aqu-sz).
    pub queue: Option<f64>,
    /// Share of the window with at least one request in flight, in percent.
    pub utilisation_percent: Option<f64>,
    /// Blocks' worth of bytes that the device read for the database, per second: the smallest of the database's
    /// physical reads, the device's reads, the reads of the disks below it, and what the kernel fetched for this
    /// process (embedded), as far as they are known. What a cache served is not in it, nor what others read.
    pub database_reads_per_s: Option<f64>,
    /// Megabytes per second that the device read for others than this run: beyond what this process had fetched
    /// (embedded), or beyond the database's physical reads.
    pub foreign_read_mb_per_s: Option<f64>,
}

impl DeviceFigures {
    pub(super) fn of(record: &Record, window_s: f64) -> Self {
        let device = record.host.as_ref().and_then(|host| host.device.as_ref());
        let Some(counters) = device.and_then(|device| device.counters) else { return Self::default() };
        let used = counters.used;
        let fetched_bytes = own_read_bytes(record);
        let own_bytes = fetched_bytes.or_else(|| physical_read_bytes(record));
        let limits = [Some(used.read_bytes), counters.disk_read_bytes, fetched_bytes];
        let from_device = |bytes: u64| limits.into_iter().flatten().fold(bytes, u64::min);
        let blocks_per_s = |bytes: u64| ratio(bytes as f64 / window_s, f64::from(record.server.block_bytes));
        let foreign = |own: u64| used.read_bytes.saturating_sub(own) as f64 / window_s / 1e6;
        Self {
            reads_per_s: used.reads_per_s(window_s),
            read_mb_per_s: used.read_mb_per_s(window_s),
            read_await_us: used.mean_read_us(),
            writes_per_s: used.writes_per_s(window_s),
            write_mb_per_s: used.write_mb_per_s(window_s),
            write_await_us: used.mean_write_us(),
            queue: used.mean_queue_length(window_s),
            utilisation_percent: used.utilisation_percent(window_s),
            database_reads_per_s: physical_read_bytes(record)
                .and_then(|bytes| blocks_per_s(from_device(bytes))),
            foreign_read_mb_per_s: own_bytes.map(foreign),
        }
    }
}

/// What the device showed when it was probed without a database, and how near the run came to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeFigures {
    /// The most random reads of one block per second of any step of the probe.
    pub ceiling_iops: Option<f64>,
    /// Synchronous random reads per second at the run's number of sessions.
    pub sync_iops: Option<f64>,
    /// The run's reads that the device served, in percent of the ceiling. Where the device was not counted, the
    /// database's physical reads. `None` too if the run is above the probe, see `run_is_above_probe`.
    pub percent_of_ceiling: Option<f64>,
    /// All reads of the device, whoever's, in blocks' worth of bytes and in percent of the ceiling; `None` above it.
    pub device_percent_of_ceiling: Option<f64>,
    /// Whether the run had more reads than the probe's best step, by more than they may differ by chance: then the
    /// probe did not find the ceiling, and no share of it is known.
    pub run_is_above_probe: bool,
    /// The same in percent of the synchronous rate at the run's number of sessions: what the database costs.
    pub percent_of_sync: Option<f64>,
}

impl ProbeFigures {
    pub(super) fn of(record: &Record, load: &LoadFigures, device: &DeviceFigures) -> Self {
        // What a probe without direct I/O had from the page cache is no ceiling of a device.
        let fits = |probe: &&SavedProbe| {
            let plan = &probe.result.plan;
            plan.direct && plan.block_bytes == record.server.block_bytes
        };
        let Some(probe) = record.probe.as_ref().filter(fits) else { return Self::default() };
        let ceiling_iops = probe.result.ceiling_iops();
        let sync_iops = probe.result.sync_iops_at(record.workload.sessions());
        let reads_per_s = device.database_reads_per_s.or(load.physical_reads_per_s);
        let block_mb = f64::from(record.server.block_bytes) / 1e6;
        let all_per_s = device.read_mb_per_s.and_then(|mb| ratio(mb, block_mb));
        let percent_of = |reads: Option<f64>, limit: Option<f64>| ratio(100.0 * reads?, limit?);
        let credible = |share: &f64| *share <= ABOVE_PROBE_PERCENT;
        let of_ceiling = percent_of(reads_per_s, ceiling_iops);
        Self {
            ceiling_iops,
            sync_iops,
            percent_of_ceiling: of_ceiling.filter(credible),
            device_percent_of_ceiling: percent_of(all_per_s, ceiling_iops).filter(credible),
            run_is_above_probe: of_ceiling.is_some_and(|share| !credible(&share)),
            percent_of_sync: percent_of(reads_per_s, sync_iops),
        }
    }
}
