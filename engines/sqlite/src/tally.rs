//! What sessions count themselves, while they work and after they have ended.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A counter with one writer, which therefore needs no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What one session has done; its thread alone writes.
#[derive(Debug, Default)]
pub(crate) struct SessionCounts {
    pub(crate) logical_reads: Count,
    pub(crate) commits: Count,
    pub(crate) rows_read: Count,
    pub(crate) rows_changed: Count,
    pub(crate) checkpoints: Count,
    /// How often, and how long in nanoseconds, it waited for its turn to write a schema.
    pub(crate) write_waits: Count,
    pub(crate) write_wait_ns: Count,
}

/// The sums over sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) logical_reads: u64,
    pub(crate) commits: u64,
    pub(crate) rows_read: u64,
    pub(crate) rows_changed: u64,
    pub(crate) checkpoints: u64,
    pub(crate) write_waits: u64,
    pub(crate) write_wait_ns: u64,
}

impl Sums {
    fn add(&mut self, counts: &SessionCounts) {
        self.logical_reads += counts.logical_reads.get();
        self.commits += counts.commits.get();
        self.rows_read += counts.rows_read.get();
        self.rows_changed += counts.rows_changed.get();
        self.checkpoints += counts.checkpoints.get();
        self.write_waits += counts.write_waits.get();
        self.write_wait_ns += counts.write_wait_ns.get();
    }
}

#[derive(Debug, Default)]
struct State {
    working: Vec<Arc<SessionCounts>>,
    ended: Sums,
}

/// Adds up all sessions of an engine.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<State>);

impl Tally {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session's counts.
    pub(crate) fn open(&self) -> Arc<SessionCounts> {
        let counts = Arc::<SessionCounts>::default();
        self.lock().working.push(Arc::clone(&counts));
        counts
    }

    /// Keeps the counts of a session that ends.
    pub(crate) fn close(&self, counts: &Arc<SessionCounts>) {
        let mut state = self.lock();
        if let Some(at) = state.working.iter().position(|working| Arc::ptr_eq(working, counts)) {
            state.working.swap_remove(at);
            state.ended.add(counts);
        }
    }

    /// Everything counted so far.
    pub(crate) fn sums(&self) -> Sums {
        let state = self.lock();
        let mut sums = state.ended;
        state.working.iter().for_each(|counts| sums.add(counts));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_ended_still_count_once() {
        let tally = Tally::default();
        let (first, second) = (tally.open(), tally.open());
        first.commits.add(2);
        second.commits.add(3);
        second.rows_read.add(7);
        let expected = Sums { commits: 5, rows_read: 7, ..Sums::default() };
        assert_eq!(tally.sums(), expected);
        tally.close(&second);
        tally.close(&second);
        assert_eq!(tally.sums(), expected);
    }
}
