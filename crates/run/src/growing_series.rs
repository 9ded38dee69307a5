//! The series of a run while it grows.

use std::collections::BTreeMap;
use std::time::Duration;

use slob_record::Interval;
use slob_stats::{Merge, Series};

use crate::batch_size::LONGEST_BATCH;
use crate::run_clock::RunClock;
use crate::sampler::Sample;
use crate::tally::{Tally, merge_into};

/// Points of a series; a longer run gets wider intervals. Keeps the series below 40 MB of memory.
const MOST_POINTS: usize = 1800;
/// How many seconds an operation may be reported late before it counts to a later second.
const LATE: u64 = 60;

/// How many seconds of a run are complete when its clock shows `now`: sessions report after each batch.
pub(crate) fn complete_s(now: Duration) -> u64 {
    now.saturating_sub(LONGEST_BATCH).as_secs()
}

/// The series while it grows: seconds that may still get late reports are kept apart.
#[derive(Debug)]
pub(crate) struct GrowingSeries {
    settled: Series<Interval>,
    open: BTreeMap<u64, Interval>,
    sampled: Interval,
}

impl GrowingSeries {
    pub(crate) fn new() -> Self {
        Self { settled: Series::new(0, MOST_POINTS), open: BTreeMap::new(), sampled: Interval::default() }
    }

    /// Adds what was sampled between two moments to the second in which most of it lies.
    pub(crate) fn add_sampled(&mut self, clock: &RunClock, from: &Sample, to: &Sample) {
        let interval = to.interval_since(from);
        self.sampled.merge(&interval);
        let middle = (clock.at(from.taken) + clock.at(to.taken)) / 2;
        merge_into(&mut self.open, middle.as_secs(), &interval);
    }

    /// Takes in what the sessions reported, as far as none of them is at it; returns that and what was sampled since the last call.
    pub(crate) fn collect(&mut self, tally: &Tally) -> Interval {
        self.take_in(tally.drain_free_seconds())
    }

    fn take_in(&mut self, reported: BTreeMap<u64, Interval>) -> Interval {
        let mut recent = std::mem::take(&mut self.sampled);
        for (second, interval) in reported {
            recent.merge(&interval);
            // What comes later than LATE counts to the oldest second that is still open.
            let oldest = self.open.keys().next().copied().unwrap_or(second);
            merge_into(&mut self.open, second.max(oldest), &interval);
        }
        let newest = self.open.keys().next_back().copied().unwrap_or(0);
        self.settle(newest.saturating_sub(LATE));
        recent
    }

    /// Operations that ended in a second, as far as they were reported; 0 for one that is more than a minute ago.
    pub(crate) fn operations_in(&self, second: u64) -> u64 {
        self.open.get(&second).map_or(0, |interval| interval.ops.total())
    }

    fn settle(&mut self, before: u64) {
        let still_open = self.open.split_off(&before);
        for (second, interval) in std::mem::replace(&mut self.open, still_open) {
            // Seconds come out of the map in order, so none is refused.
            let _ = self.settled.push(second, interval);
        }
    }

    pub(crate) fn flush_all(&mut self, tally: &Tally) {
        self.take_in(tally.drain_seconds());
        self.settle(u64::MAX);
    }

    /// The same with what may still get late reports, but for the seconds that are not complete at `now`: fewer operations in
    /// the last one would look like a standstill.
    pub(crate) fn so_far(&self, now: Duration) -> Self {
        let open = self.open.range(..complete_s(now)).map(|(second, interval)| (*second, interval.clone()));
        let mut series =
            Self { settled: self.settled.clone(), open: open.collect(), sampled: Interval::default() };
        series.settle(u64::MAX);
        series
    }

    pub(crate) fn into_series(self) -> Series<Interval> {
        self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_measure::OpKind;

    #[test]
    fn a_series_so_far_ends_with_its_last_complete_second() {
        let second = |second: u64| {
            let mut interval = Interval::default();
            interval.ops.count(OpKind::Select);
            (second, interval)
        };
        let mut series = GrowingSeries::new();
        series.take_in((0..6).map(second).collect());
        let seconds_at = |ms| series.so_far(Duration::from_millis(ms)).into_series().points().count();
        assert_eq!([900, 1900, 2000, 5900, 7000].map(seconds_at), [0, 0, 1, 4, 6]);
        series.settle(u64::MAX);
        assert_eq!(series.into_series().points().count(), 6, "none is lost by that");
    }
}
