//! The frame of a session: what executes a batch, where it does so, and how it is ended from another thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use slob_engine::{Cancel, CancelToken, EngineError, Outcome, Session};
use slob_method::Batch;

use crate::{Canceller, Interrupt};

/// Executes batches in one connection.
pub trait Work: Send {
    /// As [`Session::execute`], with an outcome that is empty; waits that are spent here are those of `alarm`.
    ///
    /// # Errors
    /// As there.
    fn work(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        alarm: &CancelToken,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError>;

    /// As [`Session::publish`].
    ///
    /// # Errors
    /// As there.
    fn publish(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A session on an endpoint that can be asked to end what it is at.
pub struct Cancellable<W> {
    work: W,
    endpoint: usize,
    canceller: Canceller,
}

impl<W: Work> Cancellable<W> {
    /// The session that `interrupt` ends.
    pub fn new(work: W, endpoint: usize, interrupt: impl Interrupt + 'static) -> Self {
        Self { work, endpoint, canceller: Canceller::new(interrupt) }
    }
}

impl<W: Work> Session for Cancellable<W> {
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        outcome.clear();
        let Self { work, canceller, .. } = self;
        canceller.guard(|| work.work(batch, deadline, canceller.alarm(), outcome))
    }

    fn publish(&mut self) -> Result<(), EngineError> {
        let Self { work, canceller, .. } = self;
        canceller.guard(|| work.publish())
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        Some(Arc::new(self.canceller.clone()))
    }
}

/// What is left at a moment until a deadline: nothing if it is over, and without a deadline no limit.
#[allow(clippy::option_option)]
#[must_use]
pub fn time_left(deadline: Option<Instant>, now: Instant) -> Option<Option<Duration>> {
    let Some(deadline) = deadline else { return Some(None) };
    let left = deadline.saturating_duration_since(now);
    (!left.is_zero()).then_some(Some(left))
}
