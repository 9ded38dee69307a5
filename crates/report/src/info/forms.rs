//! Tables of runs for machines: pipe-delimited, comma-separated, JSON.

use serde_json::{Map, Value as Json};

use super::column::{Cells, Column, Value};
use crate::{csv_cell, pipe_cell};

/// Rows as lines of cells that each end with a pipe, below a line of heads: the form of `awr_info`. An unknown value is
/// an empty cell; a pipe within a value becomes a slash, because the form knows no quotes.
#[must_use]
pub fn as_pipes(heads: &[&str], rows: &[Cells]) -> String {
    let line =
        |cells: Vec<String>| -> String { cells.iter().map(|cell| format!("{}|", pipe_cell(cell))).collect() };
    let heads = line(heads.iter().map(|head| (*head).to_owned()).collect());
    lines(std::iter::once(heads).chain(rows.iter().map(|row| line(plain(row)))))
}

/// Rows as comma-separated values (RFC 4180, with line feeds), below a line of column names. An unknown value is empty.
#[must_use]
pub fn as_csv(columns: &[Column], rows: &[Cells]) -> String {
    let line = |cells: Vec<String>| cells.iter().map(|cell| csv_cell(cell)).collect::<Vec<_>>().join(",");
    let heads = line(columns.iter().map(|column| column.name().to_owned()).collect());
    lines(std::iter::once(heads).chain(rows.iter().map(|row| line(plain(row)))))
}

/// Rows as a JSON array of objects by column name. An unknown value is `null`.
#[must_use]
pub fn as_json(columns: &[Column], rows: &[Cells]) -> String {
    let object = |row: &Cells| {
        let member = |(column, value): (&Column, &Option<Value>)| {
            (column.name().to_owned(), value.as_ref().map_or(Json::Null, Value::json))
        };
        Json::Object(columns.iter().zip(row).map(member).collect::<Map<_, _>>())
    };
    format!("{:#}\n", Json::Array(rows.iter().map(object).collect()))
}

fn plain(row: &Cells) -> Vec<String> {
    row.iter().map(|value| value.as_ref().map(Value::plain).unwrap_or_default()).collect()
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
