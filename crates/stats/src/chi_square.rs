//! Pearson's chi-square test of goodness of fit.

use thiserror::Error;

use crate::special::gamma_q;

/// Why the test is undefined for its input.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum ChiSquareError {
    /// Observed and expected have different lengths.
    #[error("{observed} observed cells but {expected} expected ones; give one expectation per cell")]
    Length {
        /// Observed cells.
        observed: usize,
        /// Expected cells.
        expected: usize,
    },
    /// Fewer than two cells leave no degree of freedom.
    #[error("{0} cells leave nothing to test; give at least 2")]
    TooFewCells(usize),
    /// An expected count is not a positive finite number.
    #[error("expected count {value} of cell {index} is not positive; merge the cell with a neighbour")]
    Expected {
        /// Position of the cell.
        index: usize,
        /// Its expected count.
        value: f64,
    },
    /// The totals differ, so the expectation is not about these observations.
    #[error("observed counts add up to {observed} but expected ones to {expected}; scale the expectation")]
    Totals {
        /// Sum of the observed counts.
        observed: f64,
        /// Sum of the expected counts.
        expected: f64,
    },
    /// The p-value could not be computed.
    #[error("no p-value for {statistic} with {degrees_of_freedom} degrees of freedom; use fewer cells")]
    NotConverged {
        /// The statistic.
        statistic: f64,
        /// Cells minus 1.
        degrees_of_freedom: u64,
    },
}

/// Result of Pearson's test: do observed counts follow the expected ones?
///
/// Statistic: the sum of `(observed - expected)^2 / expected` (A&S 26.4; Pearson, *Philosophical Magazine*
/// 50, 1900). The approximation is good when every expected count is 5 or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquare {
    /// The statistic, 0 for a perfect fit.
    pub statistic: f64,
    /// Cells minus 1: the total is given, nothing else was fitted.
    pub degrees_of_freedom: u64,
    /// Probability of a statistic at least this large if the expectation holds.
    pub p_value: f64,
}

impl ChiSquare {
    /// Compares observed counts with expected ones, cell by cell.
    ///
    /// # Errors
    /// [`ChiSquareError`] if lengths or totals (beyond one part in a million) differ, there are fewer than 2
    /// cells, an expected count is not positive, or the p-value cannot be computed (not seen up to 20 million
    /// cells).
    pub fn test(observed: &[u64], expected: &[f64]) -> Result<Self, ChiSquareError> {
        check(observed, expected)?;
        let statistic = observed.iter().zip(expected).map(|(&o, &e)| (o as f64 - e).powi(2) / e).sum();
        let degrees_of_freedom = observed.len() as u64 - 1;
        let p_value = chi_square_upper_tail(statistic, degrees_of_freedom)
            .ok_or(ChiSquareError::NotConverged { statistic, degrees_of_freedom })?;
        Ok(Self { statistic, degrees_of_freedom, p_value })
    }

    /// Compares observed counts with equal ones.
    ///
    /// # Errors
    /// [`ChiSquareError`] if there are fewer than 2 cells or nothing was observed.
    pub fn test_uniform(observed: &[u64]) -> Result<Self, ChiSquareError> {
        let total: f64 = observed.iter().map(|&n| n as f64).sum();
        Self::test(observed, &vec![total / observed.len() as f64; observed.len()])
    }
}

/// Probability that a chi-square variable is at least `statistic`: `Q(df / 2, statistic / 2)`, A&S 26.4.19.
/// `None` for a negative or NaN statistic or no degree of freedom.
fn chi_square_upper_tail(statistic: f64, degrees_of_freedom: u64) -> Option<f64> {
    gamma_q(degrees_of_freedom as f64 / 2.0, statistic / 2.0)
}

fn check(observed: &[u64], expected: &[f64]) -> Result<(), ChiSquareError> {
    const TOTALS_TOLERANCE: f64 = 1e-6;
    if observed.len() != expected.len() {
        return Err(ChiSquareError::Length { observed: observed.len(), expected: expected.len() });
    }
    if observed.len() < 2 {
        return Err(ChiSquareError::TooFewCells(observed.len()));
    }
    let bad = expected.iter().position(|e| !e.is_finite() || *e <= 0.0);
    if let Some(index) = bad {
        return Err(ChiSquareError::Expected { index, value: expected[index] });
    }
    let observed: f64 = observed.iter().map(|&n| n as f64).sum();
    let expected: f64 = expected.iter().sum();
    if (observed - expected).abs() > expected * TOTALS_TOLERANCE {
        return Err(ChiSquareError::Totals { observed, expected });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(3.841_458_820_694_124, 1, 0.05)]
    #[case(6.634_896_601_021_214, 1, 0.01)]
    #[case(5.991_464_547_107_979, 2, 0.05)]
    #[case(18.307_038_053_275_146, 10, 0.05)]
    #[case(124.342_113_404_004_07, 100, 0.05)]
    #[case(3.940_299_136_119_06, 10, 0.95)]
    fn upper_tail_matches_the_tables(#[case] statistic: f64, #[case] df: u64, #[case] expected: f64) {
        let found = chi_square_upper_tail(statistic, df).unwrap();
        assert!((found - expected).abs() < 1e-10, "{found}");
    }

    #[test]
    fn a_perfect_fit_has_p_one() {
        let fit = ChiSquare::test_uniform(&[7, 7, 7]).unwrap();
        assert_eq!(fit, ChiSquare { statistic: 0.0, degrees_of_freedom: 2, p_value: 1.0 });
    }

    /// Mendel's peas, 556 seeds against 9:3:3:1: the textbook example.
    #[test]
    fn mendels_peas() {
        let expected = [312.75, 104.25, 104.25, 34.75];
        let fit = ChiSquare::test(&[315, 108, 101, 32], &expected).unwrap();
        assert!((fit.statistic - 0.470_024).abs() < 1e-6);
        assert!((fit.p_value - 0.925_426).abs() < 1e-6, "{}", fit.p_value);
    }

    #[test]
    fn a_gross_misfit_is_rejected() {
        let fit = ChiSquare::test_uniform(&[1000, 1000, 1300]).unwrap();
        assert!(fit.p_value < 1e-9);
    }

    #[test]
    fn undefined_input_is_an_error() {
        let of = |o: &[u64], e: &[f64]| ChiSquare::test(o, e).unwrap_err();
        assert_eq!(of(&[1, 2], &[3.0]), ChiSquareError::Length { observed: 2, expected: 1 });
        assert_eq!(of(&[1], &[1.0]), ChiSquareError::TooFewCells(1));
        assert_eq!(of(&[1, 2], &[3.0, 0.0]), ChiSquareError::Expected { index: 1, value: 0.0 });
        assert_eq!(of(&[1, 2], &[2.0, 2.0]), ChiSquareError::Totals { observed: 3.0, expected: 4.0 });
        assert_eq!(ChiSquare::test_uniform(&[]), Err(ChiSquareError::TooFewCells(0)));
        assert!(ChiSquare::test_uniform(&[0, 0]).is_err());
        assert!(ChiSquare::test(&[1, 2], &[f64::NAN, 1.0]).is_err());
    }
}
