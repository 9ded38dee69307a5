//! Executing batches: outcomes, cancellation, and a loop over operations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use slob_method::{Batch, Op};

use crate::{Cancel, EngineError, ErrorKind, Result, lock};

/// Outcome of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpOutcome {
    /// Nanoseconds from the call of [`crate::Session::execute`]: measured, or a sum of durations and pauses.
    pub start_ns: u64,
    /// Nanoseconds with its commit and without its pause.
    pub duration_ns: u64,
    /// Rows counted or changed.
    pub rows: u64,
}

/// Executed operations of a batch, in order. Refilling allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    ops: Vec<OpOutcome>,
}

impl Outcome {
    /// Has no operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// Adds the next operation.
    #[inline]
    pub fn push(&mut self, op: OpOutcome) {
        self.ops.push(op);
    }

    /// Adds `ns` to starts from index `first` on: the work's place is known at the end of a call.
    pub fn shift_from(&mut self, first: usize, ns: u64) {
        for op in &mut self.ops[first..] {
            op.start_ns += ns;
        }
    }

    /// Keeps the first `count` operations.
    pub fn truncate(&mut self, count: usize) {
        self.ops.truncate(count);
    }

    /// A prefix of the batch's operations.
    pub fn ops(&self) -> &[OpOutcome] {
        &self.ops
    }
}

/// Cancellation and sleeps of batches in this process.
#[derive(Debug, Default)]
pub struct CancelToken {
    cancelled: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl CancelToken {
    /// True after [`Cancel::cancel`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Sleeps until `deadline` at most. Fails with [`ErrorKind::Cancelled`] at a cancellation.
    pub fn sleep(&self, pause: Duration, deadline: Option<Instant>) -> Result<()> {
        if !pause.is_zero() && !self.is_cancelled() {
            self.wait(pause, deadline);
        }
        if self.is_cancelled() {
            return Err(EngineError::new(ErrorKind::Cancelled, "executing a batch", "cancelled"));
        }
        Ok(())
    }

    fn wait(&self, pause: Duration, deadline: Option<Instant>) {
        let until_deadline = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        let pause = deadline.map_or(pause, |deadline| pause.min(until_deadline(deadline)));
        let guard = lock(&self.lock);
        drop(self.changed.wait_timeout_while(guard, pause, |()| !self.is_cancelled()));
    }
}

impl Cancel for CancelToken {
    fn cancel(&self) {
        let _guard = lock(&self.lock);
        self.cancelled.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

/// Executes single operations.
pub trait Perform {
    /// Returns the rows counted or changed. Includes the commit.
    fn perform(&mut self, op: &Op) -> Result<u64>;

    /// Called after each operation, outside its duration.
    fn performed(&mut self, _ended: Instant) {}
}

/// Executes a batch as [`crate::Session::execute`] must. Reads the clock twice for each operation.
pub fn execute_each(
    session: &mut impl Perform,
    batch: &Batch,
    deadline: Option<Instant>,
    token: &CancelToken,
    outcome: &mut Outcome,
) -> Result<()> {
    let begun = Instant::now();
    for (index, op) in batch.ops().iter().enumerate() {
        if let Some(wait) = batch.not_before(index) {
            token.sleep(wait.saturating_sub(begun.elapsed()), deadline)?;
        }
        let start = Instant::now();
        if deadline.is_some_and(|deadline| start >= deadline) {
            break;
        }
        token.sleep(Duration::ZERO, None)?;
        let rows = session.perform(op)?;
        let end = Instant::now();
        outcome.push(OpOutcome {
            start_ns: nanoseconds(start - begun),
            duration_ns: nanoseconds(end - start),
            rows,
        });
        session.performed(end);
        token.sleep(Duration::from_micros(op.pause_us.into()), deadline)?;
    }
    Ok(())
}

/// Saturates.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
