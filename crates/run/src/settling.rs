//! The end of a warm-up with WARMUP=auto.

use std::time::Duration;

use slob_record::{AutoWarmUp, Interval, UntilSteady};
use slob_stats::SettleWatch;

use crate::tally::{GrowingSeries, LONGEST_BATCH};

/// Watches the warm-up, whose clock begins at 0.
#[derive(Debug)]
pub(crate) struct Settling {
    at_most: Duration,
    watch: SettleWatch,
    is_settled: bool,
}

impl Settling {
    pub(crate) fn new(at_most: Duration) -> Self {
        Self { at_most, watch: SettleWatch::new(at_most.as_secs()), is_settled: false }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// The planned end, once the load has settled: a whole second, by which batches under way have ended. Later calls return
    /// `None`.
    pub(crate) fn end(&mut self, series: &GrowingSeries, now: Duration) -> Option<Duration> {
        if self.is_settled {
            return None;
        }
        self.watch_until(series, GrowingSeries::complete_s(now));
        let end = Duration::from_secs((now + LONGEST_BATCH).as_secs() + 1);
        (self.is_settled && end < self.at_most).then_some(end)
    }

    /// Only complete seconds count: those before `end_s`.
    pub(crate) fn watch_until(&mut self, series: &GrowingSeries, end_s: u64) {
        while !self.is_settled && self.watch.next_s() < end_s {
            let (operations, responses_ns) = series.second(self.watch.next_s()).map_or((0, 0), counted);
            self.watch.push(operations, responses_ns);
            self.is_settled = self.watch.is_settled();
        }
    }

    /// It took `seconds`.
    pub(crate) fn record(&self, seconds: f64) -> AutoWarmUp {
        let last = self.watch.last_windows();
        let steady = UntilSteady {
            reached: self.is_settled,
            tolerance_percent: 100.0 * SettleWatch::TOLERANCE,
            window_s: last.as_ref().map_or(0, |last| last.window_s),
            since_s: last.as_ref().map(|last| last.since_s),
            operations_per_s: last.as_ref().map(|last| last.rates.clone()).unwrap_or_default(),
        };
        let responses_ns = last.map(|last| last.responses_ns).unwrap_or_default();
        let responses_us = responses_ns.into_iter().map(|ns| ns / 1e3).collect();
        AutoWarmUp { at_most_s: self.at_most.as_secs_f64(), seconds, steady, responses_us }
    }
}

/// Without response times, those of a closed loop whose sessions take no turns are the durations.
fn counted(second: &Interval) -> (u64, u64) {
    let responses = if second.response.is_empty() { &second.latency } else { &second.response };
    (responses.count(), responses.sum())
}
