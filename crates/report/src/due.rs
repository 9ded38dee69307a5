//! In an open loop: what was due in the window, and how much of it was done.

use slob_record::Record;

use crate::counters::{operations, ratio};
use crate::format::{count, fixed, percent};
use crate::sums::total;

/// A rate is met if this share of what was due was done.
const MET: f64 = 0.99;
/// A number of random arrivals lies within so many of its standard deviations, hardly ever further.
const DEVIATIONS: f64 = 4.0;

/// What RATE asked for in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Due {
    /// Operations that ended.
    done: u64,
    /// Operations that were due: of random arrivals, their mean.
    due: f64,
    /// How far the number that really was due may lie below that, and what may have been under way at the edges.
    slack: f64,
    per_s: u32,
    seconds: f64,
}

impl Due {
    /// `None` without RATE, or without a window.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let (per_s, window) = (record.workload.rate_per_s?, record.window?);
        let due = f64::from(per_s) * window.seconds;
        let is_random = record.workload.arrivals.as_deref() == Some("poisson");
        let chance = if is_random { DEVIATIONS * due.sqrt() } else { 0.0 };
        Some(Self {
            done: total(operations(record)?.into_values()),
            due,
            slack: chance + f64::from(record.workload.sessions()),
            per_s,
            seconds: window.seconds,
        })
    }

    /// What was done, as a share of what was due.
    pub(crate) fn share(&self) -> Option<f64> {
        ratio(self.done as f64, self.due)
    }

    /// Whether less was done than can be put down to chance.
    pub(crate) fn is_unmet(&self) -> bool {
        (self.done as f64 + self.slack) < MET * self.due
    }

    /// Both, and both rates.
    pub(crate) fn words(&self) -> String {
        format!(
            "{} of {} operations that were due, {} %, were done, {}",
            count(self.done),
            count(self.due.round() as u64),
            percent(100.0 * self.share().unwrap_or_default()),
            self.rates()
        )
    }

    /// What was done and what was asked for, per second.
    pub(crate) fn rates(&self) -> String {
        let done_per_s = ratio(self.done as f64, self.seconds).unwrap_or_default();
        format!("{}/s of {}/s", fixed(done_per_s, 0), count(u64::from(self.per_s)))
    }
}
