//! Burst credits: a volume delivers a burst until they are spent, and its base rate from then on.
//!
//! The model is that of a token bucket (RFC 2697), as AWS documents it for EBS volumes of type gp2 and st1, and Azure for its
//! burstable disks: credits arrive at the base rate, each operation takes one, and the bucket was full at the begin.

use serde::{Deserialize, Serialize};

use crate::steadiness::STEADY_VARIATION;
use crate::{change_points, summary};

/// A bucket of operations, or of bytes, whose credits a load spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenBucket {
    /// Rate before the cliff.
    pub burst_per_s: f64,
    /// Rate after it, at which credits arrive.
    pub base_per_s: f64,
    /// From the begin of the series to the cliff: how long credits last at this load.
    pub lasts_s: f64,
    /// Those of the full bucket: burst minus base, times the duration.
    pub credits: f64,
}

impl TokenBucket {
    /// Azure's P20, with 3,500 and 2,300 IOPS, falls least among volumes with credits.
    pub const LEAST_FALL: f64 = 1.5;
    /// Fewer points, beside the two at the cliff, don't tell a level from a visit of other programs.
    const LEAST_BESIDE: usize = 8;
    /// The level after the cliff holds for this share of the time before it, at least.
    const LEAST_AFTER: f64 = 0.1;
    /// Points of a level that stalls and visits may move beyond the middle between both.
    const EXCEPTIONS: f64 = 0.05;
    /// The search for changes takes the square of the points.
    const POINTS: usize = 60;
    /// Others that took this share of what was lost may have caused the fall.
    const OF_OTHERS: f64 = 0.25;

    /// Points are the start of an interval in seconds and its rate, in order.
    ///
    /// `None` unless the rate falls once, within two intervals, by a factor of [`LEAST_FALL`](Self::LEAST_FALL), to a level that
    /// varies by less than a steady load's. Other programs that come to stay can do the same.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let (starts, mut rates): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let at = steepest(&rates)?;
        let (before, after) = rates.split_at(at);
        // An interval beside the cliff may have a part of both levels.
        let (clear_before, clear_after) = (&before[..at - 1], &after[1..]);
        let (burst_per_s, base_per_s) = (level(clear_before)?, level(clear_after)?);
        let share = |rate: f64| (rate - base_per_s) / (burst_per_s - base_per_s);
        let is_fall = base_per_s > 0.0 && burst_per_s >= Self::LEAST_FALL * base_per_s;
        let lasts = after.len() as f64 >= Self::LEAST_AFTER * before.len() as f64;
        let near = |rates: &[f64]| summary::median(rates).map(share);
        let is_sharp = near(&clear_before[at - 6..])? >= 0.75
            && near(&clear_after[..5])? <= 0.25
            && near(&after[after.len() - 3..])? <= 0.5;
        let among = |rates: &[f64], is_beyond: &dyn Fn(f64) -> bool| {
            let beyond = rates.iter().filter(|rate| is_beyond(share(**rate))).count();
            beyond as f64 <= Self::EXCEPTIONS * rates.len() as f64
        };
        let is_once = among(clear_before, &|share| share < 0.5) && among(clear_after, &|share| share > 0.5);
        if !(is_fall && lasts && is_sharp && is_once && is_flat(clear_after)?) {
            return None;
        }
        let widths: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let of_burst = |rate: f64| share(rate).clamp(0.0, 1.0);
        let at_s =
            starts[at - 1] + (of_burst(rates[at - 1]) + of_burst(rates[at])) * summary::median(&widths)?;
        // A stall has no logarithm.
        rates.iter_mut().for_each(|rate| *rate = rate.max(base_per_s / 10.0));
        let each = rates.len().div_ceil(Self::POINTS);
        let means: Vec<f64> = rates.chunks(each).filter_map(summary::mean).collect();
        let is_change = |change: &usize| change.abs_diff(at / each) <= 1;
        change_points(&means)?.iter().any(is_change).then(|| {
            let lasts_s = at_s - starts[0];
            Self { burst_per_s, base_per_s, lasts_s, credits: (burst_per_s - base_per_s) * lasts_s }
        })
    }

    /// True if other programs came when the rate fell. Points are theirs, in the unit and over the time of the fitted ones.
    pub fn is_of_others(&self, points: &[(f64, f64)]) -> bool {
        let Some((first_s, _)) = points.first() else { return false };
        let is_before = |point: &&(f64, f64)| point.0 - first_s < self.lasts_s;
        let (before, after): (Vec<_>, Vec<_>) = points.iter().partition(is_before);
        let level =
            |points: &[(f64, f64)]| summary::median(&points.iter().map(|point| point.1).collect::<Vec<_>>());
        let more = level(&after).zip(level(&before)).map(|(after, before)| after - before);
        more.is_some_and(|more| more >= Self::OF_OTHERS * (self.burst_per_s - self.base_per_s))
    }
}

/// The first point after the fall: the split into two levels that leaves the least squares.
fn steepest(rates: &[f64]) -> Option<usize> {
    let (n, all) = (rates.len(), rates.iter().sum::<f64>());
    let mut sum = 0.0;
    let mut best = None;
    for (last, rate) in rates.iter().enumerate() {
        sum += rate;
        let (left, right) = ((last + 1) as f64, (n - last - 1) as f64);
        let fall = sum / left - (all - sum) / right;
        let explained = left * right * fall * fall;
        let is_long = left.min(right) as usize > TokenBucket::LEAST_BESIDE;
        if is_long && fall > 0.0 && best.is_none_or(|(most, _)| explained > most) {
            best = Some((explained, last + 1));
        }
    }
    best.map(|(_, at)| at)
}

/// Mean of the middle half, which stalls don't move.
fn level(rates: &[f64]) -> Option<f64> {
    let (low, high) = (summary::quantile(rates, 0.25)?, summary::quantile(rates, 0.75)?);
    let middle: Vec<f64> = rates.iter().copied().filter(|rate| (low..=high).contains(rate)).collect();
    summary::mean(&middle)
}

/// A limit's level neither varies nor drifts. Its spread is that of a normal distribution with these quartiles.
///
/// Looks at means of up to four points: a limiter hands out portions, and a second that misses one is followed by one with more.
fn is_flat(rates: &[f64]) -> Option<bool> {
    const QUARTILES: f64 = 1.349;
    let portions = rates.chunks_exact((rates.len() / 8).clamp(1, 4));
    let rates: Vec<f64> = portions.filter_map(summary::mean).collect();
    let spread = (summary::quantile(&rates, 0.75)? - summary::quantile(&rates, 0.25)?) / QUARTILES;
    let (begin, end) = rates.split_at(rates.len() / 2);
    let moved = (summary::median(begin)? - summary::median(end)?).abs();
    Some(spread.max(moved) <= STEADY_VARIATION * summary::median(&rates)?)
}

#[cfg(test)]
mod tests;
