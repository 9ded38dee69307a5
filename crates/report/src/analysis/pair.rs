//! Two variants: does one do better, by how much, and is that more than noise?

use serde::Serialize;
use slob_stats::{Comparison, PercentInterval};

use super::{Row, Variant};
use crate::Confidence;
use crate::diff::{range, shown_percent};
use crate::format::fixed;

/// Two variants of a table compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The one that the other is compared with.
    pub first: String,
    /// The other.
    pub second: String,
    /// Whether both are the same thing, so that a difference can only be noise.
    pub same_thing: bool,
    /// Over all numbers of sessions that both have repeats of, each counting the same.
    pub overall: Option<Comparison>,
    /// At each number of sessions of the table.
    pub by_sessions: Vec<Option<Comparison>>,
    /// In plain words.
    pub verdict: String,
}

/// Every pair of variants, the earlier one first. A twin is compared with its original alone. The confidence is that of
/// all statements together.
pub(super) fn pairs(
    variants: &[Variant],
    rows: &[Row],
    sessions: &[u32],
    confidence: Confidence,
    words: [&str; 2],
) -> Vec<Pair> {
    let mut couples = couples(variants, |variant| (&variant.name, variant.twin_of.as_deref()));
    couples.retain(|&(first, second)| rows[first].overall.runs > 0 && rows[second].overall.runs > 0);
    let each = confidence.of_each(couples.len());
    let pair = |&(first, second): &(usize, usize)| {
        pair(&rows[first], &rows[second], variants[second].twin_of.is_some(), sessions, each, words)
    };
    couples.iter().map(pair).collect()
}

/// The places of those that are compared: every pair, the earlier one first, but a twin with its original alone. `names` gives
/// what one is called, and whose twin it is.
pub(crate) fn couples<T>(all: &[T], names: impl Fn(&T) -> (&str, Option<&str>)) -> Vec<(usize, usize)> {
    let is_compared = |&(first, second): &(usize, usize)| match (names(&all[first]), names(&all[second])) {
        ((original, _), (_, Some(twin_of))) => twin_of == original,
        ((_, of_first), (_, None)) => of_first.is_none(),
    };
    let all_pairs =
        (0..all.len()).flat_map(|first| (first + 1..all.len()).map(move |second| (first, second)));
    all_pairs.filter(is_compared).collect()
}

fn pair(
    first: &Row,
    second: &Row,
    same_thing: bool,
    sessions: &[u32],
    confidence: Confidence,
    words: [&str; 2],
) -> Pair {
    let values: Vec<(&[f64], &[f64])> = (0..sessions.len())
        .map(|at| (first.cells[at].values.as_slice(), second.cells[at].values.as_slice()))
        .collect();
    // The marks of all numbers of sessions hold together too.
    let of_each = confidence.of_each(sessions.len()).ratio();
    let by_sessions = values.iter().map(|(a, b)| Comparison::of(a, b, of_each)).collect();
    // Conditions without repeats say nothing of noise; only where there are no others do they count.
    let with = |least: usize| -> Vec<(&[f64], &[f64])> {
        values.iter().copied().filter(|(a, b)| a.len().min(b.len()) >= least).collect()
    };
    let repeated = with(2);
    let over = |pairs: &[_]| Comparison::over(pairs, confidence.ratio());
    let overall = over(&repeated).or_else(|| over(&with(1)).map(|one| Comparison { interval: None, ..one }));
    let (first, second) = (first.variant.clone(), second.variant.clone());
    let verdict = match overall {
        None => format!(
            "{second} can't be compared with {first}: they have no sessions in common, or a run has a 0."
        ),
        Some(overall) if same_thing => about_noise(&first, &overall),
        Some(overall) => about(&first, &second, &overall, words),
    };
    Pair { first, second, same_thing, overall, by_sessions, verdict }
}

fn about(first: &str, second: &str, comparison: &Comparison, [more, less]: [&str; 2]) -> String {
    let word = |up: bool| if up { more } else { less };
    match comparison.interval {
        None => format!(
            "{second} is {} % {} than {first}; with a single run on a side it can't be said whether that is noise.",
            shown_percent(comparison.percent.abs()),
            word(comparison.percent > 0.0)
        ),
        // Percents of hundreds are hard to read.
        Some(interval) if interval.low >= 100.0 => {
            let times = |percent: f64| fixed(1.0 + percent / 100.0, 1);
            let (low, high) = (times(interval.low), times(interval.high));
            format!("{second} has {low} to {high} times the figure of {first}.")
        }
        Some(interval) if interval.excludes_zero() => {
            format!("{second} is {} {} than {first}.", range(&interval), word(interval.low > 0.0))
        }
        Some(interval) => {
            format!("{second} and {first}: no difference found: the noise is {} %.", noise(&interval))
        }
    }
}

fn about_noise(name: &str, comparison: &Comparison) -> String {
    match comparison.interval {
        None => format!("A/A: {name} against itself needs two runs or more on each side to show noise."),
        Some(interval) if interval.excludes_zero() => format!(
            "A/A: {name} differs from itself by {}: something other than the variant changed between the runs. Do \
             not trust differences of that size.",
            range(&interval)
        ),
        Some(interval) => {
            format!("A/A: {name} against itself: no difference found: the noise is {} %.", noise(&interval))
        }
    }
}

fn noise(interval: &PercentInterval) -> String {
    shown_percent(interval.noise_percent())
}
