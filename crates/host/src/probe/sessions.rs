//! Synchronous steps: sessions with one request at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use slob_stats::{Histogram, nanoseconds};

use super::buffers::AlignedBuffer;
use super::result::{IoInterface, Measured, ProbeStep, cpu_since};
use super::scratch::{Random, Scatter, Scratch};
use super::{ProbePlan, StepKind, StepPlan};
use crate::own_cpu;

pub type BlockTransfer<'a> = Box<dyn FnMut(&mut [u8], u64) -> io::Result<()> + Send + 'a>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Random,
    /// So many sessions together visit each block once, scattered.
    Once(u64),
}

struct Step<'a> {
    plan: &'a ProbePlan,
    write: bool,
    order: Order,
    /// `None` if the start is called off.
    start: OnceLock<Option<Instant>>,
    stop: &'a AtomicBool,
    /// A failed session ends the others.
    failed: AtomicBool,
}

struct SessionEnd {
    latency: Histogram,
    last_completion: Option<Instant>,
    error: Option<String>,
}

/// Adds to `completed` meanwhile.
pub(super) fn run(
    plan: &ProbePlan,
    step: StepPlan,
    order: Order,
    scratch: &Scratch,
    stop: &AtomicBool,
    completed: &AtomicU64,
) -> ProbeStep {
    let reopened = (0..step.sessions_or_depth).map(|_| scratch.reopen(plan.direct));
    let files: Vec<File> = match reopened.collect() {
        Ok(files) => files,
        Err(e) => return ProbeStep::failed(step, e.to_string()),
    };
    if let Order::Once(_) = order {
        // The kernel would read ahead of blocks that lie among those in its cache.
        for file in &files {
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Random);
        }
    }
    let write = step.kind != StepKind::SyncRead;
    let transfers = files.iter().map(|file| -> BlockTransfer<'_> {
        Box::new(move |block, offset| {
            match write {
                true => file.write_all_at(block, offset)?,
                false => file.read_exact_at(block, offset)?,
            }
            completed.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
    time(plan, step, order, transfers.collect(), stop)
}

/// Each transfer is a session.
pub(super) fn time(
    plan: &ProbePlan,
    step: StepPlan,
    order: Order,
    transfers: Vec<BlockTransfer<'_>>,
    stop: &AtomicBool,
) -> ProbeStep {
    let write = step.kind != StepKind::SyncRead;
    let shared = Step { plan, write, order, start: OnceLock::new(), stop, failed: AtomicBool::new(false) };
    let interface = if write { IoInterface::Pwrite } else { IoInterface::Pread };
    let sessions = transfers.len();
    match run_sessions(&shared, transfers) {
        Ok((measured, error)) => ProbeStep::measured(step, interface, measured, error),
        Err(e) => ProbeStep::failed(step, format!("cannot start {sessions} sessions: {e}")),
    }
}

/// Fails if the system refuses a thread.
fn run_sessions(
    step: &Step<'_>,
    transfers: Vec<BlockTransfer<'_>>,
) -> io::Result<(Measured, Option<String>)> {
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(transfers.len());
        let (ready, all_ready) = channel();
        for (stream, transfer) in (0_u64..).zip(transfers) {
            let ready = ready.clone();
            let body = move || session(step, transfer, stream, ready);
            match thread::Builder::new().name(format!("probe-{stream}")).spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    let _ = step.start.set(None);
                    return Err(e);
                }
            }
        }
        drop(ready);
        let _ = all_ready.recv(); // returns when each session has dropped its sender
        // All sessions wait, so the process's CPU time is theirs from here on.
        let cpu_before = own_cpu().ok();
        let start = Instant::now();
        let _ = step.start.set(Some(start));
        let mut latency = Histogram::new();
        let mut end = start;
        let mut error = None;
        for thread in threads {
            match thread.join() {
                Ok(session) => {
                    latency.merge(&session.latency);
                    end = end.max(session.last_completion.unwrap_or(start));
                    error = error.or(session.error);
                }
                Err(_) => error = error.or(Some("a session of the probe panicked".to_owned())),
            }
        }
        let (seconds, cpu_s) = ((end - start).as_secs_f64(), cpu_since(cpu_before));
        let bytes_per_operation = u64::from(step.plan.block_bytes);
        Ok((Measured { latency, bytes_per_operation, seconds, cpu_s }, error))
    })
}

fn session(step: &Step<'_>, mut transfer: BlockTransfer<'_>, stream: u64, ready: Sender<()>) -> SessionEnd {
    let block_bytes = step.plan.block_bytes as usize;
    let mut random = Random::new(step.plan.seed, stream);
    let mut buffer = AlignedBuffer::new(block_bytes * step.plan.buffer_blocks);
    if step.write {
        random.fill(buffer.as_mut_slice());
    }
    let mut end = SessionEnd { latency: Histogram::new(), last_completion: None, error: None };
    drop(ready);
    let Some(start) = *step.start.wait() else { return end };
    let deadline = start + Duration::from_secs_f64(step.plan.seconds_per_step);
    let blocks = step.plan.blocks();
    let scatter = Scatter::new(blocks);
    let mut visited = stream;
    let mut now = Instant::now();
    // Dividing the buffer again costs nothing beside a request.
    'work: loop {
        for block in buffer.as_mut_slice().chunks_exact_mut(block_bytes) {
            if now >= deadline || step.stop.load(Ordering::Relaxed) || step.failed.load(Ordering::Relaxed) {
                break 'work;
            }
            let number = match step.order {
                Order::Random => random.below(blocks),
                Order::Once(_) if visited >= blocks => break 'work,
                Order::Once(sessions) => {
                    let number = scatter.place(visited);
                    visited += sessions;
                    number
                }
            };
            let offset = number * block_bytes as u64;
            if step.write {
                random.restamp(block);
                now = Instant::now(); // restamping is not the device's time
            }
            if let Err(e) = transfer(block, offset) {
                step.failed.store(true, Ordering::Relaxed);
                let verb = if step.write { "write" } else { "read" };
                end.error = Some(format!("cannot {verb} {block_bytes} bytes at offset {offset}: {e}"));
                break 'work;
            }
            let completed = Instant::now();
            end.latency.record(nanoseconds(completed - now));
            end.last_completion = Some(completed);
            now = completed;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_start_together_or_none_does() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(dir.path()).unwrap();
        let file = scratch.reopen(false).unwrap();
        file.set_len(1 << 20).unwrap();
        let plan = ProbePlan { file_bytes: 1 << 20, seconds_per_step: 0.05, ..ProbePlan::new(dir.path()) };
        let stop = AtomicBool::new(false);
        let step = || Step {
            plan: &plan,
            write: false,
            order: Order::Random,
            start: OnceLock::new(),
            stop: &stop,
            failed: AtomicBool::new(false),
        };
        let read = || -> BlockTransfer<'_> { Box::new(|block, offset| file.read_exact_at(block, offset)) };
        let started = step();
        let (measured, error) = run_sessions(&started, (0..4).map(|_| read()).collect()).unwrap();
        assert!(measured.latency.count() >= 4 && error.is_none(), "{error:?}");
        let cancelled = step();
        thread::scope(|scope| {
            let (ready, all_ready) = channel();
            let waiting = scope.spawn(|| session(&cancelled, read(), 0, ready));
            assert!(all_ready.recv().is_err());
            cancelled.start.set(None).unwrap();
            let end = waiting.join().unwrap();
            assert_eq!((end.latency.count(), end.last_completion, end.error), (0, None, None));
        });
    }
}
