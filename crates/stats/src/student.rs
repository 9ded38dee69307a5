//! Student's t distribution. The quantile of statrs 0.19 does not end for some inputs.
//!
//! Formulas: Abramowitz & Stegun, *Handbook of Mathematical Functions* (1964), 26.5 and 26.7; modified Lentz method as in Press
//! et al., *Numerical Recipes*, 6.4.

use libm::lgamma;

/// `two_sided_quantile(0.95, df)` makes a 95 % confidence interval. `df` may have fractions.
///
/// `None` unless `0 < probability < 1` and `df > 0`, both finite.
pub(crate) fn two_sided_quantile(probability: f64, df: f64) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0 && df > 0.0 && df.is_finite()) {
        return None;
    }
    let outside = 1.0 - probability;
    // The tail falls as t grows.
    let mut high = 1.0;
    while two_sided_tail(high, df)? > outside {
        high *= 2.0;
        if !f64::is_finite(high) {
            return None;
        }
    }
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if two_sided_tail(middle, df)? > outside { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}

/// `I_x(df / 2, 1 / 2)` with `x = df / (df + t^2)`, A&S 26.7.1 with 26.5.27.
fn two_sided_tail(t: f64, df: f64) -> Option<f64> {
    beta_regularised(df / (df + t * t), 0.5 * df, 0.5)
}

/// `I_x(a, b)` for `0 <= x <= 1`, `a > 0`, `b > 0`; `None` outside, or without convergence.
fn beta_regularised(x: f64, a: f64, b: f64) -> Option<f64> {
    if !((0.0..=1.0).contains(&x) && a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) {
        return None;
    }
    if x == 0.0 || x == 1.0 {
        return Some(x);
    }
    let ln_front = a * x.ln() + b * (1.0 - x).ln() + lgamma(a + b) - lgamma(a) - lgamma(b);
    // The fraction converges fast below the mean; above it, the complement does (A&S 26.5.2).
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * beta_fraction(x, a, b)? / a
    } else {
        1.0 - ln_front.exp() * beta_fraction(1.0 - x, b, a)? / b
    };
    Some(value.clamp(0.0, 1.0))
}

/// A&S 26.5.8.
fn beta_fraction(x: f64, a: f64, b: f64) -> Option<f64> {
    const TINY: f64 = f64::MIN_POSITIVE / f64::EPSILON;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    // It needs some multiple of the square root of the larger parameter.
    let steps = (300.0 + 20.0 * a.max(b).sqrt()) as u32;
    for m in (1..steps).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() <= 2.0 * f64::EPSILON {
            return Some(fraction);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Table 26.10 of Abramowitz & Stegun, and closed forms for 1 and 2 degrees of freedom.
    #[rstest]
    #[case(0.95, 1.0, 12.706)]
    #[case(0.95, 2.0, 4.303)]
    #[case(0.95, 4.0, 2.776)]
    #[case(0.95, 10.0, 2.228)]
    #[case(0.95, 30.0, 2.042)]
    #[case(0.99, 5.0, 4.032)]
    #[case(0.90, 3.0, 2.353)]
    #[case(0.95, 1e9, 1.960)]
    fn quantiles_are_those_of_the_tables(#[case] probability: f64, #[case] df: f64, #[case] expected: f64) {
        let found = two_sided_quantile(probability, df).unwrap();
        assert!((found - expected).abs() < 6e-4, "{found}");
    }

    #[test]
    fn closed_forms_for_one_and_two_degrees_of_freedom() {
        for probability in [0.01, 0.5, 0.95, 0.999] {
            let cauchy = (0.5 * std::f64::consts::PI * probability).tan();
            let found = two_sided_quantile(probability, 1.0).unwrap();
            assert!((found / cauchy - 1.0).abs() < 1e-9, "{found} {cauchy}");
            let two = probability * (2.0 / (1.0 - probability * probability)).sqrt();
            let found = two_sided_quantile(probability, 2.0).unwrap();
            assert!((found / two - 1.0).abs() < 1e-9, "{found} {two}");
        }
    }

    #[test]
    fn between_whole_degrees_it_falls_steadily() {
        let quantiles: Vec<f64> =
            (1..200).map(|n| two_sided_quantile(0.95, 0.5 + f64::from(n) / 10.0).unwrap()).collect();
        assert!(quantiles.is_sorted_by(|a, b| a > b), "{quantiles:?}");
    }

    #[test]
    fn the_tail_of_the_quantile_is_what_was_asked_for() {
        for df in [0.7, 1.0, 2.3, 9.0, 250.0] {
            let t = two_sided_quantile(0.95, df).unwrap();
            assert!((two_sided_tail(t, df).unwrap() - 0.05).abs() < 1e-12, "{df}");
        }
    }

    #[test]
    fn outside_its_domain_it_is_undefined() {
        for (probability, df) in [(0.0, 1.0), (1.0, 1.0), (0.95, 0.0), (0.95, f64::NAN), (f64::NAN, 3.0)] {
            assert_eq!(two_sided_quantile(probability, df), None);
        }
        assert_eq!(beta_regularised(1.5, 1.0, 1.0), None);
        let expected = (Some(0.0), Some(1.0));
        assert_eq!((beta_regularised(0.0, 2.0, 3.0), beta_regularised(1.0, 2.0, 3.0)), expected);
        assert!((beta_regularised(0.3, 1.0, 1.0).unwrap() - 0.3).abs() < 1e-15);
    }
}
