//! Two groups of repeated runs: how much do they differ, and is that more than noise?

use serde::{Deserialize, Serialize};

use crate::student::two_sided_quantile;
use crate::summary::{defined, mean, sample_std_dev};

/// Difference of the second group from the first, in percent.
///
/// The ratio is that of geometric means, with Welch's t interval on the logarithms (*Biometrika* 34, 1947), degrees of freedom by
/// Satterthwaite (*Biometrics Bulletin* 2, 1946), and back as in Bland and Altman (*BMJ* 312, 1996, 1153). Noise of rates and
/// latencies is even on a logarithmic scale, and swapped groups give the reciprocal.
///
/// Measurements must be independent: runs, not the seconds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Measurements of the first group.
    pub first_n: usize,
    /// Measurements of the second group.
    pub second_n: usize,
    /// +5 is 5 % more in the second group.
    pub percent: f64,
    /// `None` with fewer than two measurements in a group.
    pub interval: Option<PercentInterval>,
}

/// A confidence interval in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PercentInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// A share such as 0.95.
    pub confidence: f64,
}

impl PercentInterval {
    /// True if the difference is more than noise.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Measurements are within `percent` of the true value.
    pub fn widened(self, percent: f64) -> Self {
        let factor = 1.0 + percent / 100.0;
        let end = |end: f64, factor: f64| 100.0 * ((1.0 + end / 100.0) * factor - 1.0);
        Self { low: end(self.low, 1.0 / factor), high: end(self.high, factor), ..self }
    }

    /// Smaller differences are lost in noise.
    pub fn noise_percent(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

impl Comparison {
    /// `confidence` is such as 0.95. `None` if a group is empty, a value has no logarithm, or the confidence is not between 0 and
    /// 1.
    pub fn of(first: &[f64], second: &[f64], confidence: f64) -> Option<Self> {
        Self::over(&[(first, second)], confidence)
    }

    /// Every condition, such as a number of sessions, counts the same. Variances add up, with Satterthwaite's degrees of freedom
    /// (*Biometrics Bulletin* 2 (1946) 110).
    ///
    /// `None` without pairs, or if [`Comparison::of`] gives `None`.
    pub fn over(pairs: &[(&[f64], &[f64])], confidence: f64) -> Option<Self> {
        if pairs.is_empty() || !(confidence > 0.0 && confidence < 1.0) {
            return None;
        }
        let logarithms: Option<Vec<_>> =
            pairs.iter().map(|(first, second)| Some((logarithms(first)?, logarithms(second)?))).collect();
        let logarithms = logarithms?;
        let differences: Option<Vec<f64>> =
            logarithms.iter().map(|(a, b)| Some(mean(b)? - mean(a)?)).collect();
        let difference = mean(&differences?)?;
        let groups: Vec<&[f64]> = logarithms.iter().flat_map(|(a, b)| [a.as_slice(), b.as_slice()]).collect();
        let interval = half_width(&groups, pairs.len() as f64, confidence)
            .and_then(|half| interval(difference, half, confidence));
        let count = |of: fn(&(&[f64], &[f64])) -> usize| pairs.iter().map(of).sum();
        Some(Self {
            first_n: count(|(first, _)| first.len()),
            second_n: count(|(_, second)| second.len()),
            percent: percent_of(difference)?,
            interval,
        })
    }
}

/// Every condition counts the same. The interval needs 2 values in each.
pub fn mean_over(conditions: &[&[f64]], confidence: f64) -> Option<(f64, (f64, f64))> {
    let means: Option<Vec<f64>> = conditions.iter().map(|values| mean(values)).collect();
    let mean = mean(&means?)?;
    let half = half_width(conditions, conditions.len() as f64, confidence)?;
    Some((mean, (defined(mean - half)?, defined(mean + half)?)))
}

fn interval(difference: f64, half: f64, confidence: f64) -> Option<PercentInterval> {
    Some(PercentInterval {
        low: percent_of(difference - half)?,
        high: percent_of(difference + half)?,
        confidence,
    })
}

/// `None` with fewer than two values in any group.
fn half_width(groups: &[&[f64]], conditions: f64, confidence: f64) -> Option<f64> {
    let (mut variance, mut squares) = (0.0, 0.0);
    for group in groups {
        let n = group.len() as f64;
        let of_group = (sample_std_dev(group)? / conditions).powi(2) / n;
        variance += of_group;
        squares += of_group.powi(2) / (n - 1.0);
    }
    if variance == 0.0 {
        // A plan fixes such counts.
        return Some(0.0);
    }
    defined(two_sided_quantile(confidence, variance.powi(2) / squares)? * variance.sqrt())
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let positive = |value: &f64| (value.is_finite() && *value > 0.0).then(|| value.ln());
    let logarithms: Option<Vec<f64>> = values.iter().map(positive).collect();
    logarithms.filter(|values| !values.is_empty())
}

fn percent_of(ln_ratio: f64) -> Option<f64> {
    defined(100.0 * ln_ratio.exp_m1())
}

/// The confidence of one look's intervals, so that those of all looks hold together with `confidence`.
///
/// Each look spends a part of the error that is allowed. The parts are the increments of the spending function
/// `alpha ln(1 + (e - 1) t)` (Lan and DeMets, *Biometrika* 70 (1983) 659, after Pocock) at the share `t` of the most measurements.
/// By Boole's inequality their sum bounds the error of a series that stops at any look, whatever the correlation of its looks. That
/// is wider than exact boundaries and needs no normal approximation, so that it holds for few measurements.
///
/// `None` unless `look` is from 1 to `most`, and `confidence` between 0 and 1.
pub fn confidence_of_look(confidence: f64, look: u32, most: u32) -> Option<f64> {
    if !((1..=most).contains(&look) && confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let spent = |look: u32| {
        (1.0 - confidence) * ((std::f64::consts::E - 1.0) * f64::from(look) / f64::from(most)).ln_1p()
    };
    Some(1.0 - (spent(look) - spent(look - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    /// Worked by hand: logarithms 0, 0.1, 0.2 and 0.5, 0.7: means 0.1 and 0.6, variances 0.01 and 0.02, squared standard
    /// errors 1/300 and 1/100, degrees of freedom (4/300)^2 / ((1/300)^2 / 2 + (1/100)^2) = 32/19.
    #[test]
    fn a_known_pair_of_samples() {
        let exp = |values: &[f64]| values.iter().map(|v| v.exp()).collect::<Vec<_>>();
        let found = Comparison::of(&exp(&[0.0, 0.1, 0.2]), &exp(&[0.5, 0.7]), 0.95).unwrap();
        assert_eq!((found.first_n, found.second_n), (3, 2));
        close(found.percent, 100.0 * 0.5_f64.exp_m1(), 1e-9);
        let half = two_sided_quantile(0.95, 32.0 / 19.0).unwrap() * (4.0_f64 / 300.0).sqrt();
        let interval = found.interval.unwrap();
        close(interval.low, 100.0 * (0.5 - half).exp_m1(), 1e-9);
        close(interval.high, 100.0 * (0.5 + half).exp_m1(), 1e-9);
        close(half, 5.121 * 0.11547, 0.06);
    }

    #[test]
    fn a_group_of_one_run_gives_no_interval() {
        for (first, second) in [(&[100.0][..], &[110.0][..]), (&[100.0], &[110.0, 111.0, 112.0])] {
            let found = Comparison::of(first, second, 0.95).unwrap();
            assert!(found.percent > 9.0 && found.interval.is_none());
        }
    }

    /// Worked by hand: differences 0.5 and 0.1 of the logarithms, mean 0.3; the first condition is that of the known pair, the
    /// second has no noise: its squared standard errors are a quarter of 1/300 and 1/100.
    #[test]
    fn several_conditions_count_the_same() {
        let exp = |values: &[f64]| values.iter().map(|v| v.exp()).collect::<Vec<_>>();
        let (a, b, c, d) = (exp(&[0.0, 0.1, 0.2]), exp(&[0.5, 0.7]), exp(&[1.0, 1.0]), exp(&[1.1, 1.1]));
        let found = Comparison::over(&[(&a, &b), (&c, &d)], 0.95).unwrap();
        assert_eq!((found.first_n, found.second_n), (5, 4));
        close(found.percent, 100.0 * 0.3_f64.exp_m1(), 1e-9);
        let half = two_sided_quantile(0.95, 32.0 / 19.0).unwrap() * (1.0_f64 / 300.0).sqrt();
        close(found.interval.unwrap().high, 100.0 * (0.3 + half).exp_m1(), 1e-6);
        assert_eq!(Comparison::over(&[], 0.95), None);
        assert_eq!(Comparison::over(&[(&a, &b), (&c, &[])], 0.95), None);
        assert_eq!(Comparison::over(&[(&a, &b), (&c, &d[..1])], 0.95).unwrap().interval, None);
    }

    #[test]
    fn few_noisy_runs_show_nothing_and_many_quiet_ones_a_little() {
        let noisy = Comparison::of(&[100.0, 90.0, 110.0], &[103.0, 95.0, 111.0], 0.95).unwrap();
        assert!(!noisy.interval.unwrap().excludes_zero() && noisy.interval.unwrap().noise_percent() > 15.0);
        let quiet = Comparison::of(&[100.0, 100.2, 99.8], &[101.0, 101.2, 100.8], 0.95).unwrap();
        let interval = quiet.interval.unwrap();
        assert!(interval.excludes_zero() && interval.low > 0.5 && interval.high < 1.5, "{interval:?}");
    }

    #[test]
    fn values_without_logarithm_are_not_compared() {
        for (first, second) in [
            (&[][..], &[1.0][..]),
            (&[1.0], &[]),
            (&[0.0, 1.0], &[1.0, 1.0]),
            (&[1.0, 1.0], &[-1.0, 1.0]),
            (&[f64::NAN], &[1.0]),
        ] {
            assert_eq!(Comparison::of(first, second, 0.95), None);
        }
        assert_eq!(Comparison::of(&[1.0], &[1.0], 1.0), None);
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let interval = Comparison::of(&[5.0, 5.0], &[5.0, 5.0], 0.95).unwrap().interval.unwrap();
        assert_eq!((interval.low, interval.high), (0.0, 0.0));
        assert!(!interval.excludes_zero());
        let wide = interval.widened(1.5);
        close(wide.low, 100.0 * (1.0 / 1.015 - 1.0), 1e-9);
        close(wide.high, 1.5, 1e-9);
    }

    /// About 95 % of many pairs of samples from one distribution must have an interval that holds 0. The generator is
    /// a plain one (Knuth's MMIX constants) with a fixed seed, so that the outcome is always the same.
    #[test]
    fn the_interval_covers_its_confidence() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // Sums of twelve uniforms: nearly normal, mean 6, deviation 1.
        let mut run = |spread: f64| (spread * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp();
        let trials = 4000;
        let covered = (0..trials).filter(|_| {
            let first: Vec<f64> = (0..3).map(|_| run(0.02)).collect();
            let second: Vec<f64> = (0..5).map(|_| run(0.05)).collect();
            !Comparison::of(&first, &second, 0.95).unwrap().interval.unwrap().excludes_zero()
        });
        let share = covered.count() as f64 / f64::from(trials);
        assert!((0.935..0.965).contains(&share), "{share}");
    }

    proptest! {
        #[test]
        fn swapped_groups_give_the_reciprocal(
            first in prop::collection::vec(0.1_f64..1e6, 2..8), second in prop::collection::vec(0.1_f64..1e6, 2..8),
        ) {
            let (Some(there), Some(back)) =
                (Comparison::of(&first, &second, 0.95), Comparison::of(&second, &first, 0.95))
            else { return Ok(()) };
            let ln = |percent: f64| (1.0 + percent / 100.0).ln();
            prop_assert!((ln(there.percent) + ln(back.percent)).abs() < 1e-6);
            if let (Some(there), Some(back)) = (there.interval, back.interval) {
                prop_assert_eq!(there.excludes_zero(), back.excludes_zero());
                // Rounding leaves few digits near -100 %.
                if there.low > -99.9 && back.low > -99.9 {
                    prop_assert!((ln(there.low) + ln(back.high)).abs() < 1e-6);
                }
            }
        }
    }
}

#[cfg(test)]
mod looks {
    use super::*;
    use crate::{Comparison, Shuffler};

    #[test]
    fn the_looks_spend_together_what_one_test_may_err() {
        for most in [1, 2, 11, 100] {
            let spent: f64 = (1..=most).map(|look| 1.0 - confidence_of_look(0.95, look, most).unwrap()).sum();
            assert!((spent - 0.05).abs() < 1e-12, "{most} looks spend {spent}");
        }
        assert!((confidence_of_look(0.95, 1, 1).unwrap() - 0.95).abs() < 1e-12);
        assert_eq!(
            [(0.95, 0, 3), (0.95, 4, 3), (1.0, 1, 3)].map(|(c, k, n)| confidence_of_look(c, k, n)),
            [None; 3]
        );
    }

    /// Rates with 1 % of noise, by the central limit of twelve draws.
    fn rate(random: &mut Shuffler, mean: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| random.below(1 << 30) as f64 / (1u64 << 30) as f64).sum();
        mean * (1.0 + 0.01 * (sum - 6.0))
    }

    #[derive(Default)]
    struct Decided {
        passed: u32,
        failed: u32,
        runs: u32,
    }

    /// Series of at most 12 runs against 5 of a baseline, which end when a loss of 3 % is told from noise.
    fn series(count: u32, loss: f64, corrected: bool) -> Decided {
        let mut random = Shuffler::new(20_261_128);
        let mut all = Decided::default();
        for _ in 0..count {
            let base: Vec<f64> = (0..5).map(|_| rate(&mut random, 1000.0)).collect();
            let mut side = vec![rate(&mut random, 1000.0 * (1.0 - loss))];
            for look in 1..=11 {
                side.push(rate(&mut random, 1000.0 * (1.0 - loss)));
                let confidence = if corrected { confidence_of_look(0.95, look, 11).unwrap() } else { 0.95 };
                let interval = Comparison::of(&base, &side, confidence).unwrap().interval.unwrap();
                let (passed, failed) = (interval.low >= -3.0, interval.high < -3.0);
                all.passed += u32::from(passed);
                all.failed += u32::from(failed);
                if passed || failed {
                    break;
                }
            }
            all.runs += side.len() as u32;
        }
        all
    }

    /// A series whose true loss is none is wrong where it fails; one whose loss is the limit, wherever it decides.
    #[test]
    fn series_that_stop_when_they_decide_are_wrong_in_at_most_five_of_a_hundred() {
        let same = series(200, 0.0, true);
        assert!(
            same.failed <= 10 && same.passed > 60,
            "{} failed, {} passed of 200",
            same.failed,
            same.passed
        );
        let at_the_limit = series(200, 0.03, true);
        let wrong = at_the_limit.passed + at_the_limit.failed;
        assert!(wrong <= 10, "{wrong} of 200 decided at the limit");
        // Without the correction this test would fail.
        let naive = series(200, 0.03, false);
        assert!(naive.passed + naive.failed > 20, "{}", naive.passed + naive.failed);
    }

    #[test]
    fn a_true_loss_is_found_with_fewer_runs_than_the_most() {
        let lost = series(200, 0.10, true);
        assert!(lost.failed >= 190 && lost.passed == 0, "{} of 200", lost.failed);
        assert!(lost.runs < 200 * 8, "{} runs", lost.runs);
    }
}
