//! How much a figure differs between two groups of runs, in words.

use slob_facts::Figure;
use slob_facts::figure::Better;
use slob_facts::format::{fixed, signed_percent};
use slob_stats::{Comparison, PercentInterval};

use crate::Confidence;

pub(crate) fn compared(
    figure: &Figure,
    first: &[f64],
    second: &[f64],
    confidence: Confidence,
) -> Option<Comparison> {
    /// Each percentile of a histogram is within 1/128. Runs with percentiles in the same bucket would seem to have no noise at
    /// all.
    const PERCENTILE_PERCENT: f64 = 1.6;
    let comparison = Comparison::of(first, second, confidence.ratio())?;
    let widened = |interval: PercentInterval| match figure.is_percentile() {
        true => interval.widened(PERCENTILE_PERCENT),
        false => interval,
    };
    Some(Comparison { interval: comparison.interval.map(widened), ..comparison })
}

pub(crate) struct Change<'a> {
    pub(crate) first: &'a str,
    pub(crate) second: &'a str,
    pub(crate) words: [&'a str; 2],
    /// The direction that is called better.
    pub(crate) better: Better,
}

impl Change<'_> {
    pub(crate) fn sentence(&self, comparison: &Comparison) -> String {
        let Self { first, second, words: [more, less], better } = *self;
        let word = |percent: f64| if percent > 0.0 { more } else { less };
        let Some(interval) = comparison.interval else {
            let size = shown_percent(comparison.percent.abs());
            return match size.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
                true => format!("{second} is the same as {first} (a side has a single run)."),
                false => {
                    format!(
                        "{second} is {size} % {} than {first} (a side has a single run).",
                        word(comparison.percent)
                    )
                }
            };
        };
        if !interval.excludes_zero() {
            let noise = shown_percent(interval.noise_percent());
            return format!("no difference between {first} and {second} found: the noise is {noise} %.");
        }
        let good = match (better, interval.low > 0.0) {
            (Better::Neither, _) => "",
            (Better::Higher, true) | (Better::Lower, false) => " (better)",
            _ => " (worse)",
        };
        // Percents of hundreds are hard to read.
        if interval.low >= 100.0 {
            let [low, high] = [interval.low, interval.high].map(|percent| fixed(1.0 + percent / 100.0, 1));
            return format!("{second} has {low} to {high} times the figure of {first}{good}.");
        }
        format!("{second} is {} {} than {first}{good}.", range(&interval), word(interval.low))
    }
}

pub(crate) fn noise(interval: &PercentInterval) -> String {
    format!("no difference found: the noise is {} %.", shown_percent(interval.noise_percent()))
}

/// `-84.5 % to -10.2 %`
pub(crate) fn signed_range(interval: &PercentInterval) -> String {
    format!("{} % to {} %", signed_percent(interval.low), signed_percent(interval.high))
}

/// The smaller end comes first, without signs: `3.2 % to 5.1 %`.
pub(crate) fn range(interval: &PercentInterval) -> String {
    let (low, high) = (interval.low.abs(), interval.high.abs());
    let (small, large) = (shown_percent(low.min(high)), shown_percent(low.max(high)));
    if small == large { format!("{small} %") } else { format!("{small} % to {large} %") }
}

pub(crate) fn shown_percent(percent: f64) -> String {
    fixed(percent, if percent < 0.995 { 2 } else { 1 })
}
