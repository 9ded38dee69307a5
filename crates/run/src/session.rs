//! One session's thread: connect, wait for the start, execute batch after batch, report.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use slob_engine::{Cancel, Engine, EngineError, ErrorKind, Outcome, Session, SessionPlan};
use slob_method::{Batch, Planner};

use crate::tally::{SessionTotals, Tally};

/// A batch is sized to last this long: it bounds how late a stop is noticed, and keeps the live figures fresh.
const BATCH: Duration = Duration::from_millis(200);
/// Bounds the memory of a batch and its outcome (about 60 bytes an operation).
const LARGEST_BATCH: usize = 8192;
/// A conflict that does not go away after this many tries in a row is a failure.
const MOST_RETRIES: u32 = 100;

/// The start barrier: sessions wait until it opens or the run is called off.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: Mutex<Option<Opening>>,
    changed: Condvar,
}

#[derive(Clone, Debug)]
enum Opening {
    Start(Arc<Tally>),
    CalledOff,
}

impl Gate {
    pub(crate) fn start(&self, tally: Arc<Tally>) {
        self.set(Opening::Start(tally));
    }

    pub(crate) fn call_off(&self) {
        self.set(Opening::CalledOff);
    }

    fn set(&self, opening: Opening) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(opening);
        self.changed.notify_all();
    }

    /// `None` when the run was called off.
    fn wait(&self) -> Option<Arc<Tally>> {
        let mut guard = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match guard.clone() {
                Some(Opening::Start(tally)) => return Some(tally),
                Some(Opening::CalledOff) => return None,
                None => guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// What the sessions of a run share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) gate: Gate,
    stop: AtomicBool,
    deadline: OnceLock<Instant>,
    operations: AtomicU64,
}

impl Shared {
    /// Tells the sessions to end after their batch.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Sets a moment after which no session starts anything, should everything else fail.
    pub(crate) fn set_deadline(&self, deadline: Instant) {
        let _ = self.deadline.set(deadline);
    }

    /// Operations done by all sessions so far.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }
}

/// What a session tells the timeline.
pub(crate) enum Message {
    /// Connected and waiting; with the handle to cancel it.
    Ready(u32, Option<Arc<dyn Cancel>>),
    /// Ended: by the stop, after its last operation, or by an error.
    Ended(Box<SessionEnd>),
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct SessionEnd {
    pub(crate) session: u32,
    pub(crate) totals: SessionTotals,
    /// Operations carried out in all, warm-up included.
    pub(crate) operations: u64,
    /// Operations that had to be repeated because of a conflict.
    pub(crate) retries: u64,
    pub(crate) error: Option<EngineError>,
}

/// Everything that one session needs.
pub(crate) struct Worker {
    pub(crate) plan: SessionPlan,
    pub(crate) planner: Planner,
    /// With WORK_LOOP: how many operations to do.
    pub(crate) operations: Option<u64>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) messages: Sender<Message>,
}

impl Worker {
    /// The body of the session's thread.
    pub(crate) fn work(mut self, engine: &dyn Engine) {
        let number = self.plan.number;
        let mut end = SessionEnd {
            session: number,
            totals: SessionTotals::default(),
            operations: 0,
            retries: 0,
            error: None,
        };
        // An engine that panics must not leave the others waiting for this session.
        let worked = catch_unwind(AssertUnwindSafe(|| self.connect_and_execute(engine, &mut end)));
        end.error = worked.unwrap_or_else(|_| Err(panicked("the session"))).err();
        // A receiver that is gone means that the run is over; then there is nobody to tell.
        let _ = self.messages.send(Message::Ended(Box::new(end)));
    }

    fn connect_and_execute(&mut self, engine: &dyn Engine, end: &mut SessionEnd) -> Result<(), EngineError> {
        let mut session = engine.session(&self.plan)?;
        let _ = self.messages.send(Message::Ready(self.plan.number, session.canceller()));
        match self.shared.gate.wait() {
            Some(tally) => self.execute_all(session.as_mut(), &tally, end),
            None => Ok(()),
        }
    }

    fn execute_all(
        &mut self,
        session: &mut dyn Session,
        tally: &Tally,
        end: &mut SessionEnd,
    ) -> Result<(), EngineError> {
        let (mut batch, mut outcome, mut size) = (Batch::default(), Outcome::new(), BatchSize::default());
        let deadline = self.shared.deadline.get().copied();
        let mut tries = 0;
        while !self.shared.stop.load(Ordering::Relaxed) {
            if batch.ops().is_empty() && !self.plan_next(&mut batch, size, end.operations) {
                return Ok(());
            }
            let begun = Instant::now();
            if deadline.is_some_and(|deadline| begun >= deadline) {
                return Ok(());
            }
            let planned_pauses = batch.pauses();
            let result = session.execute(&batch, deadline, &mut outcome);
            let elapsed = begun.elapsed();
            tally.add(self.plan.number, begun, batch.ops(), outcome.ops(), &mut end.totals);
            let done = outcome.ops().len();
            batch.advance(done);
            end.operations += done as u64;
            self.shared.operations.fetch_add(done as u64, Ordering::Relaxed);
            size.learn(done, elapsed.saturating_sub(planned_pauses));
            match result {
                Ok(()) => tries = 0,
                Err(error) if error.kind() == ErrorKind::Cancelled => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Retryable && tries < MOST_RETRIES => {
                    tries = if done > 0 { 1 } else { tries + 1 };
                    end.retries += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Plans the next batch; false when the session has planned all it has to do.
    fn plan_next(&mut self, batch: &mut Batch, size: BatchSize, done: u64) -> bool {
        let left = self.operations.map_or(u64::MAX, |all| all - done);
        let count = size.0.min(usize::try_from(left).unwrap_or(usize::MAX));
        self.planner.fill_within(batch, count, BATCH);
        count > 0
    }
}

/// The error of a thread that panicked; what it said is on stderr.
pub(crate) fn panicked(who: &str) -> EngineError {
    EngineError::new(ErrorKind::Fatal, who, "panicked: this is a fault of this program, please report it")
}

/// How many operations fit into [`BATCH`], learned from the last batch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BatchSize(usize);

impl Default for BatchSize {
    fn default() -> Self {
        Self(1)
    }
}

impl BatchSize {
    /// Grows at most fourfold at a time, so that one lucky batch of cache hits does not make a very long one.
    fn learn(&mut self, done: usize, elapsed: Duration) {
        if done == 0 {
            return;
        }
        let fitting = BATCH.as_secs_f64() / elapsed.as_secs_f64().max(1e-9) * done as f64;
        self.0 = (fitting as usize).clamp(1, (self.0 * 4).min(LARGEST_BATCH));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_towards_their_time_and_shrink_at_once() {
        let mut size = BatchSize::default();
        size.learn(1, Duration::from_micros(10));
        assert_eq!(size.0, 4);
        size.learn(4, Duration::from_micros(40));
        assert_eq!(size.0, 16);
        size.learn(16, Duration::from_secs(16));
        assert_eq!(size.0, 1);
        size.0 = 8000;
        size.learn(8000, Duration::from_micros(1));
        assert_eq!(size.0, LARGEST_BATCH);
    }
}
