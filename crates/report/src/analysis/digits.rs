//! How many decimals a column of numbers gets.

use crate::format::{ABSENT, fixed};

/// Significant digits that R prints by default (`getOption("digits")`).
const DIGITS: i32 = 7;

/// The numbers of a column as R's `print` shows those of a matrix: all with as many decimals as the one needs that needs
/// most, when each is rounded to seven significant digits; with thousands separators, which R has not.
pub(super) fn column(values: &[Option<f64>]) -> Vec<String> {
    let decimals = values.iter().flatten().map(|value| decimals_of(*value)).max().unwrap_or(0);
    values
        .iter()
        .map(|value| value.map_or_else(|| ABSENT.to_owned(), |value| fixed(value, decimals)))
        .collect()
}

/// Decimals of a number that is rounded to seven significant digits, without zeros at the end.
fn decimals_of(value: f64) -> usize {
    if !value.is_finite() || value == 0.0 {
        return 0;
    }
    // The exponent after rounding: 9999999.7 has eight digits before the point.
    let rounded = format!("{:.*e}", DIGITS as usize - 1, value.abs());
    let Some((digits, exponent)) = rounded.split_once('e') else { return 0 };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let significant = digits.trim_end_matches('0').trim_end_matches('.').replace('.', "").len() as i32;
    (significant - 1 - exponent).max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the article that SLOB.R was published with.
    #[test]
    fn columns_look_as_r_prints_them() {
        let shown = |values: &[f64]| column(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(shown(&[27223.894, 30076.766]), ["27,223.89", "30,076.77"]);
        assert_eq!(shown(&[326_480_426.3, 304_188_997.0]), ["326,480,426", "304,188,997"]);
        assert_eq!(shown(&[9876.5432, 27223.89]), ["9,876.543", "27,223.890"]);
        assert_eq!(shown(&[1.0, 0.5]), ["1.0", "0.5"]);
        assert_eq!(shown(&[1.0 / 3.0]), ["0.3333333"]);
        assert_eq!(shown(&[9_999_999.7, 5.0]), ["10,000,000", "5"]);
        assert_eq!(column(&[None, Some(2.0)]), ["-", "2"]);
    }
}
