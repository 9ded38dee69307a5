//! One row per run: what a table of many runs shows of each.
//!
//! A [`Column`] has a name that carries its unit and says where its figure comes from. The default set has the columns
//! of `awr_info`, the pipe-delimited summary that spreadsheets of SLOB's users depend on: see [`awr_columns`].

mod awr;
mod column;
mod forms;
mod performance;
mod platform;
mod settings;

pub(crate) use awr::awr_column_name;
pub use awr::{AwrColumn, awr_columns};
pub use column::{Cells, Column, Row, Value};
pub use forms::{as_csv, as_json, as_pipes};
pub use settings::status_word;

use column::Columns;

/// Where columns are listed, in the order in which they are shown to people.
const GROUPS: &[Columns] = &[
    settings::COLUMNS,
    performance::LOAD,
    performance::LATENCY,
    awr::COLUMNS,
    platform::CPU,
    platform::DEVICE,
    platform::VERDICTS,
];

/// Every column there is.
pub fn all_columns() -> impl Iterator<Item = &'static Column> {
    GROUPS.iter().flat_map(|group| group.iter())
}

/// A column by its name.
#[must_use]
pub fn column(name: &str) -> Option<&'static Column> {
    all_columns().find(|column| column.name == name)
}

/// The names of columns that look most like this one, for the user who mistyped it.
#[must_use]
pub fn near_columns(name: &str) -> Vec<&'static str> {
    crate::near::nearest(name, all_columns().map(|column| column.name))
}

#[cfg(test)]
mod tests;
