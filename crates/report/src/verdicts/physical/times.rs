//! How long the database waited for its reads, beside how long the device took for those that it served.

use slob_measure::Counter;
use slob_record::Record;

use super::{Answer, Finding, MOSTLY_CACHED, Verdict};
use crate::counters::{counter, physical_read_bytes, ratio};
use crate::figure::{self, Figures};
use crate::format::{duration_us, percent};

/// No device has a block within this time, in microseconds: it is that of a copy from memory.
const MEMORY_US: f64 = 8.0;

/// What is said of reads of which only the device's total is known, through a page cache: somebody else's may stand in it
/// for those that the cache served. Nothing, if the database waited for its reads as long as the device takes.
pub(super) fn behind_the_total(record: &Record, figures: &Figures<'_>) -> Option<Finding> {
    if record.server.direct_io == Some(true) {
        return None;
    }
    let Some(times) = Times::of(record, figures) else {
        return Some(Finding::new(
            Answer::Doubt,
            "Not certain: only the device's total is known, which includes everyone's reads; this user may not read \
             the counters of the server's processes (/proc/PID/io), and the database does not time its reads. Run as root or as \
             the server's account.",
        ));
    };
    (times.share < MOSTLY_CACHED).then(|| times.contradiction())
}

/// What the database's own clock adds where nobody else saw the reads, whose verdict is `unseen`. That they took as long as a
/// device takes proves nothing; that they took no longer than memory shows that most were not physical.
pub(super) fn without_witness(figures: &Figures<'_>, unseen: Verdict) -> Verdict {
    let Some(mean_us) = figure::PHYSICAL_READ_MEAN_US.of(figures) else { return unseen };
    let took = format!("a read took the database {} on average by its own clock", duration_us(mean_us));
    if mean_us >= MEMORY_US {
        return unseen.with_detail(format!("No proof, but no contradiction: {took}."));
    }
    let cached = format!(
        "Not certain: {took}, which is memory's time: a cache below the database served most of them."
    );
    unseen.qualified_by(vec![Finding::new(Answer::Doubt, cached)])
}

struct Times {
    /// Mean of the database's reads.
    mean_us: f64,
    /// Mean of the device's.
    await_us: f64,
    /// The reads that the device can have served in the time that the database waited, as a share of all.
    share: f64,
}

impl Times {
    fn of(record: &Record, figures: &Figures<'_>) -> Option<Self> {
        let used = record.host.as_ref()?.device.as_ref()?.counters?.used;
        let mean_us = figure::PHYSICAL_READ_MEAN_US.of(figures)?;
        let await_us = figure::DEVICE_READ_AWAIT_US.of(figures)?;
        let reads = counter(record, Counter::PhysicalReadRequests)
            .or_else(|| counter(record, Counter::PhysicalReads))?;
        // The system reads ahead in larger requests: each that was waited for brings that much.
        let served =
            ratio(mean_us * reads as f64, await_us)? * ratio(used.read_bytes as f64, used.reads as f64)?;
        Some(Self { mean_us, await_us, share: ratio(served, physical_read_bytes(record)? as f64)? })
    }

    fn contradiction(&self) -> Finding {
        let (mean, device) = (duration_us(self.mean_us), duration_us(self.await_us));
        let others = percent(100.0 * (1.0 - self.share));
        if self.mean_us < MEMORY_US {
            return Finding::new(
                Answer::Bad,
                format!(
                    "No: a read took the database {mean}, which is memory speed; the device took {device}. Your OS \
                     page cache served {others} % of these reads or more; what the device read was for others."
                ),
            );
        }
        Finding::new(
            Answer::Doubt,
            format!(
                "Not certain: a read took the database {mean}, and the device {device}: {others} % of these reads \
                 were not waited for. Either a cache served them and the device's total includes others' reads, or \
                 they were read ahead."
            ),
        )
    }
}
