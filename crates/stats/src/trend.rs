//! Does a series rise or fall, and is that more than noise?
//!
//! Input is a slice of `(time, value)` pairs, so gaps need no filling. Slopes are in value per unit of time.
//! Both methods assume independent residuals; measurements that resemble their neighbours (most latency
//! series do) make the standard error and the p-value too small.

use serde::{Deserialize, Serialize};

use crate::special::normal_two_sided;
use crate::summary::defined;

/// Straight line through a series by ordinary least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Number of points.
    pub n: usize,
    /// Rise per unit of time.
    pub slope: f64,
    /// Standard error of the slope, from the residuals with `n - 2` degrees of freedom; `None` for 2 points.
    pub slope_std_error: Option<f64>,
    /// Change of the line from the first to the last time, in percent of its value at the first time; `None`
    /// unless the line starts above 0.
    pub change_percent: Option<f64>,
}

impl Trend {
    /// Fits the line; `None` with fewer than 2 different times or a number that is not finite.
    ///
    /// Formulas: Draper and Smith, *Applied Regression Analysis*, chapter 1.
    #[must_use]
    pub fn least_squares(points: &[(f64, f64)]) -> Option<Self> {
        let (first_time, last_time) = span(points)?;
        let n = points.len() as f64;
        let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
        let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
        let sxx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        let sxy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
        let slope = defined(sxy / sxx)?;
        let line_at = |x: f64| mean_y + slope * (x - mean_x);
        let residuals: f64 = points.iter().map(|p| (p.1 - line_at(p.0)).powi(2)).sum();
        let spare = n - 2.0;
        let slope_std_error = if spare > 0.0 { defined((residuals / spare / sxx).sqrt()) } else { None };
        let change_percent = change_percent(line_at(first_time), slope * (last_time - first_time));
        Some(Self { n: points.len(), slope, slope_std_error, change_percent })
    }
}

/// Trend that a few outliers do not bend: Theil-Sen slope, with the Mann-Kendall test of whether there is one.
///
/// Slope: the median of the slopes of all pairs (Theil 1950; Sen, *JASA* 63, 1968). Test: Mann,
/// *Econometrica* 13 (1945); Kendall, *Rank Correlation Methods* (1975), whose variance with ties and
/// continuity correction are used, as in Gilbert, *Statistical Methods for Environmental Pollution
/// Monitoring* (1987), section 16.4.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RobustTrend {
    /// Number of points.
    pub n: usize,
    /// Median rise per unit of time.
    pub slope: f64,
    /// Change from the first to the last time by the slope, in percent of the line's value at the first time
    /// (the line passes through the median time and value); `None` unless it starts above 0.
    pub change_percent: Option<f64>,
    /// The largest change, up or down, that the points do not rule out, in percent of the same value: of the slope's
    /// confidence limits at 95 %, the one further from 0. `None` below 10 points.
    #[serde(default)]
    pub within_percent: Option<f64>,
    /// Mann-Kendall S: pairs that rise minus pairs that fall.
    pub s: i64,
    /// S in standard deviations; `None` below 10 points, where the normal approximation is poor.
    pub z: Option<f64>,
    /// Probability of an S this far from 0, on either side, without any trend; `None` below 10 points.
    pub p_value: Option<f64>,
}

impl RobustTrend {
    /// Least number of points for the normal approximation.
    pub const MIN_POINTS_FOR_TEST: usize = 10;

    /// Computes slope and test; `None` with fewer than 2 points, two of the same time, or a number that is
    /// not finite. Looks at all pairs: time and memory grow with the square of the points (1000 points are
    /// half a million pairs, 4 MB).
    #[must_use]
    pub fn theil_sen(points: &[(f64, f64)]) -> Option<Self> {
        let (first_time, last_time) = span(points)?;
        let mut points = points.to_vec();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        if points.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
        let mut s = 0;
        for (index, &(x, y)) in points.iter().enumerate() {
            for &(later_x, later_y) in &points[index + 1..] {
                slopes.push((later_y - y) / (later_x - x));
                s += i64::from(later_y > y) - i64::from(later_y < y);
            }
        }
        let slope = defined(median_in_place(&mut slopes)?)?;
        let steepest = steepest_within(&mut slopes, points.len());
        let (mut times, mut values): (Vec<_>, Vec<_>) = points.iter().copied().unzip();
        let (middle_x, middle_y) = (median_in_place(&mut times)?, median_in_place(&mut values)?);
        let start = middle_y + slope * (first_time - middle_x);
        let z = mann_kendall_z(s, &mut values);
        Some(Self {
            n: points.len(),
            slope,
            change_percent: change_percent(start, slope * (last_time - first_time)),
            within_percent: steepest
                .and_then(|slope| change_percent(start, slope * (last_time - first_time))),
            s,
            z,
            p_value: z.and_then(normal_two_sided),
        })
    }
}

/// Of the confidence limits of a slope at 95 %, the one further from 0, without its sign: ranks of the slopes of all pairs,
/// by the deviation of S without ties (Gilbert, section 16.5).
fn steepest_within(slopes: &mut [f64], points: usize) -> Option<f64> {
    const DEVIATIONS: f64 = 1.96;
    if points < RobustTrend::MIN_POINTS_FOR_TEST {
        return None;
    }
    let n = points as f64;
    let spread = DEVIATIONS * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let pairs = slopes.len() as f64;
    let rank = |place: f64| (place.round().max(0.0) as usize).min(slopes.len() - 1);
    let (low, high) = (rank((pairs - spread) / 2.0 - 1.0), rank((pairs + spread) / 2.0));
    slopes.sort_unstable_by(f64::total_cmp);
    defined(slopes[low].abs().max(slopes[high].abs()))
}

/// S in standard deviations, with the variance reduced for tied values and the continuity correction.
fn mann_kendall_z(s: i64, values: &mut [f64]) -> Option<f64> {
    if values.len() < RobustTrend::MIN_POINTS_FOR_TEST {
        return None;
    }
    if s == 0 {
        return Some(0.0); // also when all values are equal, where the variance is 0
    }
    values.sort_unstable_by(f64::total_cmp);
    let term = |count: usize| {
        let t = count as f64;
        t * (t - 1.0) * (2.0 * t + 5.0)
    };
    let tied: f64 = values.chunk_by(|a, b| a == b).map(|group| term(group.len())).sum();
    let variance = (term(values.len()) - tied) / 18.0;
    defined((s - s.signum()) as f64 / variance.sqrt())
}

/// Median, reordering the slice; `None` if it is empty.
fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().reduce(f64::max)?;
    Some(f64::midpoint(lower, upper))
}

/// First and last time; `None` unless all numbers are finite and there are two different times.
fn span(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let first = points.iter().map(|p| p.0).reduce(f64::min)?;
    let last = points.iter().map(|p| p.0).reduce(f64::max)?;
    (first < last).then_some((first, last))
}

fn change_percent(start: f64, change: f64) -> Option<f64> {
    if start > 0.0 { defined(100.0 * change / start) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(i, &v)| (i as f64, v)).collect()
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    #[test]
    fn a_straight_line_is_found_exactly() {
        let falling = numbered(&[100.0, 90.0, 80.0, 70.0, 60.0, 50.0]);
        let trend = Trend::least_squares(&falling).unwrap();
        assert_close(trend.slope, -10.0);
        assert_close(trend.change_percent.unwrap(), -50.0);
        assert!(trend.slope_std_error.unwrap() < 1e-9);
        let robust = RobustTrend::theil_sen(&falling).unwrap();
        assert_eq!((robust.slope, robust.s, robust.p_value), (-10.0, -15, None));
        assert_close(robust.change_percent.unwrap(), -50.0);
    }

    /// Worked by hand: x = 0..4, y = 2 1 4 3 5, so Sxx = 10, Sxy = 8, residual sum of squares 3.6.
    #[test]
    fn standard_error_of_a_known_sample() {
        let trend = Trend::least_squares(&numbered(&[2.0, 1.0, 4.0, 3.0, 5.0])).unwrap();
        assert_close(trend.slope, 0.8);
        assert_close(trend.slope_std_error.unwrap(), (3.6_f64 / 3.0 / 10.0).sqrt());
        assert_close(trend.change_percent.unwrap(), 100.0 * 3.2 / 1.4);
    }

    /// Two ties of two and one of three among 12 values. Variance by hand: (12*11*29 - 2*18 - 66) / 18.
    #[test]
    fn mann_kendall_allows_for_ties() {
        let values = [1.0, 2.0, 2.0, 3.0, 5.0, 4.0, 6.0, 6.0, 6.0, 7.0, 8.0, 8.0];
        let trend = RobustTrend::theil_sen(&numbered(&values)).unwrap();
        assert_eq!(trend.s, 66 - 5 - 2);
        let variance: f64 = (12.0 * 11.0 * 29.0 - 2.0 * 18.0 - 66.0) / 18.0;
        assert_close(trend.z.unwrap(), 58.0 / variance.sqrt());
        assert!(trend.p_value.unwrap() < 1e-4);
    }

    #[test]
    fn a_flat_series_has_no_trend() {
        let flat = numbered(&[5.0; 20]);
        let robust = RobustTrend::theil_sen(&flat).unwrap();
        assert_eq!((robust.slope, robust.s, robust.z, robust.p_value), (0.0, 0, Some(0.0), Some(1.0)));
        let trend = Trend::least_squares(&flat).unwrap();
        assert_eq!((trend.slope, trend.slope_std_error, trend.change_percent), (0.0, Some(0.0), Some(0.0)));
    }

    #[test]
    fn outliers_bend_least_squares_but_not_theil_sen() {
        let mut values: Vec<f64> = (0..21).map(|i| 100.0 + f64::from(i)).collect();
        values[20] = 10_000.0;
        values[19] = 10_000.0;
        let points = numbered(&values);
        assert_close(RobustTrend::theil_sen(&points).unwrap().slope, 1.0);
        assert!(Trend::least_squares(&points).unwrap().slope > 50.0);
    }

    #[test]
    fn two_points_make_a_line_without_an_error() {
        let trend = Trend::least_squares(&[(0.0, 1.0), (2.0, 5.0)]).unwrap();
        assert_eq!((trend.n, trend.slope, trend.slope_std_error), (2, 2.0, None));
    }

    #[test]
    fn undefined_input_gives_none() {
        let same_time = [(1.0, 1.0), (1.0, 2.0)];
        for points in [&[][..], &[(0.0, 1.0)], &same_time, &[(0.0, f64::NAN), (1.0, 1.0)]] {
            assert_eq!(Trend::least_squares(points), None);
            assert_eq!(RobustTrend::theil_sen(points), None);
        }
        assert_eq!(RobustTrend::theil_sen(&[(0.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        let from_zero = Trend::least_squares(&numbered(&[0.0, 1.0, 2.0])).unwrap();
        assert_eq!(from_zero.change_percent, None);
    }

    proptest! {
        #[test]
        fn order_and_gaps_do_not_matter(
            slope in -50.0_f64..50.0, start in 1e3_f64..1e6,
            times in prop::collection::btree_set(0_u32..10_000, 3..60), seed in any::<u64>(),
        ) {
            let times = times.iter().map(|&t| f64::from(t));
            let mut points: Vec<_> = times.map(|t| (t, start + slope * t)).collect();
            let turn = (seed % points.len() as u64) as usize;
            points.rotate_left(turn);
            let ordinary = Trend::least_squares(&points).unwrap();
            let robust = RobustTrend::theil_sen(&points).unwrap();
            let tolerance = 1e-6 * slope.abs().max(1.0);
            prop_assert!((ordinary.slope - slope).abs() < tolerance);
            prop_assert!((robust.slope - slope).abs() < tolerance);
        }

        #[test]
        fn turning_time_around_turns_the_trend(values in prop::collection::vec(0.0_f64..100.0, 10..60)) {
            let forward = RobustTrend::theil_sen(&numbered(&values)).unwrap();
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            let backward = RobustTrend::theil_sen(&numbered(&reversed)).unwrap();
            prop_assert_eq!(forward.s, -backward.s);
            prop_assert_eq!(forward.p_value, backward.p_value);
            prop_assert!((0.0..=1.0).contains(&forward.p_value.unwrap()));
        }
    }
}
