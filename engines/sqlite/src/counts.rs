//! Sessions count their work, and a tally sums it up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use slob_engine::lock;

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.get() + n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts<T> {
    pub(crate) logical_reads: T,
    pub(crate) commits: T,
    pub(crate) rows_read: T,
    pub(crate) rows_changed: T,
    pub(crate) checkpoints: T,
    /// Waits for the turn to write a schema, and their time in nanoseconds.
    pub(crate) write_waits: T,
    pub(crate) write_wait_ns: T,
}

pub(crate) type SessionCounts = Counts<Count>;

impl Counts<u64> {
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

/// Sums of all sessions, ended ones included.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    working: Vec<Arc<SessionCounts>>,
    ended: Counts<u64>,
}

impl Tally {
    pub(crate) fn open(&self) -> Arc<SessionCounts> {
        let counts = Arc::<SessionCounts>::default();
        lock(&self.0).working.push(Arc::clone(&counts));
        counts
    }

    pub(crate) fn close(&self, counts: &Arc<SessionCounts>) {
        let mut state = lock(&self.0);
        if let Some(at) = state.working.iter().position(|working| Arc::ptr_eq(working, counts)) {
            state.working.swap_remove(at);
            state.ended.add(counts);
        }
    }

    pub(crate) fn sums(&self) -> Counts<u64> {
        let state = lock(&self.0);
        let mut sums = state.ended;
        state.working.iter().for_each(|counts| sums.add(counts));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_sessions_still_count_once() {
        let tally = Tally::default();
        let (first, second) = (tally.open(), tally.open());
        first.commits.add(2);
        second.commits.add(3);
        second.rows_read.add(7);
        let expected = Counts { commits: 5, rows_read: 7, ..Counts::default() };
        assert_eq!(tally.sums(), expected);
        tally.close(&second);
        tally.close(&second);
        assert_eq!(tally.sums(), expected);
    }
}
