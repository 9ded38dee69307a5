//! The clock of a run: it stands still while the sessions rest at an edge of the window, so that a second of the series is a
//! second of work, and what is due in an open loop does not fall due meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Counts from the start of the sessions.
#[derive(Debug)]
pub(crate) struct RunClock {
    start: Instant,
    rested_ns: AtomicU64,
}

impl RunClock {
    /// One that shows 0 at `start`.
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, rested_ns: AtomicU64::new(0) }
    }

    /// What it shows at a moment that lies after the last rest.
    pub(crate) fn at(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.start).saturating_sub(self.rested())
    }

    /// When it shows that, unless there is another rest before.
    pub(crate) fn moment(&self, shown: Duration) -> Instant {
        self.start + self.rested() + shown
    }

    /// All rest so far.
    pub(crate) fn rested(&self) -> Duration {
        Duration::from_nanos(self.rested_ns.load(Ordering::Relaxed))
    }

    /// Puts it back by a rest that ends now.
    pub(crate) fn rest(&self, length: Duration) {
        self.rested_ns.fetch_add(nanoseconds(length), Ordering::Relaxed);
    }

    /// What it shows at a moment, in nanoseconds.
    pub(crate) fn ns(&self, moment: Instant) -> u64 {
        nanoseconds(self.at(moment))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_during_a_rest() {
        let start = Instant::now();
        let clock = RunClock::new(start);
        let s = Duration::from_secs;
        assert_eq!((clock.at(start + s(5)), clock.moment(s(5))), (s(5), start + s(5)));
        clock.rest(s(2));
        assert_eq!((clock.at(start + s(7)), clock.moment(s(6))), (s(5), start + s(8)));
        assert_eq!((clock.ns(start + s(1)), clock.rested()), (0, s(2)));
    }
}
