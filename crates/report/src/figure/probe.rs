//! What the device showed when it was probed without a database, and how near the run came to it.

use slob_measure::Counter;
use slob_record::SavedProbe;

use super::Get::Number;
use super::device::database_reads_per_s;
use super::measured::Measured;
use crate::counters::ratio;

const PROBE: &str = "the probe of the device that the record holds";
/// Above this a run shows that the probe did not find the ceiling: the rest may be what they differ by in time.
const ABOVE_PROBE_PERCENT: f64 = 105.0;

figures! { PROBED:
    /// The most random reads of one block per second of any step of the probe.
    CEILING_IOPS = "ceiling_iops", "Ceiling of the device (IOPS)", "1/s", Neither, PROBE,
        Number(ceiling_iops);
    /// Synchronous random reads per second at the run's number of sessions.
    SYNC_IOPS = "sync_iops", "Synchronous reads of the device (IOPS)", "1/s", Neither, PROBE,
        Number(sync_iops);
    /// The run's reads that the device served; where the device was not counted, the database's physical reads. Not known
    /// of a run that is above the probe.
    PERCENT_OF_CEILING = "percent_of_ceiling", "Of the device's ceiling (%)", "%", Neither, PROBE,
        Number(|run| of_ceiling(run).filter(credible));
    /// All reads of the device, whoever's, in blocks' worth of bytes; not known above the ceiling.
    DEVICE_PERCENT_OF_CEILING = "device_percent_of_ceiling", "All reads, of the device's ceiling (%)", "%", Neither, PROBE,
        Number(|run| device_of_ceiling(run).filter(credible));
    /// What the database costs.
    PERCENT_OF_SYNC = "percent_of_sync", "Of the device's synchronous reads (%)", "%", Neither, PROBE,
        Number(|run| ratio(100.0 * device_reads_per_s(run)?, sync_iops(run)?));
}

/// Whether the run had more reads than the probe's best step, by more than they may differ by chance.
pub(super) fn is_above(run: &Measured<'_>) -> bool {
    of_ceiling(run).is_some_and(|share| !credible(&share))
}

/// The probe, if it can be compared: what one without direct I/O had from the page cache is no ceiling of a device.
fn probe<'a>(run: &Measured<'a>) -> Option<&'a SavedProbe> {
    let fits = |probe: &&SavedProbe| {
        let plan = &probe.result.plan;
        plan.direct && plan.block_bytes == run.record.server.block_bytes
    };
    run.record.probe.as_ref().filter(fits)
}

fn ceiling_iops(run: &Measured<'_>) -> Option<f64> {
    probe(run)?.result.ceiling_iops()
}

fn sync_iops(run: &Measured<'_>) -> Option<f64> {
    probe(run)?.result.sync_iops_at(run.record.workload.sessions())
}

/// The run's reads, from the device as far as that is known.
fn device_reads_per_s(run: &Measured<'_>) -> Option<f64> {
    database_reads_per_s(run).or_else(|| run.counted_per_s(Counter::PhysicalReads))
}

fn of_ceiling(run: &Measured<'_>) -> Option<f64> {
    ratio(100.0 * device_reads_per_s(run)?, ceiling_iops(run)?)
}

fn device_of_ceiling(run: &Measured<'_>) -> Option<f64> {
    let block_mb = f64::from(run.record.server.block_bytes) / 1e6;
    let reads_per_s = ratio(run.device()?.used.read_mb_per_s(run.window_s)?, block_mb)?;
    ratio(100.0 * reads_per_s, ceiling_iops(run)?)
}

fn credible(share: &f64) -> bool {
    *share <= ABOVE_PROBE_PERCENT
}
