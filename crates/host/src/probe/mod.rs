//! The raw device probe: what the device itself can do, through the same file system and without a database.
//!
//! It fills a scratch file and then measures, one step after the other: synchronous random reads by a number of
//! sessions (one `pread` at a time each, as a database session does it), asynchronous random reads at a queue depth
//! (the device's own limit), and, if asked, synchronous random writes.

mod aio;
mod fill;
mod gate;
mod plan;
mod queue;
mod queued_reads;
mod random;
mod result;
mod sessions;
mod slots;
mod uring;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use plan::{ProbePlan, StepKind, StepPlan};
pub use result::{IoInterface, ProbeResult, ProbeStep, StepFigures};

use crate::scratch::{Caching, Scratch};
use crate::{HostError, free_space};

/// What the probe is doing, for a live display.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeEvent {
    /// The scratch file is being written.
    Filling {
        /// Bytes written so far.
        written_bytes: u64,
        /// Bytes that will be written.
        total_bytes: u64,
    },
    /// A measured step begins.
    StepStarted {
        /// What it measures.
        step: StepPlan,
        /// Its place among the steps after the filling, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// How long it will take.
        seconds: f64,
    },
    /// A step is done; the filling too, as the sequential write.
    StepFinished(Box<ProbeStep>),
}

/// The raw device probe.
#[derive(Debug)]
pub struct Probe;

impl Probe {
    /// Runs all steps of `plan`, telling `event` about each, until done or until `stop` is set.
    ///
    /// The scratch file has no name, so nothing is left behind however this ends. A step that fails says why in its
    /// [`error`](ProbeStep::error), and the probe goes on with the next one. With `stop` set, the steps done until
    /// then are returned, the last one cut short, and [`interrupted`](ProbeResult::interrupted) is true.
    ///
    /// # Errors
    /// The plan makes no sense; the folder is missing, not writable, too full or refuses direct I/O; the scratch
    /// file cannot be filled.
    pub fn run(
        plan: &ProbePlan,
        event: &mut dyn FnMut(ProbeEvent),
        stop: &AtomicBool,
    ) -> Result<ProbeResult, HostError> {
        plan.check()?;
        let scratch = Scratch::create(&plan.dir)?;
        let needed_bytes = plan.file_bytes;
        let free_bytes = free_space(&plan.dir)?.free_bytes;
        if free_bytes < needed_bytes {
            return Err(HostError::NotEnoughSpace { path: plan.dir.clone(), needed_bytes, free_bytes });
        }
        let mut result = ProbeResult { plan: plan.clone(), steps: Vec::new(), interrupted: false };
        let filled = fill::run(plan, &scratch, event, stop)?;
        event(ProbeEvent::StepFinished(Box::new(filled.clone())));
        result.steps.push(filled);
        let steps = plan.steps();
        for (index, step) in steps.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let seconds = plan.seconds_per_step;
            event(ProbeEvent::StepStarted { step: *step, number: index + 1, of: steps.len(), seconds });
            let done = run_step(plan, *step, &scratch, stop);
            event(ProbeEvent::StepFinished(Box::new(done.clone())));
            result.steps.push(done);
        }
        result.interrupted = stop.load(Ordering::Relaxed);
        Ok(result)
    }
}

fn run_step(plan: &ProbePlan, step: StepPlan, scratch: &Scratch, stop: &AtomicBool) -> ProbeStep {
    match step.kind {
        StepKind::AsyncRead => queued_reads::run(plan, step, scratch, stop),
        StepKind::SyncRead | StepKind::SyncWrite | StepKind::SequentialWrite => {
            sessions::run(plan, step, scratch, stop)
        }
    }
}

/// A duration as histograms record it; 584 years are as long as any.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl ProbePlan {
    fn caching(&self) -> Caching {
        Caching::direct_if(self.direct)
    }
}

#[cfg(test)]
mod tests;
