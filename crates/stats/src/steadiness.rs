//! Limits of drift, stalls and variation, for the verdict on a run, and the decisions to end one ([`SteadyWatch`]) or its warm-up
//! ([`SettleWatch`]).

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
        let spread = spread(&rates);
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
        !drifts(&means(&seconds, seconds.len().div_ceil(TREND_POINTS)), tolerance)
    }

    fn needed(&self) -> usize {
        self.rule.windows * self.rule.window_s as usize
    }
}

/// Watches a warm-up until rate and response time are steady in its last half, which it cuts into three windows.
///
/// The windows of each series must agree within [`SettleWatch::TOLERANCE`] and show no drift (Theil and Sen; Mann and Kendall). The
/// windows are non-overlapping batch means, and what is left out is at least half, as in MSER-5 (White 1997; Hoad, Robinson and
/// Davies 2010): a series that settles slowly is compared over a longer time. Tried on the shapes of the tests below, with their
/// known ends, MSER-5 itself, Geweke's test, and the coefficient of variation of the last seconds (Georges, Buytaert and Eeckhout
/// 2007) ended slow warm-ups too early.
#[derive(Clone, Debug, PartialEq)]
pub struct SettleWatch {
    least_window_s: usize,
    /// Operations of each second, and the sum of their response times.
    seconds: Vec<(u64, u64)>,
}

/// The last half of a warm-up, in windows.
#[derive(Clone, Debug, PartialEq)]
pub struct SettleWindows {
    /// First second of the first window.
    pub since_s: u64,
    /// Length of each.
    pub window_s: u64,
    /// Mean operations per second of each.
    pub rates: Vec<f64>,
    /// Mean response time of each in nanoseconds; none for a window without operations.
    pub responses_ns: Vec<f64>,
}

impl SettleWatch {
    /// Largest difference between the windows of a series, as a share of their mean. Repeated runs on quiet hosts agree as well.
    pub const TOLERANCE: f64 = 0.03;
    const WINDOWS: usize = 3;
    /// Shorter windows agree by chance.
    const LEAST_WINDOW_S: u64 = 5;

    /// A warm-up of at most `most_s` seconds, from second 0 on. A short one has shorter windows, of a second at least.
    pub fn new(most_s: u64) -> Self {
        let least_window_s = (most_s / (2 * Self::WINDOWS as u64)).clamp(1, Self::LEAST_WINDOW_S) as usize;
        Self { least_window_s, seconds: Vec::new() }
    }

    /// Next second to [`push`](Self::push).
    pub fn next_s(&self) -> u64 {
        self.seconds.len() as u64
    }

    /// Adds the operations of the next second, and the sum of their response times.
    pub fn push(&mut self, operations: u64, responses_ns: u64) {
        self.seconds.push((operations, responses_ns));
    }

    /// Length of a window.
    fn window_s(&self) -> usize {
        (self.seconds.len() / (2 * Self::WINDOWS)).max(self.least_window_s)
    }

    /// `None` until there are enough seconds.
    fn last(&self) -> Option<&[(u64, u64)]> {
        let first = self.seconds.len().checked_sub(Self::WINDOWS * self.window_s())?;
        Some(&self.seconds[first..])
    }

    /// `None` until there are enough seconds.
    pub fn last_windows(&self) -> Option<SettleWindows> {
        let last = self.last()?;
        let (rates, responses_ns) = rates_and_responses(last, self.window_s());
        let since_s = (self.seconds.len() - last.len()) as u64;
        Some(SettleWindows { since_s, window_s: self.window_s() as u64, rates, responses_ns })
    }

    /// Rate and response time are steady in the last windows.
    pub fn is_settled(&self) -> bool {
        let Some(last) = self.last() else { return false };
        let (rates, responses) = rates_and_responses(last, self.window_s());
        let agree = |windows: &[f64]| {
            windows.len() == Self::WINDOWS && spread(windows).is_some_and(|spread| spread <= Self::TOLERANCE)
        };
        if !agree(&rates) || !agree(&responses) {
            return false;
        }
        let (rates, responses) = rates_and_responses(last, last.len().div_ceil(TREND_POINTS));
        !drifts(&rates, Self::TOLERANCE) && !drifts(&responses, Self::TOLERANCE)
    }
}

/// Leaves out an incomplete last chunk, and responses of chunks without operations.
fn rates_and_responses(seconds: &[(u64, u64)], each: usize) -> (Vec<f64>, Vec<f64>) {
    let sum = |chunk: &[(u64, u64)]| {
        chunk.iter().fold((0.0, 0.0), |(count, ns), second| (count + second.0 as f64, ns + second.1 as f64))
    };
    let sums: Vec<(f64, f64)> = seconds.chunks_exact(each).map(sum).collect();
    let responses = sums.iter().filter(|(count, _)| *count > 0.0).map(|(count, ns)| ns / count);
    (sums.iter().map(|(count, _)| count / each as f64).collect(), responses.collect())
}

/// Largest minus smallest value, by their mean; `None` if the mean is 0.
fn spread(values: &[f64]) -> Option<f64> {
    let (low, high) = (summary::minimum(values)?, summary::maximum(values)?);
    summary::mean(values).filter(|mean| *mean > 0.0).map(|mean| (high - low) / mean)
}

/// The test for a trend looks at all pairs.
const TREND_POINTS: usize = 120;

fn drifts(values: &[f64], tolerance: f64) -> bool {
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
    Steadiness::of(&points).is_some_and(|all| all.drift(100.0 * tolerance).is_some())
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

    /// Rates of 300 seconds around a shape that ends at 1, with noise. In a closed loop, response times are their inverse.
    fn warm_up(shape: impl Fn(f64) -> f64, noise: f64, seed: u64) -> impl Iterator<Item = (u64, u64)> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        // Sums of twelve uniform numbers are nearly normal.
        let mut normal = move || {
            let mut uniform = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1_u64 << 53) as f64
            };
            (0..12).map(|_| uniform()).sum::<f64>() - 6.0
        };
        (0..300).map(move |second| {
            let rate = 10_000.0 * shape(f64::from(second)) * (1.0 + noise * normal());
            (rate as u64, 8_000_000_000)
        })
    }

    fn settled_after(seconds: impl Iterator<Item = (u64, u64)>, most_s: u64) -> Option<u64> {
        let mut watch = SettleWatch::new(most_s);
        let mut seconds = seconds.take(most_s as usize);
        seconds.find_map(|(operations, ns)| {
            watch.push(operations, ns);
            watch.is_settled().then(|| watch.next_s())
        })
    }

    /// Rate at a second.
    type Shape = fn(f64) -> f64;

    const SHAPES: [(&str, Shape, f64); 7] = [
        ("constant", |_| 1.0, 0.0),
        ("a cache fills in seconds", |s| 1.0 - 0.5 * (-s / 3.0).exp(), 8.0),
        ("a cache fills in half a minute", |s| 1.0 - 0.5 * (-s / 10.0).exp(), 28.0),
        ("a cache fills in minutes", |s| 1.0 - 0.5 * (-s / 30.0).exp(), 84.0),
        ("it slows down", |s| 1.0 + 0.5 * (-s / 10.0).exp(), 28.0),
        ("it rises for a minute", |s| 1.0 - 0.6 * (1.0 - s / 60.0).max(0.0), 57.0),
        ("a checkpoint ends", |s| if s < 8.0 { 0.75 } else { 1.0 }, 8.0),
    ];

    /// Each shape has a known second from which on it is within 3 % of its end. The thirty seconds after the warm-up count.
    #[test]
    fn a_warm_up_ends_when_the_load_has_settled_and_soon_after() {
        for (name, shape, settled_s) in SHAPES {
            for noise in [0.01, 0.03] {
                let mut biases = Vec::new();
                for seed in 1..=20 {
                    let after = settled_after(warm_up(shape, noise, seed), 300).unwrap_or(300);
                    let window = (after..after + 30).map(|second| shape(second as f64));
                    biases.push(100.0 * (window.sum::<f64>() / 30.0 - 1.0).abs());
                    assert!(after as f64 <= 2.0 * settled_s + 80.0, "{name}, {noise}, {seed}: {after}");
                }
                let worst = summary::maximum(&biases).unwrap();
                assert!(worst < 4.0, "{name}, {noise}: the next window is {worst} % off");
            }
        }
    }

    /// Rules of the literature, on the same series: they end warm-ups in the middle of a slow rise.
    #[test]
    fn the_variation_of_the_last_seconds_would_end_slow_warm_ups_too_early() {
        let (_, shape, settled_s) = SHAPES[3];
        for seed in 1..=20 {
            let rates: Vec<f64> = warm_up(shape, 0.01, seed).map(|second| second.0 as f64).collect();
            let is_even =
                |last: &[f64]| summary::coefficient_of_variation(last).is_some_and(|share| share < 0.05);
            let by_variation = rates.windows(10).position(is_even).unwrap() + 10;
            let by_halves = settled_after(warm_up(shape, 0.01, seed), 300).unwrap();
            assert!((by_variation as f64) < settled_s / 2.0, "{by_variation}");
            assert!(by_halves as f64 > 0.9 * settled_s, "{by_halves}");
        }
    }

    #[test]
    fn a_load_that_changes_all_the_time_never_settles() {
        for percent in [-0.6, 0.6] {
            let shape = move |second: f64| (1.0_f64 + percent / 100.0).powf(second);
            assert_eq!(settled_after(warm_up(shape, 0.01, 1), 300), None);
        }
        let idle = std::iter::repeat_n((0, 0), 300);
        assert_eq!(settled_after(idle, 300), None);
    }

    #[test]
    fn an_open_loop_settles_with_its_response_times() {
        // The rate is held from the first second on, but the backlog is worked off for 40 s.
        let backlog = |second: u64| (1000, 1000 * (2_000_000 + 50_000_000 * 40_u64.saturating_sub(second)));
        let after = settled_after((0..300).map(backlog), 300).unwrap();
        assert!((55..=90).contains(&after), "{after}");
        // A second without operations is part of its window.
        let sparse = (0..300).map(|second| if second % 5 == 0 { (1, 7_000_000) } else { (0, 0) });
        assert_eq!(settled_after(sparse, 300), Some(15));
    }

    #[test]
    fn short_warm_ups_have_shorter_windows() {
        let after = |most_s| settled_after(std::iter::repeat((100, 5_000_000)), most_s);
        assert_eq!([3, 10, 20, 30, 600].map(after), [3, 3, 9, 15, 15].map(Some));
        let mut watch = SettleWatch::new(300);
        assert_eq!(watch.last_windows(), None);
        (0..60).for_each(|_| watch.push(100, 500));
        let last = watch.last_windows().unwrap();
        assert_eq!((last.since_s, last.window_s, last.rates), (30, 10, vec![100.0; 3]));
        assert_eq!(last.responses_ns, [5.0; 3]);
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
