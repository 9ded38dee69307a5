//! Synchronous steps: a number of sessions, each with one request at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use slob_stats::Histogram;

use super::gate::Gate;
use super::nanoseconds;
use super::plan::{ProbePlan, StepKind, StepPlan};
use super::random::Random;
use super::result::{IoInterface, Measured, ProbeStep};
use crate::buffer::AlignedBuffer;
use crate::own_cpu;
use crate::scratch::Scratch;

/// What all sessions of a step share.
struct Step<'a> {
    plan: &'a ProbePlan,
    write: bool,
    gate: Gate,
    /// Set from outside: the user wants to stop.
    stop: &'a AtomicBool,
    /// Set by a session that failed: the others need not go on.
    failed: AtomicBool,
}

/// What a session has to report.
struct SessionEnd {
    latency: Histogram,
    last_completion: Option<Instant>,
    error: Option<String>,
}

/// Runs one synchronous step.
pub(super) fn run(plan: &ProbePlan, step: StepPlan, scratch: &Scratch, stop: &AtomicBool) -> ProbeStep {
    let reopened = (0..step.sessions_or_depth).map(|_| scratch.reopen(plan.caching()));
    let files: Vec<File> = match reopened.collect() {
        Ok(files) => files,
        Err(e) => return ProbeStep::failed(step, e.to_string()),
    };
    let write = step.kind != StepKind::SyncRead;
    let shared = Step { plan, write, gate: Gate::new(), stop, failed: AtomicBool::new(false) };
    let interface = if write { IoInterface::Pwrite } else { IoInterface::Pread };
    match run_sessions(&shared, &files) {
        Ok((measured, error)) => ProbeStep::measured(step, interface, measured, error),
        Err(e) => ProbeStep::failed(step, format!("cannot start {} sessions: {e}", files.len())),
    }
}

/// Starts all sessions together and waits for them. Fails if one cannot be started.
fn run_sessions(shared: &Step<'_>, files: &[File]) -> io::Result<(Measured, Option<String>)> {
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(files.len());
        for (stream, file) in (0_u64..).zip(files) {
            let body = move || session(shared, file, stream);
            match thread::Builder::new().name(format!("probe-{stream}")).spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    shared.gate.cancel();
                    return Err(e);
                }
            }
        }
        // All sessions wait, so from here on the process's CPU time is theirs.
        let (start, cpu_before) = shared.gate.open_for(files.len(), || own_cpu().ok());
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
        let cpu_s = cpu_before.zip(own_cpu().ok()).map(|(before, after)| after.since(&before).total_s());
        let bytes_per_operation = u64::from(shared.plan.block_bytes);
        Ok((Measured { latency, bytes_per_operation, seconds: (end - start).as_secs_f64(), cpu_s }, error))
    })
}

/// One session: prepares its buffer, waits for the start, then works until the time is over.
fn session(step: &Step<'_>, file: &File, stream: u64) -> SessionEnd {
    let block_bytes = step.plan.block_bytes as usize;
    let mut random = Random::new(step.plan.seed, stream);
    let mut buffer = AlignedBuffer::new(block_bytes * step.plan.buffer_blocks);
    if step.write {
        random.fill(buffer.as_mut_slice());
    }
    let mut end = SessionEnd { latency: Histogram::new(), last_completion: None, error: None };
    let Some(start) = step.gate.wait() else { return end };
    let deadline = start + Duration::from_secs_f64(step.plan.seconds_per_step);
    let blocks = step.plan.blocks();
    let mut now = Instant::now();
    // Each pass goes through the buffer once; dividing it anew costs nothing beside a request.
    'work: loop {
        for block in buffer.as_mut_slice().chunks_exact_mut(block_bytes) {
            if now >= deadline || step.stop.load(Ordering::Relaxed) || step.failed.load(Ordering::Relaxed) {
                break 'work;
            }
            let offset = random.below(blocks) * block_bytes as u64;
            let done = if step.write {
                random.restamp(block);
                now = Instant::now(); // making the data is not the device's time
                file.write_all_at(block, offset)
            } else {
                file.read_exact_at(block, offset)
            };
            if let Err(e) = done {
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
