//! Asynchronous steps: one thread with many reads in flight, which shows the device's own limit.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use slob_stats::Histogram;

use super::aio::AioQueue;
use super::nanoseconds;
use super::plan::{ProbePlan, StepPlan};
use super::queue::{Completion, ReadQueue};
use super::random::Random;
use super::result::{IoInterface, Measured, ProbeStep};
use super::uring::UringQueue;
use crate::own_cpu;
use crate::scratch::Scratch;

/// Runs one asynchronous step: through io_uring, or where that is not permitted through Linux AIO.
pub(super) fn run(plan: &ProbePlan, step: StepPlan, scratch: &Scratch, stop: &AtomicBool) -> ProbeStep {
    let file = match scratch.reopen(plan.caching()) {
        Ok(file) => file,
        Err(e) => return ProbeStep::failed(step, e.to_string()),
    };
    let (depth, block_bytes) = (step.sessions_or_depth, plan.block_bytes as usize);
    match UringQueue::new(&file, depth, block_bytes) {
        Ok(mut queue) => measure(plan, step, IoInterface::IoUring, &mut queue, stop),
        Err(refusal) => run_with_aio(plan, step, &file, stop, &refusal),
    }
}

fn run_with_aio(
    plan: &ProbePlan,
    step: StepPlan,
    file: &File,
    stop: &AtomicBool,
    refusal: &io::Error,
) -> ProbeStep {
    let why = format!("io_uring is not available ({refusal}; see the sysctl kernel.io_uring_disabled)");
    match AioQueue::new(file, step.sessions_or_depth, plan.block_bytes as usize) {
        Ok(mut queue) => {
            let done = measure(plan, step, IoInterface::LinuxAio, &mut queue, stop);
            ProbeStep { note: Some(format!("{why}: Linux AIO was used")), ..done }
        }
        Err(e) => {
            ProbeStep::failed(step, format!("{why}, nor is Linux AIO ({e}; see the sysctl fs.aio-max-nr)"))
        }
    }
}

fn measure(
    plan: &ProbePlan,
    step: StepPlan,
    interface: IoInterface,
    queue: &mut dyn ReadQueue,
    stop: &AtomicBool,
) -> ProbeStep {
    let mut latency = Histogram::new();
    let cpu_before = own_cpu().ok();
    let start = Instant::now();
    let (end, error) = keep_busy(plan, step.sessions_or_depth as usize, queue, stop, &mut latency);
    let cpu_s = cpu_before.zip(own_cpu().ok()).map(|(before, after)| after.since(&before).total_s());
    let seconds = (end - start).as_secs_f64();
    let measured = Measured { latency, bytes_per_operation: u64::from(plan.block_bytes), seconds, cpu_s };
    ProbeStep::measured(step, interface, measured, error.map(|e| e.to_string()))
}

/// Keeps all slots busy until the time is over, then waits for the rest. Returns the moment of the last completion
/// and the first failure, which ends the work.
fn keep_busy(
    plan: &ProbePlan,
    depth: usize,
    queue: &mut dyn ReadQueue,
    stop: &AtomicBool,
    latency: &mut Histogram,
) -> (Instant, Option<io::Error>) {
    let block_bytes = plan.block_bytes as usize;
    let mut random = Random::new(plan.seed, depth as u64);
    let mut next_offset = || random.below(plan.blocks()) * block_bytes as u64;
    let mut now = Instant::now();
    let deadline = now + Duration::from_secs_f64(plan.seconds_per_step);
    let mut requested = vec![now; depth];
    for slot in 0..depth {
        if let Err(e) = queue.prepare(slot, next_offset()) {
            return (now, Some(e));
        }
    }
    let mut completed: Vec<Completion> = Vec::with_capacity(depth);
    let mut in_flight = depth;
    while in_flight > 0 {
        if let Err(e) = queue.submit_and_wait(&mut completed) {
            return (now, Some(e));
        }
        // One look at the clock for all that completed together: they are seen together.
        now = Instant::now();
        let go_on = now < deadline && !stop.load(Ordering::Relaxed);
        for Completion { slot, result } in completed.drain(..) {
            in_flight -= 1;
            match result {
                Ok(bytes) if bytes == block_bytes => latency.record(nanoseconds(now - requested[slot])),
                Ok(bytes) => return (now, Some(short_read(bytes, block_bytes))),
                Err(e) => return (now, Some(e)),
            }
            if go_on {
                if let Err(e) = queue.prepare(slot, next_offset()) {
                    return (now, Some(e));
                }
                requested[slot] = now;
                in_flight += 1;
            }
        }
    }
    (now, None)
}

fn short_read(bytes: usize, wanted: usize) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("a read gave {bytes} bytes instead of {wanted}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    const BLOCK: usize = 4096;

    /// A file whose every block starts with its own number.
    fn numbered_file(blocks: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        for block in 0..blocks {
            let mut data = [0; BLOCK];
            data[..8].copy_from_slice(&block.to_le_bytes());
            file.write_all_at(&data, block * BLOCK as u64).unwrap();
        }
        file
    }

    /// Both interfaces, as far as this host permits them.
    fn each_queue(file: &File, depth: u32, mut check: impl FnMut(&mut dyn ReadQueue)) {
        let mut tried = 0;
        if let Ok(mut queue) = UringQueue::new(file, depth, BLOCK) {
            check(&mut queue);
            tried += 1;
        }
        if let Ok(mut queue) = AioQueue::new(file, depth, BLOCK) {
            check(&mut queue);
            tried += 1;
        }
        assert!(tried > 0, "this host permits neither io_uring nor Linux AIO");
    }

    #[test]
    fn every_request_completes_once_in_its_slot() {
        let file = numbered_file(8);
        each_queue(&file, 8, |queue| {
            for slot in 0..8 {
                queue.prepare(slot, (slot * BLOCK) as u64).unwrap();
            }
            let mut completed = Vec::new();
            while completed.len() < 8 {
                queue.submit_and_wait(&mut completed).unwrap();
            }
            completed.sort_by_key(|completion| completion.slot);
            assert!(completed.iter().map(|c| c.slot).eq(0..8));
            assert!(completed.iter().all(|c| c.result.as_ref().is_ok_and(|bytes| *bytes == BLOCK)));
        });
    }

    #[test]
    fn a_read_behind_the_end_is_an_error_of_the_step_and_nothing_stays_in_flight() {
        let file = numbered_file(8);
        let plan = ProbePlan {
            file_bytes: 1 << 20, // more than the file has
            block_bytes: BLOCK as u32,
            seconds_per_step: 60.0,
            ..ProbePlan::new("/")
        };
        let step = StepPlan { kind: super::super::StepKind::AsyncRead, sessions_or_depth: 16 };
        let stop = AtomicBool::new(false);
        each_queue(&file, 16, |queue| {
            let done = measure(&plan, step, IoInterface::IoUring, queue, &stop);
            assert!(done.error.unwrap().contains("bytes instead of 4096"));
        });
    }

    #[test]
    fn without_io_uring_linux_aio_does_the_step_and_says_why() {
        let file = numbered_file(256);
        let plan = ProbePlan {
            file_bytes: 1 << 20,
            block_bytes: BLOCK as u32,
            seconds_per_step: 0.05,
            ..ProbePlan::new("/")
        };
        let step = StepPlan { kind: super::super::StepKind::AsyncRead, sessions_or_depth: 16 };
        let refusal = io::Error::from_raw_os_error(libc::EPERM);
        let done = run_with_aio(&plan, step, &file, &AtomicBool::new(false), &refusal);
        assert_eq!((done.interface, done.error), (Some(IoInterface::LinuxAio), None));
        assert!(done.figures.unwrap().operations >= 16);
        assert!(done.note.unwrap().contains("Operation not permitted"));
    }

    #[test]
    fn a_queue_dropped_with_requests_in_flight_waits_for_them() {
        let file = numbered_file(64);
        for _ in 0..20 {
            each_queue(&file, 64, |queue| {
                for slot in 0..64 {
                    queue.prepare(slot, (slot * BLOCK) as u64).unwrap();
                }
                queue.submit_and_wait(&mut Vec::new()).unwrap();
            });
        }
    }
}
