//! Connections of sessions that have done all their operations, kept until the last sample is taken: a server's process that
//! is gone can't tell any more what CPU it used.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slob_engine::Session;

/// Counts them, and says when they may close.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    released: bool,
    open: u32,
}

impl IdleConnections {
    /// One more is going to be kept.
    pub(crate) fn announce(&self) {
        self.lock().open += 1;
    }

    /// Keeps one that was announced until all are released, then closes it.
    pub(crate) fn keep(&self, connection: Box<dyn Session>) {
        drop(self.changed.wait_while(self.lock(), |state| !state.released));
        drop(connection);
        self.lock().open -= 1;
        self.changed.notify_all();
    }

    /// Lets them close.
    pub(crate) fn release(&self) {
        self.lock().released = true;
        self.changed.notify_all();
    }

    /// Waits until all are closed, so that who comes next finds their places free; not for ever.
    pub(crate) fn wait_until_closed(&self, patience: Duration) {
        drop(self.changed.wait_timeout_while(self.lock(), patience, |state| state.open > 0));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use slob_engine::{EngineError, Outcome};
    use slob_method::Batch;

    struct Connection(Arc<AtomicBool>);

    impl Session for Connection {
        fn execute(
            &mut self,
            _: &Batch,
            _: Option<std::time::Instant>,
            _: &mut Outcome,
        ) -> Result<(), EngineError> {
            Ok(())
        }
    }

    impl Drop for Connection {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_connection_is_open_until_it_is_released_and_closed_when_that_was_waited_for() {
        let (idle, closed) = (IdleConnections::default(), Arc::new(AtomicBool::new(false)));
        idle.announce();
        thread::scope(|scope| {
            scope.spawn(|| idle.keep(Box::new(Connection(Arc::clone(&closed)))));
            idle.wait_until_closed(Duration::from_millis(20));
            assert!(!closed.load(Ordering::SeqCst));
            idle.release();
            idle.wait_until_closed(Duration::from_secs(60));
            assert!(closed.load(Ordering::SeqCst));
        });
    }
}
