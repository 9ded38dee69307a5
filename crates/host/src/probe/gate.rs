//! A start gate: sessions wait until all are there, then start together.
//!
//! Not a `std::sync::Barrier`, because a session that could not be started would leave the others waiting for ever.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

#[derive(Clone, Copy)]
enum State {
    Closed { waiting: usize },
    Open { start: Instant },
    Cancelled,
}

pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::Closed { waiting: 0 }), changed: Condvar::new() }
    }

    /// Waits for the start; `None` if it is called off.
    pub(super) fn wait(&self) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Closed { waiting } = &mut *state {
            *waiting += 1;
            self.changed.notify_all();
        }
        loop {
            match *state {
                State::Open { start } => return Some(start),
                State::Cancelled => return None,
                State::Closed { .. } => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Waits until `count` sessions wait, then lets them go. Returns the common start, and what `at_start` found
    /// just before it.
    pub(super) fn open_for<T>(&self, count: usize, at_start: impl FnOnce() -> T) -> (Instant, T) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while matches!(*state, State::Closed { waiting } if waiting < count) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let found = at_start();
        let start = Instant::now();
        *state = State::Open { start };
        self.changed.notify_all();
        (start, found)
    }

    /// Calls the start off.
    pub(super) fn cancel(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Cancelled;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_start_at_one_moment_or_none_does() {
        let gate = Gate::new();
        std::thread::scope(|scope| {
            let sessions: Vec<_> = (0..4).map(|_| scope.spawn(|| gate.wait())).collect();
            let (start, ()) = gate.open_for(4, || ());
            assert!(sessions.into_iter().all(|session| session.join().unwrap() == Some(start)));
        });
        let gate = Gate::new();
        std::thread::scope(|scope| {
            let session = scope.spawn(|| gate.wait());
            gate.cancel();
            assert_eq!(session.join().unwrap(), None);
        });
    }
}
