//! Sessions that have done all they had to do, and stay connected until the window is over.
//!
//! Where a server has a process for each connection, the CPU time of a process that ended is nobody's: a session that
//! left before the window's last snapshot would take its part of DB CPU along.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where such sessions wait.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    released: bool,
    waiting: u32,
}

impl Idle {
    /// Announces one that will call [`Idle::keep`].
    pub(crate) fn announce(&self) {
        self.lock().waiting += 1;
    }

    /// Keeps a connection until [`Idle::release`], then closes it. It must have been announced.
    pub(crate) fn keep<T>(&self, connection: T) {
        let mut state = self.lock();
        while !state.released {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        drop(connection);
        self.lock().waiting -= 1;
        self.changed.notify_all();
    }

    /// Lets all go, those too that come later.
    pub(crate) fn release(&self) {
        self.lock().released = true;
        self.changed.notify_all();
    }

    /// Waits until those that were announced have closed their connections, for as long as `patience` at most.
    pub(crate) fn wait_until_empty(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while state.waiting > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn a_connection_is_kept_until_all_are_let_go_and_closed_when_that_is_waited_for() {
        let (idle, connection) = (Arc::new(Idle::default()), Arc::new(()));
        idle.announce();
        let held = Arc::clone(&connection);
        let keeper = Arc::clone(&idle);
        let thread = thread::spawn(move || keeper.keep(held));
        idle.wait_until_empty(Duration::from_millis(20));
        assert_eq!(Arc::strong_count(&connection), 2, "kept");
        idle.release();
        idle.wait_until_empty(Duration::from_secs(60));
        assert_eq!(Arc::strong_count(&connection), 1, "closed");
        thread.join().unwrap();
    }
}
