//! Limits of drift, stalls and variation, for the verdict on a run and the decision to end one ([`SteadyWatch`]).

use std::collections::VecDeque;

use crate::summary;
use crate::trend::RobustTrend;

/// Repeated runs on quiet hosts agree within 3 %, and single seconds vary about three times as much.
pub const STEADY_VARIATION: f64 = 0.10;
/// The mean of such a series says little.
pub const WILD_VARIATION: f64 = 0.30;
/// Good runs differ by 3 %.
pub const TREND_PERCENT: f64 = 5.0;
/// A share of the median.
pub const STALL_SHARE: f64 = 0.5;
/// Neighbouring seconds resemble each other, which makes the test too sure, hence the strict level.
const TREND_P_VALUE: f64 = 0.001;

/// Shape of a series of rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Steadiness {
    /// Median rate.
    pub median: f64,
    /// Standard deviation by mean; `None` if the mean is 0.
    pub variation: Option<f64>,
    /// `None` with fewer than two points.
    pub trend: Option<RobustTrend>,
    /// Indices of stalls, in order.
    pub stalls: Vec<usize>,
}

impl Steadiness {
    /// Points are time and rate. `None` without any.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let rates: Vec<f64> = points.iter().map(|point| point.1).collect();
        let median = summary::median(&rates)?;
        let stalled = |(_, rate): &(usize, &f64)| **rate < STALL_SHARE * median;
        Some(Self {
            median,
            variation: summary::coefficient_of_variation(&rates),
            trend: RobustTrend::theil_sen(points),
            stalls: rates.iter().enumerate().filter(stalled).map(|(place, _)| place).collect(),
        })
    }

    /// Significant change over the series, in percent, of at least `least_percent` up or down.
    pub fn drift(&self, least_percent: f64) -> Option<f64> {
        let trend = self.trend?;
        trend.p_value.filter(|p| *p < TREND_P_VALUE)?;
        trend.change_percent.filter(|change| change.abs() >= least_percent)
    }
}

/// Condition of a steady run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// The least is 2.
    pub windows: usize,
    /// The least is 1.
    pub window_s: u64,
    /// A share of the windows' mean: 0.03 is 3 %.
    pub tolerance: f64,
}

/// Watches a rate until its last windows agree. It keeps only those.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyWatch {
    rule: SteadyRule,
    seconds: VecDeque<f64>,
    next_s: u64,
}

/// The last windows of a [`SteadyWatch`].
#[derive(Clone, Debug, PartialEq)]
pub struct LastWindows {
    /// First second of the first window.
    pub since_s: u64,
    /// Mean rate of each window.
    pub rates: Vec<f64>,
    /// Largest minus smallest rate, by their mean; `None` if the mean is 0.
    pub spread: Option<f64>,
}

impl SteadyWatch {
    /// The test looks at all pairs.
    const TREND_POINTS: usize = 120;

    /// `first_s` is the first second.
    pub fn new(rule: SteadyRule, first_s: u64) -> Self {
        let rule = SteadyRule { windows: rule.windows.max(2), window_s: rule.window_s.max(1), ..rule };
        Self { rule, seconds: VecDeque::new(), next_s: first_s }
    }

    /// Next second to [`push`](Self::push).
    pub fn next_s(&self) -> u64 {
        self.next_s
    }

    /// Adds the rate of the next second.
    pub fn push(&mut self, rate: f64) {
        self.seconds.push_back(rate);
        self.next_s += 1;
        if self.seconds.len() > self.needed() {
            self.seconds.pop_front();
        }
    }

    /// `None` until there are enough seconds.
    pub fn last_windows(&self) -> Option<LastWindows> {
        if self.seconds.len() < self.needed() {
            return None;
        }
        let seconds: Vec<f64> = self.seconds.iter().copied().collect();
        let rates = means(&seconds, self.rule.window_s as usize);
        let (low, high) =
            rates.iter().fold((f64::MAX, f64::MIN), |(low, high), rate| (low.min(*rate), high.max(*rate)));
        let mean = summary::mean(&rates)?;
        let spread = (mean > 0.0).then(|| (high - low) / mean);
        Some(LastWindows { since_s: self.next_s - self.needed() as u64, rates, spread })
    }

    /// Windows agree within the tolerance and drift by less.
    pub fn is_steady(&self) -> bool {
        let tolerance = self.rule.tolerance;
        let agree = |windows: &LastWindows| windows.spread.is_some_and(|spread| spread <= tolerance);
        if !self.last_windows().as_ref().is_some_and(agree) {
            return false;
        }
        let seconds: Vec<f64> = self.seconds.iter().copied().collect();
        let points = means(&seconds, seconds.len().div_ceil(Self::TREND_POINTS));
        let points: Vec<(f64, f64)> =
            points.into_iter().enumerate().map(|(at, rate)| (at as f64, rate)).collect();
        Steadiness::of(&points).is_some_and(|all| all.drift(100.0 * tolerance).is_none())
    }

    fn needed(&self) -> usize {
        self.rule.windows * self.rule.window_s as usize
    }
}

/// Leaves out an incomplete last chunk.
fn means(values: &[f64], each: usize) -> Vec<f64> {
    values.chunks_exact(each.max(1)).filter_map(summary::mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady_after(rule: SteadyRule, rates: impl IntoIterator<Item = f64>) -> Option<u64> {
        let mut watch = SteadyWatch::new(rule, 0);
        for rate in rates {
            watch.push(rate);
            if watch.is_steady() {
                return Some(watch.next_s());
            }
        }
        None
    }

    const RULE: SteadyRule = SteadyRule { windows: 3, window_s: 10, tolerance: 0.03 };

    #[test]
    fn a_rate_that_settles_is_steady_when_its_last_windows_agree() {
        // Half way to 1,000 every 10 s: within 3 % of it after 50 s.
        let settling = |second: u64| 1000.0 * (1.0 - 0.5_f64.powf(second as f64 / 10.0));
        let after = steady_after(RULE, (0..300).map(settling)).unwrap();
        assert!((70..=100).contains(&after), "{after}");
        // A constant needs the three windows and no more.
        assert_eq!(steady_after(RULE, [5.0; 100]), Some(30));
    }

    #[test]
    fn a_rate_that_always_rises_is_not_steady() {
        // 6 % from window to window.
        assert_eq!(steady_after(RULE, (0..600).map(|second| 1.006_f64.powi(second))), None);
        // The windows of this one agree within 3 %, as 1.4 % lie between two of them, but it drifts by 4.1 %.
        assert_eq!(steady_after(RULE, (0..600).map(|second| 1.0014_f64.powi(second))), None);
    }

    #[test]
    fn an_idle_run_is_not_steady_and_memory_is_bounded() {
        assert_eq!(steady_after(RULE, [0.0; 100]), None);
        let mut watch = SteadyWatch::new(RULE, 7);
        (0..1000).for_each(|second| watch.push(f64::from(second % 9)));
        assert_eq!((watch.seconds.len(), watch.next_s()), (30, 1007));
        assert_eq!(watch.last_windows().map(|last| last.since_s), Some(977));
    }

    #[test]
    fn stalls_are_found() {
        let points: Vec<(f64, f64)> =
            (0..20).map(|at| (f64::from(at), if at == 7 { 4.0 } else { 10.0 })).collect();
        let steadiness = Steadiness::of(&points).unwrap();
        assert_eq!(
            (steadiness.median, &steadiness.stalls[..], steadiness.drift(1.0)),
            (10.0, &[7][..], None)
        );
        assert!(Steadiness::of(&[]).is_none());
    }
}
