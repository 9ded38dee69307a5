//! Does a series rise or fall, and is that more than noise?
//!
//! Slopes are in value per unit of time. The test assumes independent residuals; measurements that resemble their neighbours make
//! the p-value too small.

use std::f64::consts::SQRT_2;

use crate::summary::defined;

/// Theil-Sen slope, with the Mann-Kendall test.
///
/// Slope: Theil 1950; Sen, *JASA* 63, 1968. Test: Mann, *Econometrica* 13 (1945); Kendall, *Rank Correlation Methods* (1975),
/// with ties and continuity correction as in Gilbert, *Statistical Methods for Environmental Pollution Monitoring* (1987),
/// section 16.4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RobustTrend {
    /// Median rise per unit of time.
    pub slope: f64,
    /// Percent of the line's value at the first time; `None` unless that is above 0. The line passes through the median time and
    /// value.
    pub change_percent: Option<f64>,
    /// Largest change that the points do not rule out, at 95 %, in percent of the same value. `None` below 10 points.
    pub within_percent: Option<f64>,
    /// Pairs that rise minus pairs that fall.
    pub s: i64,
    /// S in standard deviations; `None` below 10 points.
    pub z: Option<f64>,
    /// Two-sided probability of such an S without any trend; `None` below 10 points.
    pub p_value: Option<f64>,
}

impl RobustTrend {
    /// The normal approximation is poor below it.
    pub const MIN_POINTS_FOR_TEST: usize = 10;

    /// `None` with fewer than 2 points, two of the same time, or a number that is not finite. Time and memory grow with the
    /// square of the points (4 MB for 1000).
    pub fn theil_sen(points: &[(f64, f64)]) -> Option<Self> {
        let (first_time, last_time) = span(points)?;
        let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
        let s = add_slopes(points, &mut slopes)?;
        let slope = defined(median_in_place(&mut slopes)?)?;
        let is_tested = points.len() >= Self::MIN_POINTS_FOR_TEST;
        let limits = if is_tested { limits(&mut slopes, variance_of_s(points.len())) } else { None };
        let steepest = limits.map(|(low, high)| low.abs().max(high.abs()));
        let (mut times, mut values): (Vec<_>, Vec<_>) = points.iter().copied().unzip();
        let (middle_x, middle_y) = (median_in_place(&mut times)?, median_in_place(&mut values)?);
        let start = middle_y + slope * (first_time - middle_x);
        let duration = last_time - first_time;
        let z = mann_kendall_z(s, &mut values);
        Some(Self {
            slope,
            change_percent: change_percent(start, slope * duration),
            within_percent: steepest.and_then(|slope| change_percent(start, slope * duration)),
            s,
            z,
            p_value: z.map(normal_two_sided),
        })
    }
}

/// Rise per unit of time within stretches that differ in level.
///
/// Hirsch, Slack and Smith, *Water Resources Research* 18 (1982) 107, with stretches instead of seasons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Median rise per unit of time.
    pub slope: f64,
    /// Lower confidence limit at 95 %.
    pub low: f64,
    /// Upper confidence limit at 95 %.
    pub high: f64,
}

impl Drift {
    /// `None` without a stretch of [`RobustTrend::MIN_POINTS_FOR_TEST`] points, with equal times in one, or a number that is not
    /// finite.
    pub fn within(stretches: &[&[(f64, f64)]]) -> Option<Self> {
        let (mut slopes, mut variance) = (Vec::new(), 0.0);
        for points in stretches.iter().filter(|points| points.len() >= RobustTrend::MIN_POINTS_FOR_TEST) {
            span(points)?;
            add_slopes(points, &mut slopes)?;
            variance += variance_of_s(points.len());
        }
        let slope = defined(median_in_place(&mut slopes)?)?;
        let (low, high) = limits(&mut slopes, variance)?;
        Some(Self { slope, low, high })
    }
}

/// Returns S; `None` if two points have the same time.
fn add_slopes(points: &[(f64, f64)], slopes: &mut Vec<f64>) -> Option<i64> {
    let mut points = points.to_vec();
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    if points.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return None;
    }
    let mut s = 0;
    for (index, &(x, y)) in points.iter().enumerate() {
        for &(later_x, later_y) in &points[index + 1..] {
            slopes.push((later_y - y) / (later_x - x));
            s += i64::from(later_y > y) - i64::from(later_y < y);
        }
    }
    Some(s)
}

/// There are no ties.
fn variance_of_s(points: usize) -> f64 {
    let n = points as f64;
    n * (n - 1.0) * (2.0 * n + 5.0) / 18.0
}

/// Gilbert, section 16.5, at 95 %.
fn limits(slopes: &mut [f64], variance: f64) -> Option<(f64, f64)> {
    const DEVIATIONS: f64 = 1.96;
    let spread = DEVIATIONS * variance.sqrt();
    let pairs = slopes.len() as f64;
    let rank = |place: f64| (place.round().max(0.0) as usize).min(slopes.len() - 1);
    let (low, high) = (rank((pairs - spread) / 2.0 - 1.0), rank((pairs + spread) / 2.0));
    let mut at = |rank| defined(*slopes.select_nth_unstable_by(rank, f64::total_cmp).1);
    Some((at(low)?, at(high)?))
}

/// Abramowitz & Stegun 7.1.22.
fn normal_two_sided(z: f64) -> f64 {
    libm::erfc(z.abs() / SQRT_2)
}

/// Tied values reduce the variance; continuity is corrected.
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
    let variance = variance_of_s(values.len()) - tied / 18.0;
    defined((s - s.signum()) as f64 / variance.sqrt())
}

/// Reorders the slice; `None` if it is empty.
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

/// `None` unless all numbers are finite and there are two different times.
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
        let robust = RobustTrend::theil_sen(&falling).unwrap();
        assert_eq!((robust.slope, robust.s, robust.p_value), (-10.0, -15, None));
        assert_close(robust.change_percent.unwrap(), -50.0);
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
    }

    #[test]
    fn outliers_do_not_bend_the_slope() {
        let mut values: Vec<f64> = (0..21).map(|i| 100.0 + f64::from(i)).collect();
        values[20] = 10_000.0;
        values[19] = 10_000.0;
        let points = numbered(&values);
        assert_close(RobustTrend::theil_sen(&points).unwrap().slope, 1.0);
    }

    #[test]
    fn undefined_input_gives_none() {
        let same_time = [(1.0, 1.0), (1.0, 2.0)];
        for points in [&[][..], &[(0.0, 1.0)], &same_time, &[(0.0, f64::NAN), (1.0, 1.0)]] {
            assert_eq!(RobustTrend::theil_sen(points), None);
        }
        assert_eq!(RobustTrend::theil_sen(&[(0.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        let from_zero = RobustTrend::theil_sen(&numbered(&[0.0, 1.0, 2.0])).unwrap();
        assert_eq!(from_zero.change_percent, None);
    }

    #[test]
    fn normal_tails_are_those_of_the_tables() {
        for (z, tail) in [(0.0, 1.0), (1.959_963_984_540_054, 0.05), (-2.575_829_303_548_901, 0.01)] {
            assert!((normal_two_sided(z) - tail).abs() < 1e-12, "{z}");
        }
        // erfc(1) and erfc(2): Abramowitz & Stegun, table 7.1.
        for (x, tail) in [(1.0, 0.157_299_207_050_285_13), (2.0, 0.004_677_734_981_047_266)] {
            assert!((normal_two_sided(x * SQRT_2) / tail - 1.0).abs() < 1e-13, "{x}");
        }
    }

    /// Slopes by hand: ten points on a line of slope 2, then ten of the same slope on another level. The step is no drift.
    #[test]
    fn a_step_between_stretches_is_no_drift() {
        let line = |from: f64, level: f64| -> Vec<(f64, f64)> {
            (0..10).map(|i| (from + f64::from(i), level + 2.0 * f64::from(i))).collect()
        };
        let (first, second) = (line(0.0, 100.0), line(10.0, 5000.0));
        let drift = Drift::within(&[&first, &second]).unwrap();
        assert_eq!((drift.slope, drift.low, drift.high), (2.0, 2.0, 2.0));
        assert_eq!(Drift::within(&[&first, &second[..9]]), Drift::within(&[&first]));
        assert_eq!(Drift::within(&[&first[..9]]), None);
        let alone = RobustTrend::theil_sen(&second).unwrap();
        assert_eq!(Drift::within(&[&second]).unwrap().slope, alone.slope);
    }

    /// The interval of a drift must hold the true slope in about 95 % of many series; the seed is fixed.
    #[test]
    fn the_interval_of_a_drift_covers_its_confidence() {
        let mut chance = crate::Shuffler::new(3);
        let mut point = |at: i32| (f64::from(at), 0.5 * f64::from(at) + chance.below(1000) as f64 / 50.0);
        let trials = 1000;
        let covered = (0..trials).filter(|_| {
            let (first, second): (Vec<_>, Vec<_>) =
                ((0..20).map(&mut point).collect(), (20..35).map(&mut point).collect());
            let drift = Drift::within(&[&first, &second]).unwrap();
            drift.low <= 0.5 && 0.5 <= drift.high
        });
        let share = covered.count() as f64 / f64::from(trials);
        assert!((0.93..0.975).contains(&share), "{share}");
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
            let robust = RobustTrend::theil_sen(&points).unwrap();
            let tolerance = 1e-6 * slope.abs().max(1.0);
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
