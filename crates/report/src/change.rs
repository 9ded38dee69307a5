//! How much a figure of one group of runs differs from that of another, and the words for it.

use slob_facts::Figure;
use slob_facts::format::fixed;
use slob_stats::{Comparison, PercentInterval};

use crate::Confidence;

pub(crate) fn compared(
    figure: &Figure,
    first: &[f64],
    second: &[f64],
    confidence: Confidence,
) -> Option<Comparison> {
    /// The error of the ratio of two percentiles of a histogram: each is within 1/128. Runs with percentiles in the same
    /// bucket would otherwise seem to have no noise at all.
    const PERCENTILE_PERCENT: f64 = 1.6;
    let comparison = Comparison::of(first, second, confidence.ratio())?;
    let widened = |interval: PercentInterval| match figure.is_percentile() {
        true => interval.widened(PERCENTILE_PERCENT),
        false => interval,
    };
    Some(Comparison { interval: comparison.interval.map(widened), ..comparison })
}

/// The statement on an interval with 0 in it.
pub(crate) fn noise(interval: &PercentInterval) -> String {
    format!("no difference found: the noise is {} %.", shown_percent(interval.noise_percent()))
}

/// The ends of an interval without their signs, the smaller first: `3.2 % to 5.1 %`.
pub(crate) fn range(interval: &PercentInterval) -> String {
    let (low, high) = (interval.low.abs(), interval.high.abs());
    let (small, large) = (shown_percent(low.min(high)), shown_percent(low.max(high)));
    if small == large { format!("{small} %") } else { format!("{small} % to {large} %") }
}

/// A percentage with a decimal, below 1 with two.
pub(crate) fn shown_percent(percent: f64) -> String {
    fixed(percent, if percent < 0.995 { 2 } else { 1 })
}
