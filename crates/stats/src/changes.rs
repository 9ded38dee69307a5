//! Change points of a series of repeated runs.
//!
//! Permutations with a fixed seed decide, so a series always gives the same answer. Logarithms of values are compared, since
//! rates and latencies differ by factors.

use crate::Comparison;
use crate::shuffler::Shuffler;
use crate::summary::mean;

/// Fewer values have too few orders to tell a change from chance.
pub const LEAST_FOR_CHANGES: usize = 16;
/// Time and work grow with the square of the values.
pub const MOST_FOR_CHANGES: usize = 2000;
const LEAST_BESIDE: usize = 4;
/// A finding that no permutation reaches is chance once in a thousand.
const PERMUTATIONS: usize = 999;
const CONFIDENCE: f64 = 0.999;

/// Places of the first values after each change, in order. `None` if a value is not above 0, or beyond [`MOST_FOR_CHANGES`].
///
/// E-divisive: Matteson and James, *JASA* 109 (2014), with exponent 1, each part tested on its own. As in Fleming et al.,
/// "Hunter", ICPE 2023 (Apache Otava), the means must differ too, by Welch's test. Runs resemble the one before them; that is
/// taken out first: Rodionov, *Geophysical Research Letters* 33 (2006) L12707.
pub fn change_points(values: &[f64]) -> Option<Vec<usize>> {
    let is_positive = |value: &f64| value.is_finite() && *value > 0.0;
    if values.len() > MOST_FOR_CHANGES || !values.iter().all(is_positive) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let white = whitened(&logarithms);
    let mut found = Vec::new();
    let whole = 0..values.len();
    let mut parts = vec![whole];
    let mut chance = Shuffler::new(1);
    while let Some(part) = parts.pop() {
        if let Some(within) = change(&white[part.clone()], &mut chance) {
            let at = part.start + within;
            found.push(at);
            parts.extend([at..part.end, part.start..at]);
        }
    }
    found.sort_unstable();
    Some(found)
}

fn change(values: &[f64], chance: &mut Shuffler) -> Option<usize> {
    if values.len() < LEAST_FOR_CHANGES {
        return None;
    }
    let split = Split::best(values)?;
    let mut shuffled = values.to_vec();
    let mut by_chance = || {
        chance.shuffle(&mut shuffled);
        Split::best(&shuffled).is_some_and(|other| other.divergence >= split.divergence)
    };
    let is_change = split.moves_the_mean(values) && !(0..PERMUTATIONS).any(|_| by_chance());
    is_change.then_some(split.at)
}

/// Neighbours must resemble each other more than by chance.
fn whitened(values: &[f64]) -> Vec<f64> {
    const MOST: f64 = 0.9;
    let found = around_levels(values).zip(of_differences(values));
    let correlation = found.map_or(0.0, |(one, other)| one.min(other).min(MOST));
    if correlation < 2.0 / (values.len() as f64).sqrt() {
        return values.to_vec();
    }
    let before = values.first().into_iter().chain(values);
    values.iter().zip(before).map(|(value, before)| value - correlation * before).collect()
}

/// Uses the levels of the best split. Further changes make it too large.
fn around_levels(values: &[f64]) -> Option<f64> {
    let split = Split::best(values)?;
    let stretches = [&values[..split.at], &values[split.at..split.end], &values[split.end..]];
    let residuals = stretches.into_iter().flat_map(|stretch| {
        let level = mean(stretch).unwrap_or(0.0);
        stretch.iter().map(move |value| value - level)
    });
    let residuals: Vec<f64> = residuals.collect();
    let product = |lag: usize| -> f64 { residuals.iter().zip(&residuals[lag..]).map(|(a, b)| a * b).sum() };
    Some(product(1) / product(0)).filter(|correlation| correlation.is_finite())
}

/// Uses differences at lags of one and two, for autoregressive noise. Changes of level don't touch it, but it is uncertain: after
/// Tecuapetla-Gómez and Munk, *Scandinavian Journal of Statistics* 44 (2017) 346.
fn of_differences(values: &[f64]) -> Option<f64> {
    /// Outliers and changes are among the largest differences.
    const USUAL: f64 = 0.9;
    let square = |lag: usize| {
        let pairs = values.iter().zip(values.iter().skip(lag));
        let mut squares: Vec<f64> = pairs.map(|(a, b)| (a - b).powi(2)).collect();
        squares.sort_unstable_by(f64::total_cmp);
        squares.truncate((USUAL * squares.len() as f64) as usize);
        mean(&squares).filter(|square| *square > 0.0)
    };
    Some(square(2)? / square(1)? - 1.0)
}

/// The stretches are `..at` and `at..end`.
struct Split {
    at: usize,
    end: usize,
    /// Székely and Rizzo's energy distance, weighted by lengths.
    divergence: f64,
}

impl Split {
    /// Welch's test.
    fn moves_the_mean(&self, logarithms: &[f64]) -> bool {
        let values = |part: &[f64]| part.iter().map(|logarithm| logarithm.exp()).collect::<Vec<_>>();
        let (first, second) = logarithms[..self.end].split_at(self.at);
        let compared = Comparison::of(&values(first), &values(second), CONFIDENCE);
        compared.and_then(|compared| compared.interval).is_some_and(|interval| interval.excludes_zero())
    }

    /// The second stretch may end early, so that a change and its return are found.
    fn best(values: &[f64]) -> Option<Self> {
        let n = values.len();
        // The begin of the second stretch, or the end of the first, is the index.
        let (mut between, mut second, mut first) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let mut within = 0.0;
        let mut best: Option<Self> = None;
        for (last, value) in values.iter().enumerate() {
            first[last] = within;
            let all: f64 = values[..last].iter().map(|other| (other - value).abs()).sum();
            within += all;
            let mut before = 0.0;
            for at in 1..=last {
                before += (values[at - 1] - value).abs();
                between[at] += before;
                second[at] += all - before;
                let lengths = [at, last + 1 - at];
                if lengths.iter().all(|length| *length >= LEAST_BESIDE) {
                    let divergence = divergence(lengths, between[at], [first[at], second[at]]);
                    if best.as_ref().is_none_or(|best| divergence > best.divergence) {
                        best = Some(Self { at, end: last + 1, divergence });
                    }
                }
            }
        }
        best
    }
}

fn divergence(lengths: [usize; 2], between: f64, within: [f64; 2]) -> f64 {
    let [n, m] = lengths.map(|length| length as f64);
    let mean_within = |sum: f64, n: f64| sum / (n * (n - 1.0) / 2.0);
    let energy = 2.0 * between / (n * m) - mean_within(within[0], n) - mean_within(within[1], m);
    energy * n * m / (n + m)
}

#[cfg(test)]
mod tests;
