//! One row per run: what a table of many runs shows of each.
//!
//! A [`Column`] is a fact, or a figure, whose name carries its unit; both say where they come from. The default set has the
//! columns of `awr_info`, the pipe-delimited summary that spreadsheets of SLOB's users depend on: see [`AWR_COLUMNS`].

mod awr;
mod column;
pub mod fact;
mod forms;

pub use awr::AWR_COLUMNS;
pub use column::{Cells, Column, Fact, Value};
pub use fact::status_word;
pub use forms::{as_csv, as_json, as_pipes};

use slob_record::Record;

use crate::figure::{self, Figures};

/// Every column there is, in the order in which they are shown to people.
pub fn all_columns() -> impl Iterator<Item = Column> {
    let facts = |facts: &'static [Fact]| facts.iter().map(Column::Fact);
    let figures = figure::all().map(Column::Figure);
    facts(fact::RUN).chain(figures).chain(facts(fact::WAITS)).chain(facts(fact::VERDICTS))
}

/// A column by its name, as a person typed it.
#[must_use]
pub fn column(name: &str) -> Option<Column> {
    all_columns().find(|column| column.name() == name)
}

/// The names of columns that look most like this one, for the user who mistyped it.
#[must_use]
pub fn near_columns(name: &str) -> Vec<&'static str> {
    crate::near::nearest(name, all_columns().map(|column| column.name()))
}

/// A run's values in some columns.
#[must_use]
pub fn cells(record: &Record, columns: &[Column]) -> Cells {
    let figures = Figures::of(record);
    columns.iter().map(|column| column.value(&figures)).collect()
}

#[cfg(test)]
mod tests;
