//! Sleeping that can be called off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{Cancel, EngineError, ErrorKind};

/// A sleep that can be ended from another thread: for engines whose batches run in this process.
#[derive(Debug, Default)]
pub struct Alarm {
    rung: AtomicBool,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Alarm {
    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// Sleeps for `pause`, at most until `deadline`.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`], at once, when it has been cancelled.
    pub fn sleep(&self, pause: Duration, deadline: Option<Instant>) -> Result<(), EngineError> {
        if !pause.is_zero() && !self.rung() {
            self.wait(pause, deadline);
        }
        if self.rung() {
            return Err(EngineError::new(ErrorKind::Cancelled, "executing a batch", "cancelled"));
        }
        Ok(())
    }

    fn wait(&self, pause: Duration, deadline: Option<Instant>) {
        let now = Instant::now();
        let end = deadline.map_or(now + pause, |deadline| deadline.min(now + pause));
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.rung() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            guard = self.bell.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Cancel for Alarm {
    fn cancel(&self) {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.rung.store(true, Ordering::Relaxed);
        self.bell.notify_all();
    }
}
