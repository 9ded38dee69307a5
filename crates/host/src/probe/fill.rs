//! Filling the scratch file, which is the sequential write step too.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use slob_stats::Histogram;

use super::plan::{FILL_BYTES, ProbePlan, StepKind, StepPlan};
use super::random::Random;
use super::result::{IoInterface, Measured, ProbeStep};
use super::{ProbeEvent, nanoseconds};
use crate::buffer::AlignedBuffer;
use crate::scratch::Scratch;
use crate::{HostError, own_cpu};

/// The generator's stream for the data; sessions use those from 0.
const DATA_STREAM: u64 = u64::MAX;

/// Writes the whole file in order with data that can be neither compressed nor deduplicated, and flushes it. The
/// time of the flush counts, and so does the file system's work to find room.
pub(super) fn run(
    plan: &ProbePlan,
    scratch: &Scratch,
    event: &mut dyn FnMut(ProbeEvent),
    stop: &AtomicBool,
) -> Result<ProbeStep, HostError> {
    let file = scratch.reopen(plan.caching())?;
    let cpu_before = own_cpu().ok();
    let start = Instant::now();
    let latency = write_all(plan, scratch, &file, event, stop)?;
    scratch.sync()?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu_s = cpu_before.zip(own_cpu().ok()).map(|(before, after)| after.since(&before).total_s());
    if !plan.direct {
        // Else the steps would begin with a page cache that holds what was just written.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
    let measured = Measured { latency, bytes_per_operation: FILL_BYTES, seconds, cpu_s };
    let step = StepPlan { kind: StepKind::SequentialWrite, sessions_or_depth: 1 };
    Ok(ProbeStep::measured(step, IoInterface::Pwrite, measured, None))
}

fn write_all(
    plan: &ProbePlan,
    scratch: &Scratch,
    file: &File,
    event: &mut dyn FnMut(ProbeEvent),
    stop: &AtomicBool,
) -> Result<Histogram, HostError> {
    let mut random = Random::new(plan.seed, DATA_STREAM);
    let mut buffer = AlignedBuffer::new(FILL_BYTES as usize);
    random.fill(buffer.as_mut_slice());
    let mut latency = Histogram::new();
    let total_bytes = plan.file_bytes;
    let mut written_bytes = 0;
    while written_bytes < total_bytes && !stop.load(Ordering::Relaxed) {
        random.restamp(buffer.as_mut_slice());
        let before = Instant::now();
        file.write_all_at(buffer.as_slice(), written_bytes)
            .map_err(HostError::io("fill the scratch file in", scratch.dir()))?;
        latency.record(nanoseconds(before.elapsed()));
        written_bytes += FILL_BYTES;
        event(ProbeEvent::Filling { written_bytes, total_bytes });
    }
    Ok(latency)
}
