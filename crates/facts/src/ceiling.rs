//! The ceiling of the device by a probe, and the share of it that a run reached.

use slob_host::{DurableWrite, GroupLimits};
use slob_measure::Counter;
use slob_record::{Record, SavedProbe};

use crate::format::limits;
use crate::measured::{Measured, device_counters, own_read_bytes, physical_read_bytes, ratio};
use crate::thresholds::ABOVE_PROBE;

/// A probe without direct I/O measured the page cache.
fn probe<'a>(run: &Measured<'a>) -> Option<&'a SavedProbe> {
    let block_bytes = run.record.server.block_bytes;
    let fits = |probe: &&SavedProbe| probe.result.plan.direct && probe.result.plan.block_bytes == block_bytes;
    run.record.probe.as_ref().filter(fits)
}

/// Limits of the probe's own control group, to which its ceilings may belong.
pub fn probe_limits(record: &Record) -> Option<&GroupLimits> {
    record.probe.as_ref()?.result.limits.as_ref()
}

/// Each figure of a probe within limits comes with this sentence.
pub fn limited_probe(record: &Record) -> Option<String> {
    let within = limits(probe_limits(record)?);
    Some(format!("the device of {} was probed within limits: {within}", record.id))
}

pub(crate) fn ceiling_iops(run: &Measured<'_>) -> Option<f64> {
    probe(run)?.result.ceiling_iops()
}

pub(crate) fn sync_iops(run: &Measured<'_>) -> Option<f64> {
    probe(run)?.result.sync_iops_at(run.record.workload.sessions())
}

/// Logs that can be flushed at once: a server has one, and writes it by one session at a time.
pub fn logs(record: &Record) -> u32 {
    let workload = &record.workload;
    if record.server.embedded { workload.schemas.get().min(workload.sessions()) } else { 1 }
}

/// Streams and flushes/s. Size of blocks and direct I/O are those of reads. The probe is not of a log's own device.
pub fn commits_of_device(record: &Record) -> Option<(u32, f64)> {
    if record.observed.iter().any(|server| server.log_device.is_some()) {
        return None;
    }
    record.probe.as_ref()?.result.durable_writes(DurableWrite::COMMIT, logs(record))
}

/// The least of all counts, in blocks' worth of bytes: reads from caches and of others are not in it.
pub(crate) fn database_reads_per_s(run: &Measured<'_>) -> Option<f64> {
    let device = device_counters(run.record)?;
    let limits = [Some(device.used.read_bytes), device.disk_read_bytes, own_read_bytes(run.record)];
    let bytes = limits.into_iter().flatten().fold(physical_read_bytes(run.record)?, u64::min);
    ratio(run.per_s(bytes), f64::from(run.record.server.block_bytes))
}

/// The database's physical reads if the device was not counted.
pub(crate) fn device_reads_per_s(run: &Measured<'_>) -> Option<f64> {
    database_reads_per_s(run).or_else(|| run.counted_per_s(Counter::PhysicalReads))
}

pub(crate) fn percent_of_ceiling(run: &Measured<'_>) -> Option<f64> {
    ratio(100.0 * device_reads_per_s(run)?, ceiling_iops(run)?)
}

pub(crate) fn device_percent_of_ceiling(run: &Measured<'_>) -> Option<f64> {
    let block_mb = f64::from(run.record.server.block_bytes) / 1e6;
    let read_mb_per_s = device_counters(run.record)?.used.read_mb_per_s(run.window_s)?;
    ratio(100.0 * ratio(read_mb_per_s, block_mb)?, ceiling_iops(run)?)
}

/// False if a run exceeds its probe by more than both differ in time.
pub(crate) fn is_credible(share: &f64) -> bool {
    *share <= ABOVE_PROBE.value
}
