//! A column of a table of runs.

use slob_record::Record;

use crate::figures::Figures;

/// A list of columns.
pub(super) type Columns = &'static [Column];

/// What is known of a run before a column looks at it.
#[derive(Debug)]
pub struct Row<'a> {
    /// The run.
    pub record: &'a Record,
    /// What follows from its counts.
    pub figures: Figures,
}

impl<'a> Row<'a> {
    /// The row of a record.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        Self { record, figures: Figures::of(record) }
    }

    /// Its values in some columns.
    #[must_use]
    pub fn cells(&self, columns: &[&Column]) -> Cells {
        columns.iter().map(|column| column.value(self)).collect()
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

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Text(_) => None,
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
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

/// How a column gets its value from a run.
#[derive(Clone, Copy, Debug)]
enum Get {
    Text(fn(&Row<'_>) -> Option<String>),
    Count(fn(&Row<'_>) -> Option<u64>),
    Number(fn(&Row<'_>) -> Option<f64>),
}

/// A column: its name, unit and source, and how its value follows from a run.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, which carries the unit; stable, for machines too.
    pub name: &'static str,
    /// Its unit in words; empty for what has none.
    pub unit: &'static str,
    /// What it is and where it comes from.
    pub source: &'static str,
    /// Whether it needs the series of the run, which takes longer to read.
    pub needs_series: bool,
    get: Get,
}

impl Column {
    pub(super) const fn text(
        name: &'static str,
        source: &'static str,
        get: fn(&Row<'_>) -> Option<String>,
    ) -> Self {
        Self { name, unit: "", source, needs_series: false, get: Get::Text(get) }
    }

    pub(super) const fn count(
        name: &'static str,
        unit: &'static str,
        source: &'static str,
        get: fn(&Row<'_>) -> Option<u64>,
    ) -> Self {
        Self { name, unit, source, needs_series: false, get: Get::Count(get) }
    }

    pub(super) const fn number(
        name: &'static str,
        unit: &'static str,
        source: &'static str,
        get: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        Self { name, unit, source, needs_series: false, get: Get::Number(get) }
    }

    /// The same column, for a run that was read with its series.
    pub(super) const fn of_series(self) -> Self {
        Self { needs_series: true, ..self }
    }

    /// The value for a run; `None` if it is not known. A figure that is not finite is not known either.
    #[must_use]
    pub fn value(&self, row: &Row<'_>) -> Option<Value> {
        match self.get {
            Get::Text(get) => get(row).map(Value::Text),
            Get::Count(get) => get(row).map(Value::Count),
            Get::Number(get) => get(row).filter(|number| number.is_finite()).map(Value::Number),
        }
    }

    /// Whether its values are words.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.get, Get::Text(_))
    }
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
