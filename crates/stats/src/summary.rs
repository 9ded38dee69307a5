//! Summaries of measurements, in the unit of the values unless noted. A figure is `None` if too few values or no finite ones
//! define it.

use crate::student::two_sided_quantile;

/// Needs 1 value.
pub fn mean(values: &[f64]) -> Option<f64> {
    let values = finite(values)?;
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    // Takes out the rounding error of a long sum.
    defined(first + values.iter().map(|v| v - first).sum::<f64>() / n)
}

/// Mean without the values equal to the smallest or the largest; `None` if no value remains, as of two. Brian Pardy's
/// SLOB.R (2013), whose tables publish results of SLOB, uses it: of ten runs, drop the best and the worst.
///
/// ```
/// use slob_stats::summary::mean_without_extremes;
/// assert_eq!(mean_without_extremes(&[9.0, 5.0, 6.0, 1.0, 9.0]), Some(5.5));
/// assert_eq!(mean_without_extremes(&[1.0, 2.0]), None);
/// ```
pub fn mean_without_extremes(values: &[f64]) -> Option<f64> {
    let (low, high) = (minimum(values)?, maximum(values)?);
    let inner: Vec<f64> = values.iter().copied().filter(|value| *value != low && *value != high).collect();
    mean(&inner)
}

/// Student's t interval (*Biometrika* 6, 1908), such as at 0.95; needs 2 independent values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let mean = mean(values)?;
    let n = values.len() as f64;
    let half = two_sided_quantile(confidence, n - 1.0)? * sample_std_dev(values)? / n.sqrt();
    Some((defined(mean - half)?, defined(mean + half)?))
}

/// Runs until an interval of this half width after `n` is narrower than `distance`. `None` above 1,000.
pub fn runs_to_tell(n: usize, half_width: f64, distance: f64, confidence: f64) -> Option<usize> {
    let width = |n: usize| Some(two_sided_quantile(confidence, n as f64 - 1.0)? / (n as f64).sqrt());
    let of_one = half_width / width(n)?;
    (n + 1..=1000).find(|more| width(*more).is_some_and(|width| of_one * width < distance))
}

/// Needs 2 values; the denominator is `n - 1`.
pub(crate) fn sample_std_dev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    defined((squares / (values.len() as f64 - 1.0)).sqrt())
}

/// A ratio (0.05 is 5 %); needs 2 values and a mean that is not 0.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    if mean == 0.0 {
        return None;
    }
    defined(sample_std_dev(values)? / mean.abs())
}

/// Needs 1 value.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Definition 7 of Hyndman and Fan, *The American Statistician* 50 (1996), the default of R and NumPy. Needs 1 value.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let mut sorted = finite(values)?.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let position = q * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let low = sorted[below];
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    let share = position - below as f64;
    // The difference of two huge values can overflow.
    defined(if low == high { low } else { low * (1.0 - share) + high * share })
}

/// Needs 1 value.
pub fn minimum(values: &[f64]) -> Option<f64> {
    finite(values)?.iter().copied().reduce(f64::min)
}

/// Needs 1 value.
pub fn maximum(values: &[f64]) -> Option<f64> {
    finite(values)?.iter().copied().reduce(f64::max)
}

/// `None` if it is empty or a value is not finite.
fn finite(values: &[f64]) -> Option<&[f64]> {
    (!values.is_empty() && values.iter().all(|v| v.is_finite())).then_some(values)
}

pub(crate) fn defined(result: f64) -> Option<f64> {
    result.is_finite().then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    const SAMPLE: [f64; 8] = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];

    /// t(0.95, 7) is 2.365 (Abramowitz & Stegun, table 26.10); the deviation of the sample is sqrt(32 / 7).
    #[test]
    fn the_interval_of_a_known_sample() {
        let (low, high) = mean_interval(&SAMPLE, 0.95).unwrap();
        let half = 2.365 * (32.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt();
        assert!((low - (5.0 - half)).abs() < 1e-3 && (high - (5.0 + half)).abs() < 1e-3, "{low} {high}");
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[3.0, 3.0], 0.95), Some((3.0, 3.0)));
    }

    #[test]
    fn extremes_are_dropped_as_often_as_they_come() {
        assert_eq!(mean_without_extremes(&SAMPLE), mean(&[4.0, 4.0, 4.0, 5.0, 5.0, 7.0]));
        assert_eq!(mean_without_extremes(&[3.0, 3.0, 3.0]), None);
        assert_eq!(mean_without_extremes(&[]), None);
    }

    #[test]
    fn figures_of_a_known_sample() {
        assert_eq!((mean(&SAMPLE), median(&SAMPLE)), (Some(5.0), Some(4.5)));
        assert_eq!((minimum(&SAMPLE), maximum(&SAMPLE)), (Some(2.0), Some(9.0)));
        let deviation = (32.0_f64 / 7.0).sqrt();
        assert_eq!(sample_std_dev(&SAMPLE), Some(deviation));
        assert_eq!(coefficient_of_variation(&SAMPLE), Some(deviation / 5.0));
    }

    /// The position among 8 values is 7 q, so 0.1 lies 0.7 of the way from the first to the second.
    #[rstest]
    #[case(0.0, 2.0)]
    #[case(0.1, 3.4)]
    #[case(0.25, 4.0)]
    #[case(0.9, 7.6)]
    #[case(1.0, 9.0)]
    fn quantiles_are_of_type_seven(#[case] q: f64, #[case] expected: f64) {
        assert!((quantile(&SAMPLE, q).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn one_value_has_no_deviation() {
        let one = [3.0];
        assert_eq!((mean(&one), median(&one), sample_std_dev(&one)), (Some(3.0), Some(3.0), None));
        assert_eq!(coefficient_of_variation(&one), None);
    }

    #[test]
    fn undefined_input_gives_none() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY, 1.0]] {
            assert_eq!(mean(values), None);
            assert_eq!(sample_std_dev(values), None);
            assert_eq!((minimum(values), maximum(values), median(values)), (None, None, None));
        }
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
        assert_eq!(quantile(&SAMPLE, 1.5), None);
        assert_eq!(quantile(&SAMPLE, f64::NAN), None);
    }

    #[test]
    fn a_large_offset_does_not_eat_the_deviation() {
        let values = SAMPLE.map(|v| v + 1e9);
        let deviation = sample_std_dev(&values).unwrap();
        assert!((deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn figures_lie_within_the_sample(
            values in prop::collection::vec(-1e9_f64..1e9, 1..100), q in 0.0..=1.0,
        ) {
            let (low, high) = (minimum(&values).unwrap(), maximum(&values).unwrap());
            let slack = 1e-6;
            for figure in [mean(&values), median(&values), quantile(&values, q)] {
                let figure = figure.unwrap();
                prop_assert!(low - slack <= figure && figure <= high + slack);
            }
        }
    }
}
