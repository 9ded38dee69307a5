//! Has the run become steady? What UNTIL_STEADY asks every second.

use std::time::Duration;

use slob_record::UntilSteady as Outcome;
use slob_spec::UntilSteady;
use slob_stats::{SteadyRule, SteadyWatch};

use crate::growing_series::{self, GrowingSeries};

/// The rate of a run, watched from the beginning of its window on.
#[derive(Debug)]
pub(crate) struct SteadyUntil {
    asked: UntilSteady,
    watch: SteadyWatch,
    /// Whether that is why the window ended.
    reached: bool,
}

impl SteadyUntil {
    /// `window_begin` is counted from the start of the sessions; only seconds that lie wholly behind it count.
    pub(crate) fn new(asked: UntilSteady, window_begin: Duration) -> Self {
        let rule = SteadyRule {
            windows: UntilSteady::WINDOWS as usize,
            window_s: asked.window_s,
            tolerance: f64::from(asked.tolerance_percent) / 100.0,
        };
        let first_s = window_begin.as_secs() + u64::from(window_begin.subsec_nanos() > 0);
        Self { asked, watch: SteadyWatch::new(rule, first_s), reached: false }
    }

    /// Takes in the seconds that are complete when the run's clock shows `now`, and says whether the last windows agree.
    pub(crate) fn look(&mut self, series: &GrowingSeries, now: Duration) -> bool {
        let complete_s = growing_series::complete_s(now);
        while self.watch.next_s() < complete_s && !self.reached {
            self.watch.push(series.operations_in(self.watch.next_s()) as f64);
            self.reached = self.watch.is_steady();
        }
        self.reached
    }

    /// For the record.
    pub(crate) fn outcome(&self) -> Outcome {
        let last = self.watch.last_windows();
        Outcome {
            reached: self.reached,
            tolerance_percent: f64::from(self.asked.tolerance_percent),
            window_s: self.asked.window_s,
            since_s: last.as_ref().map(|last| last.since_s),
            operations_per_s: last.map(|last| last.rates).unwrap_or_default(),
        }
    }
}
