//! Numbers as reports print them, with the precision of their print.

use std::borrow::Cow;

use serde::Serialize;

pub(crate) const MIB: f64 = 1024.0 * 1024.0;

/// `9` under `(ms)` lies within half a millisecond of 9; a total of whole seconds that reads 0 may be more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub value: f64,
    /// The step of the last printed digit.
    pub resolution: f64,
}

impl Figure {
    pub fn exact(value: f64) -> Self {
        Self { value, resolution: 0.0 }
    }

    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, resolution: self.resolution * factor }
    }

    /// `None` if the divisor is not more than 0.
    pub fn per(self, divisor: f64) -> Option<Self> {
        (divisor > 0.0).then(|| self.times(1.0 / divisor))
    }

    pub fn per_figure(self, divisor: Self) -> Option<Self> {
        let quotient = self.per(divisor.value)?;
        let of_divisor = quotient.value.abs() * divisor.resolution / divisor.value;
        Some(Self { resolution: quotient.resolution + of_divisor, ..quotient })
    }

    /// True for a printed 0 that may be more.
    pub fn is_below_resolution(self) -> bool {
        self.value == 0.0 && self.resolution > 0.0
    }

    /// `None` if the print is too coarse to tell the value from 0.
    pub fn known(self) -> Option<f64> {
        (!self.is_below_resolution()).then_some(self.value)
    }

    pub fn finer(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.resolution < one.resolution => Some(other),
            (one, other) => one.or(other),
        }
    }

    /// The figures that are present; `None` without any.
    pub(crate) fn sum(figures: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        figures.into_iter().flatten().reduce(|one, other| Self {
            value: one.value + other.value,
            resolution: one.resolution + other.resolution,
        })
    }
}

/// K, M, G, T and P are powers of 1000. `None` for blanks, `N/A`, and `####`, a number that did not fit its column.
pub(crate) fn number(text: &str) -> Option<Figure> {
    scaled(text, 1e3)
}

/// K, M, G, T and P are powers of 1024.
pub(crate) fn bytes(text: &str) -> Option<Figure> {
    scaled(text, 1024.0)
}

fn scaled(text: &str, step: f64) -> Option<Figure> {
    let (figure, rest) = prefix(text)?;
    let power = match rest.trim() {
        "" | "%" | "B" => 0,
        "K" | "k" | "KB" => 1,
        "M" | "m" | "MB" => 2,
        "G" | "g" | "GB" => 3,
        "T" | "t" | "TB" => 4,
        "P" | "p" | "PB" => 5,
        _ => return None,
    };
    Some(figure.times(step.powi(power)))
}

/// `109.72us`, `.98ms`, `52.86 s`, `258.01ns`, or a bare number in a unit of so many microseconds. Without a unit a bare number
/// is unknown.
pub fn duration_us(text: &str, bare_unit_us: Option<f64>) -> Option<Figure> {
    let (figure, rest) = prefix(text)?;
    let factor = match rest.trim() {
        "" => bare_unit_us?,
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "cs" => 1e4,
        "s" | "sec" => 1e6,
        "m" | "min" => 60e6,
        "h" | "hr" => 3600e6,
        _ => return None,
    };
    Some(figure.times(factor))
}

pub(crate) fn prefix(text: &str) -> Option<(Figure, &str)> {
    let text = text.trim_ascii();
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1.0, body),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mut digits, mut commas, mut decimals, mut has_point) = (0, 0, 0, false);
    let end = body.bytes().position(|byte| {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                decimals += i32::from(has_point && decimals < 300);
            }
            b',' => commas += 1,
            b'.' if !has_point => has_point = true,
            _ => return true,
        }
        false
    });
    let (mantissa, rest) = body.split_at(end.unwrap_or(body.len()));
    if digits == 0 || rest.starts_with('.') {
        return None;
    }
    let mantissa = match commas {
        0 => Cow::Borrowed(mantissa),
        _ => Cow::Owned(mantissa.replace(',', "")),
    };
    let value: f64 = mantissa.strip_suffix('.').unwrap_or(&mantissa).parse().ok()?;
    let (exponent, rest) = exponent(rest);
    let figure =
        Figure { value: sign * value * 10f64.powi(exponent), resolution: 10f64.powi(exponent - decimals) };
    (figure.value.is_finite() && figure.resolution.is_finite()).then_some((figure, rest))
}

fn exponent(rest: &str) -> (i32, &str) {
    let Some(after) = rest.strip_prefix(['E', 'e']) else { return (0, rest) };
    let signed = after.strip_prefix(['+', '-']).unwrap_or(after);
    let end = signed.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(signed.len());
    let sign = if after.starts_with('-') { -1 } else { 1 };
    match signed.get(..end).and_then(|digits| digits.parse::<i32>().ok()) {
        Some(digits) if digits <= 300 => (sign * digits, &signed[end..]),
        _ => (0, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        number(text).unwrap().value
    }

    #[test]
    fn numbers_of_all_forms() {
        assert_eq!(value("59,441.1"), 59_441.1);
        assert_eq!(value(".98"), 0.98);
        assert_eq!(value("1.69E+05"), 169_000.0);
        assert_eq!(value("1.E+03"), 1000.0);
        assert_eq!(value("9.2233720368547758E+18"), 9.223_372_036_854_776e18);
        assert_eq!(value("278.4K"), 278_400.0);
        assert_eq!(value("-16.65"), -16.65);
        assert_eq!(bytes("4.2G").unwrap().value, 4.2 * 1024.0 * 1024.0 * 1024.0);
        for text in ["", " ", "####", "N/A", "12.3.4", "abc", ".", "-", "12 reads", "E+05"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_digit_says_how_precise() {
        assert_eq!(number("9").unwrap().resolution, 1.0);
        assert_eq!(number("1.E+03").unwrap().resolution, 1000.0);
        assert!((number("1.69E+05").unwrap().resolution - 1000.0).abs() < 1e-6);
        assert!((number("278.4K").unwrap().resolution - 100.0).abs() < 1e-9);
        assert!(number("0").unwrap().is_below_resolution());
        assert!(!Figure::exact(0.0).is_below_resolution());
    }

    #[test]
    fn durations_of_all_units() {
        let us = |text: &str| duration_us(text, None).map(|figure| figure.value);
        assert_eq!(us("109.72us"), Some(109.72));
        assert_eq!(us(".98ms"), Some(980.0));
        assert_eq!(us("52.86 s"), Some(52_860_000.0));
        assert!((us("258.01ns").unwrap() - 0.258_01).abs() < 1e-12);
        assert_eq!(us("9"), None);
        assert_eq!(duration_us("9", Some(1e3)).unwrap().value, 9000.0);
        assert_eq!(duration_us("9", Some(1e3)).unwrap().resolution, 1000.0);
    }

    #[test]
    fn the_finer_of_two_is_taken() {
        let coarse = Figure { value: 0.0, resolution: 1000.0 };
        let fine = Figure { value: 198.31, resolution: 0.01 };
        assert_eq!(Figure::finer(Some(coarse), Some(fine)), Some(fine));
        assert_eq!(Figure::finer(None, Some(coarse)), Some(coarse));
    }
}
