//! A column of a table of runs.

use serde_json::{Value as Json, json};

use crate::figure::{Figure, Figures, Number};

/// A column: what is known of a run in a word or more, or a figure.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// Words.
    Fact(&'static Fact),
    /// A number.
    Figure(&'static Figure),
}

/// What is known of a run in a word or more.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Its name; stable, for machines too.
    pub name: &'static str,
    /// What it is and where it comes from.
    pub source: &'static str,
    /// Whether it needs the series of the run, which takes longer to read.
    pub needs_series: bool,
    pub(super) get: fn(&Figures<'_>) -> Option<String>,
}

impl Column {
    /// Its name, which carries the unit; stable, for machines too.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fact(fact) => fact.name,
            Self::Figure(figure) => figure.name,
        }
    }

    /// Its unit in words; empty for what has none.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Fact(_) => "",
            Self::Figure(figure) => figure.unit,
        }
    }

    /// What it is and where it comes from.
    #[must_use]
    pub fn source(&self) -> &'static str {
        match self {
            Self::Fact(fact) => fact.source,
            Self::Figure(figure) => figure.source,
        }
    }

    /// Whether it needs the series of the run, which takes longer to read.
    #[must_use]
    pub fn needs_series(&self) -> bool {
        matches!(self, Self::Fact(fact) if fact.needs_series)
    }

    /// The value for a run; `None` if it is not known.
    #[must_use]
    pub fn value(&self, figures: &Figures<'_>) -> Option<Value> {
        Some(match self {
            Self::Fact(fact) => Value::Text((fact.get)(figures)?),
            Self::Figure(figure) => match figure.number(figures)? {
                Number::Count(count) => Value::Count(count),
                Number::Measured(number) => Value::Number(number),
            },
        })
    }
}

/// The values of a row in the order of its columns; `None` is not known.
pub type Cells = Vec<Option<Value>>;

/// A value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A word or more.
    Text(String),
    /// A whole number, exact.
    Count(u64),
    /// A measured figure.
    Number(f64),
}

impl Value {
    /// As machines read it: no thousands separators, six significant digits at least, no exponent.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number(number) => plain_number(*number),
        }
    }

    /// As JSON, with all digits.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(count) => json!(count),
            Self::Number(number) => json!(number),
        }
    }
}

fn plain_number(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 1e5 => 0,
        size if size >= 1e3 => 2,
        size if size >= 1.0 => 4,
        _ => 7,
    };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_short_and_keep_six_digits() {
        for (number, text) in [
            (1_234_567.8, "1234568"),
            (12_345.678_9, "12345.68"),
            (12.345_678, "12.3457"),
            (0.012_345_678, "0.0123457"),
            (5.0, "5"),
            (0.0, "0"),
            (-0.000_000_001, "0"),
            (100_000.0, "100000"),
        ] {
            assert_eq!(Value::Number(number).plain(), text);
        }
    }
}
