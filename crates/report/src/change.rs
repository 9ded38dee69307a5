//! How much a figure of one group of runs differs from that of another, how sure that is, and the words for it.

use std::str::FromStr;

use serde::Serialize;
use slob_facts::Figure;
use slob_facts::figure::Better;
use slob_facts::format::{fixed, signed_percent};
use slob_stats::{Comparison, PercentInterval, confidence_of_look};

/// A ratio such as 0.95, from one half to one; read and shown in percent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, derive_more::Display)]
// Omits the digits that binary fractions add: `95 %`, `99.9 %`.
#[display("{} %", (_0 * 1e10).round() / 1e8)]
#[serde(transparent)]
pub struct Confidence(f64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be more than 50 and less than 100, such as 95")]
pub struct NoConfidence;

impl Confidence {
    pub fn ratio(self) -> f64 {
        self.0
    }

    pub(crate) fn of_look(self, look: u32, most: u32) -> Option<Self> {
        confidence_of_look(self.0, look, most).map(Self)
    }

    /// Marks of different nouns do not hold together.
    pub(crate) fn by_chance(self, noun: &str) -> String {
        format!("By chance alone, one {noun} in {} is marked.", fixed((1.0 / (1.0 - self.0)).round(), 0))
    }

    /// Bonferroni: each of so many statements that hold together.
    pub(crate) fn of_each(self, statements: usize) -> Self {
        Self(1.0 - (1.0 - self.0) / statements.max(1) as f64)
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self(0.95)
    }
}

impl FromStr for Confidence {
    type Err = NoConfidence;

    fn from_str(percent: &str) -> Result<Self, NoConfidence> {
        let ratio = percent.parse::<f64>().map_err(|_| NoConfidence)? / 100.0;
        if ratio > 0.5 && ratio < 1.0 { Ok(Self(ratio)) } else { Err(NoConfidence) }
    }
}

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
    pub(crate) better: Better,
}

impl Change<'_> {
    pub(crate) fn sentence(&self, comparison: &Comparison) -> String {
        let Self { first, second, words: [more, less], better } = *self;
        let word = |percent: f64| if percent > 0.0 { more } else { less };
        let Some(interval) = comparison.interval else {
            let size = shown_percent(comparison.percent.abs());
            let word = word(comparison.percent);
            return match size.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
                true => format!("{second} is the same as {first} (a side has a single run)."),
                false => format!("{second} is {size} % {word} than {first} (a side has a single run)."),
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

/// Sentences on titles: of those with the same sentence one, with all their titles.
pub(crate) fn said_once<'a>(sentences: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut said: Vec<(Vec<&str>, String)> = Vec::new();
    for (title, sentence) in sentences {
        match said.iter_mut().find(|(_, other)| *other == sentence) {
            Some((titles, _)) => titles.push(title),
            None => said.push((vec![title], sentence)),
        }
    }
    said.into_iter().map(|(titles, sentence)| format!("{}: {sentence}", titles.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_are_shown_as_they_were_typed() {
        for percent in ["95", "97.5", "99", "99.9", "99.999", "60"] {
            let confidence: Confidence = percent.parse().unwrap();
            assert_eq!(confidence.to_string(), format!("{percent} %"));
        }
        assert_eq!(serde_json::to_string(&Confidence::default()).unwrap(), "0.95");
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for percent in ["100", "50", "0.95", "-95", "NaN", "inf", "high", ""] {
            assert_eq!(percent.parse::<Confidence>(), Err(NoConfidence), "{percent}");
        }
    }
}
