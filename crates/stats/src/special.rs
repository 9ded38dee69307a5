//! Special functions of the tests: the incomplete gamma function and what follows from it.
//!
//! Formulas: Abramowitz & Stegun, *Handbook of Mathematical Functions* (1964), chapter 6. The choice between
//! series and continued fraction is that of Press et al., *Numerical Recipes*, section 6.2.

/// Natural logarithm of the gamma function for `x > 0`.
///
/// Stirling's series (A&S 6.1.41) from 10 on, where eight terms exceed double precision; smaller arguments
/// are lifted by the recurrence `gamma(x + 1) = x gamma(x)` (A&S 6.1.15).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const FIRST_ACCURATE: f64 = 10.0;
    // B(2k) / (2k (2k - 1)) for k = 1..8, B being the Bernoulli numbers.
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    let (mut z, mut product) = (x, 1.0);
    while z < FIRST_ACCURATE {
        product *= z;
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    let series = TERMS.iter().rev().fold(0.0, |sum, term| sum * square + term) / z;
    let half_ln_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (z - 0.5) * z.ln() - z + half_ln_two_pi + series - product.ln()
}

/// Regularised upper incomplete gamma function `Q(a, x)` for `a > 0`, `x >= 0`; `None` outside, or if the
/// iteration did not converge (not seen for `a` up to ten million).
pub(crate) fn gamma_q(a: f64, x: f64) -> Option<f64> {
    if !(a.is_finite() && a > 0.0 && x >= 0.0) {
        return None;
    }
    if x == 0.0 {
        return Some(1.0);
    }
    if x.is_infinite() {
        return Some(0.0);
    }
    let q = if x < a + 1.0 { 1.0 - lower_series(a, x)? } else { upper_fraction(a, x)? };
    Some(q.clamp(0.0, 1.0))
}

/// `x^a e^-x / gamma(a)`.
fn prefactor(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - ln_gamma(a)).exp()
}

/// Both expansions need some ten times the square root of `a` near `x = a`.
fn max_steps(a: f64) -> u32 {
    (300.0 + 20.0 * a.sqrt()) as u32
}

/// Regularised lower incomplete gamma function by its series, A&S 6.5.29. Fast for `x < a + 1`.
fn lower_series(a: f64, x: f64) -> Option<f64> {
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..max_steps(a) {
        term *= x / (a + f64::from(n));
        sum += term;
        if term <= sum * f64::EPSILON {
            return Some(sum * prefactor(a, x));
        }
    }
    None
}

/// Regularised upper incomplete gamma function by its continued fraction, A&S 6.5.31 in its even form,
/// evaluated by the modified Lentz method. Fast for `x > a + 1`.
fn upper_fraction(a: f64, x: f64) -> Option<f64> {
    const TINY: f64 = f64::MIN_POSITIVE / f64::EPSILON;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut b = x + 1.0 - a;
    let mut d = 1.0 / away_from_zero(b);
    let mut c = 1.0 / TINY;
    let mut fraction = d;
    for n in 1..max_steps(a) {
        let n = f64::from(n);
        let numerator = n * (a - n);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator * d + b);
        c = away_from_zero(b + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() <= 2.0 * f64::EPSILON {
            return Some(fraction * prefactor(a, x));
        }
    }
    None
}

/// Probability that a standard normal variable lies farther from 0 than `z`, on either side.
///
/// `erfc(|z| / sqrt 2) = Q(1/2, z^2 / 2)`, A&S 6.5.17.
pub(crate) fn normal_two_sided(z: f64) -> Option<f64> {
    gamma_q(0.5, z * z / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "{found:e} is not {expected:e}");
    }

    #[test]
    fn ln_gamma_matches_factorials_and_the_half() {
        let mut factorial = 1.0_f64;
        for n in 2..=20 {
            factorial *= f64::from(n);
            assert_close(ln_gamma(f64::from(n) + 1.0), factorial.ln(), 1e-14);
        }
        assert_close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-14);
        assert!(ln_gamma(1.0).abs() < 1e-14 && ln_gamma(2.0).abs() < 1e-14);
    }

    #[rstest]
    #[case(1.0, 0.5)]
    #[case(1.0, 1.9)]
    #[case(1.0, 2.1)]
    #[case(1.0, 40.0)]
    fn with_a_of_one_it_is_the_exponential(#[case] a: f64, #[case] x: f64) {
        assert_close(gamma_q(a, x).unwrap(), (-x).exp(), 1e-13);
    }

    /// For whole `a` it is a Poisson sum, A&S 26.4.21: an independent way to the same number, on both
    /// sides of the border between the two expansions.
    #[test]
    fn whole_a_gives_the_poisson_sum() {
        for a in [2_u32, 5, 30, 100] {
            for x in [0.1, 0.7, 0.99, 1.0, 1.02, 1.1, 1.5, 2.0].map(|r| r * f64::from(a)) {
                let mut term = (-x).exp();
                let mut sum = term;
                for k in 1..a {
                    term *= x / f64::from(k);
                    sum += term;
                }
                assert_close(gamma_q(f64::from(a), x).unwrap(), sum, 1e-11);
            }
        }
    }

    #[rstest]
    #[case(0.5, 1.0, 0.157_299_207_050_285_13)] // erfc(1), A&S table 7.1
    #[case(0.5, 4.0, 0.004_677_734_981_047_266)] // erfc(2)
    fn known_values(#[case] a: f64, #[case] x: f64, #[case] expected: f64) {
        assert_close(gamma_q(a, x).unwrap(), expected, 1e-13);
    }

    #[test]
    fn it_converges_for_small_and_large_a() {
        for a in [0.5, 1.0, 7.5, 1e3, 1e5, 1e7] {
            let around = [-6.0_f64, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0].map(|sigma| a + sigma * f64::sqrt(a));
            let tail: Vec<_> = around.iter().filter(|&&x| x >= 0.0).map(|&x| gamma_q(a, x)).collect();
            assert!(tail.iter().all(Option::is_some), "{a}: {tail:?}");
            assert!(tail.is_sorted_by(|left, right| left > right), "{a}: {tail:?}");
        }
        // The median of the gamma distribution lies near a - 1/3 for large a.
        for a in [1e3, 1e5, 1e7] {
            assert!((gamma_q(a, a - 1.0 / 3.0).unwrap() - 0.5).abs() < 1e-6, "{a}");
        }
    }

    #[test]
    fn outside_its_domain_it_is_undefined() {
        for (a, x) in [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, -1.0), (1.0, f64::NAN)] {
            assert_eq!(gamma_q(a, x), None, "Q({a}, {x})");
        }
        assert_eq!(gamma_q(3.0, 0.0), Some(1.0));
        assert_eq!(gamma_q(3.0, f64::INFINITY), Some(0.0));
        assert_eq!(gamma_q(3.0, 1e6), Some(0.0));
    }

    #[test]
    fn two_sided_normal_tail() {
        assert_eq!(normal_two_sided(0.0), Some(1.0));
        assert_close(normal_two_sided(1.959_963_984_540_054).unwrap(), 0.05, 1e-12);
        assert_close(normal_two_sided(-2.575_829_303_548_901).unwrap(), 0.01, 1e-12);
    }
}
