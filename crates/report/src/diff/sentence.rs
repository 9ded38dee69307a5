//! What the comparison says, in sentences.

use slob_stats::{Comparison, PercentInterval};

use super::metrics::Metric;
use crate::Confidence;
use crate::figure::{self, Better, Figure};
use crate::format::{fixed, plural};

/// The figures that are put into words, what they are called there, and the words for more and for less of them.
const SPOKEN: [(Figure, &str, [&str; 2]); 4] = [
    (figure::OPERATIONS_PER_S, "Operations/s", ["faster", "slower"]),
    (figure::PHYSICAL_READS_PER_S, "Physical reads/s", ["higher", "lower"]),
    (figure::OPERATION_P99_US, "p99 of an operation", ["longer", "shorter"]),
    (figure::REDO_MB_PER_S, "Redo MB/s", ["higher", "lower"]),
];

/// A sentence for each of the figures that matter most, and one about repeats where there are none.
pub(super) fn statements(metrics: &[Metric], runs: (usize, usize), confidence: Confidence) -> Vec<String> {
    let spoken = |(figure, title, words): &(Figure, &str, [&str; 2])| {
        let metric = metrics.iter().find(|metric| metric.name == figure.name)?;
        let comparison = metric.comparison.as_ref()?;
        Some(format!("{title}: {}", about(comparison, words, metric.better)))
    };
    let mut statements: Vec<String> = SPOKEN.iter().filter_map(spoken).collect();
    let counts = format!("{} and {}", plural(runs.0 as u64, "run"), plural(runs.1 as u64, "run"));
    statements.push(match runs.0.min(runs.1) {
        0 | 1 => "A single run on a side can't show whether a difference is more than noise: repeat both sides, three \
                  times or more."
            .into(),
        _ => format!(
            "From {counts}; statements hold with {confidence} confidence (Welch's t interval on logarithms)."
        ),
    });
    statements
}

fn about(comparison: &Comparison, [more, less]: &[&str; 2], better: Better) -> String {
    let Some(interval) = comparison.interval else {
        let percent = comparison.percent;
        return match shown_percent(percent.abs()) {
            size if is_nothing(&size) => "the same on both sides.".into(),
            size => format!("second is {size} % {}.", if percent > 0.0 { more } else { less }),
        };
    };
    if !interval.excludes_zero() {
        return format!("no difference found: the noise is {} %.", shown_percent(interval.noise_percent()));
    }
    let up = interval.low > 0.0;
    let good = match (better, up) {
        (Better::Neither, _) => "",
        (Better::Higher, true) | (Better::Lower, false) => " (better)",
        _ => " (worse)",
    };
    format!("second is {} {}{good}.", range(&interval), if up { more } else { less })
}

/// The interval as sizes, the smaller first: `3.2 % to 5.1 %`.
pub(crate) fn range(interval: &PercentInterval) -> String {
    let (low, high) = (interval.low.abs(), interval.high.abs());
    let (small, large) = (shown_percent(low.min(high)), shown_percent(low.max(high)));
    if small == large { format!("{small} %") } else { format!("{small} % to {large} %") }
}

fn is_nothing(size: &str) -> bool {
    size.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// A percentage with a decimal, small ones with two.
pub(crate) fn shown_percent(percent: f64) -> String {
    fixed(percent, if percent < 0.995 { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[100.0, 101.0, 99.5], &[104.4, 105.0, 104.0], Better::Higher, "second is 2.7 % to 5.9 % faster (better).")]
    #[case(&[104.4, 105.0, 104.0], &[100.0, 101.0, 99.5], Better::Higher, "second is 2.6 % to 5.6 % slower (worse).")]
    #[case(&[100.0, 104.0, 97.0], &[101.0, 98.0, 104.0], Better::Higher, "no difference found: the noise is ")]
    #[case(&[100.0], &[110.0], Better::Higher, "second is 10.0 % faster.")]
    #[case(&[100.0], &[100.0], Better::Higher, "the same on both sides.")]
    fn in_plain_words(
        #[case] first: &[f64],
        #[case] second: &[f64],
        #[case] better: Better,
        #[case] expected: &str,
    ) {
        let comparison = Comparison::of(first, second, 0.95).unwrap();
        let sentence = about(&comparison, &["faster", "slower"], better);
        assert!(sentence.starts_with(expected), "{sentence}");
    }
}
