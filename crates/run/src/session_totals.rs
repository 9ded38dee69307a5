//! What one session did within the window.

use slob_engine::OpOutcome;
use slob_measure::{OpCounts, OpKind};
use slob_record::LongestWait;

/// What a session did within the window; moments are nanoseconds of the run's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SessionTotals {
    /// Operations that ended before the window.
    pub(crate) before_window: u64,
    /// Operations that ended within it, and their figures.
    pub(crate) operations: OpCounts,
    pub(crate) rows: u64,
    pub(crate) busy_ns: u64,
    pub(crate) max_ns: Option<u64>,
    /// Until when it was busy: when its last operation ended, within the window or not, or an attempt failed.
    last_end_ns: u64,
    /// From when on it could begin its next operation: its pause was over.
    ready_ns: u64,
    /// The longest time that it was ready and no operation ended: from when on, and how long.
    longest_wait: Option<(u64, u64)>,
}

impl SessionTotals {
    /// An operation of the window.
    pub(crate) fn add(&mut self, kind: OpKind, done: &OpOutcome) {
        self.operations.count(kind);
        self.rows += done.rows;
        self.busy_ns += done.duration_ns;
        self.max_ns = self.max_ns.max(Some(done.duration_ns));
    }

    /// Something else than its operations kept the session busy until then: an operation that failed and is repeated, or
    /// the way back to its database.
    pub(crate) fn was_busy_until(&mut self, ns: u64) {
        self.last_end_ns = self.last_end_ns.max(ns);
    }

    /// An operation ended.
    pub(crate) fn ended(&mut self, ns: u64) {
        self.last_end_ns = ns;
    }

    /// From the intended start of an operation to its end. A session that was idle when the operation was due began
    /// it late only because no timer is exact, which is not the database's doing: then it is the duration.
    pub(crate) fn response_ns(&self, due_ns: u64, end_ns: u64, done: &OpOutcome) -> u64 {
        if self.last_end_ns <= due_ns { done.duration_ns } else { end_ns.saturating_sub(due_ns) }
    }

    /// Until then it waited for an operation of the window, or one that began in it, to end; in an open loop from when it was
    /// due, at the earliest.
    pub(crate) fn waited(&mut self, until_ns: u64, due_ns: Option<u64>) {
        let since_ns = self.ready_ns.max(due_ns.unwrap_or(0));
        let wait_ns = until_ns.saturating_sub(since_ns);
        if self.longest_wait.is_none_or(|(_, longest_ns)| wait_ns > longest_ns) {
            self.longest_wait = Some((since_ns, wait_ns));
        }
    }

    /// An operation ended that is followed by a pause, in microseconds.
    pub(crate) fn ready_after(&mut self, end_ns: u64, pause_us: u32) {
        self.ready_ns = end_ns + u64::from(pause_us) * 1000;
    }

    /// The longest time that it had something to do, and no operation ended.
    pub(crate) fn longest_wait(&self) -> Option<LongestWait> {
        let seconds = |ns: u64| ns as f64 / 1e9;
        self.longest_wait.map(|(at_ns, ns)| LongestWait { at_s: seconds(at_ns), seconds: seconds(ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_what_is_not_due_are_no_waits() {
        let mut totals = SessionTotals::default();
        let ms = |ms: u64| ms * 1_000_000;
        totals.waited(ms(10), None);
        totals.ready_after(ms(10), 500_000);
        totals.waited(ms(530), None);
        totals.ready_after(ms(530), 0);
        totals.waited(ms(2025), Some(ms(2000)));
        let longest = totals.longest_wait().unwrap();
        assert_eq!((longest.at_s, longest.seconds), (2.0, 0.025));
        totals.ready_after(ms(2025), 0);
        totals.waited(ms(2100), Some(ms(2001)));
        let longest = totals.longest_wait().unwrap();
        assert_eq!((longest.at_s, longest.seconds), (2.025, 0.075));
    }
}
