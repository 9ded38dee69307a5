//! `slob awr info`: one line for each report.

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use slob_awr::info::{Head, Named, Row, Value, columns};
use slob_report::format::{ABSENT, significant};
use slob_report::{csv_cell, pipe_cell};

use super::awr_files::Files;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::terminal_table::{self, Column};
use crate::tables::Form;

pub(crate) fn info(matches: &ArgMatches) -> Outcome {
    let paths = matches.get_many("files").unwrap_or_default();
    let (text, code) = match Form::of(matches, Form::Pipes) {
        Form::Json => {
            let read = Files::read(paths, |named| json_of(&named))?;
            let all =
                read.kept.iter().cloned().collect::<Result<Vec<Json>, String>>().map_err(Failure::failed)?;
            (format!("{:#}\n", Json::Array(all)), read.exit_code())
        }
        Form::Csv => {
            let columns = columns();
            let read = Files::read(paths, |named| {
                columns.iter().map(|column| column.value(&named)).collect::<Vec<_>>()
            })?;
            let heads: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            (csv(&heads, &read.kept), read.exit_code())
        }
        form => {
            let read = Files::read(paths, |named| Row::of(&named))?;
            let text = if form == Form::Table { table(&read.kept) } else { pipes(&read.kept) };
            (text, read.exit_code())
        }
    };
    // What could be read is shown, whatever is wrong with the rest.
    output::print(&text)?;
    code
}

fn json_of(named: &Named) -> Result<Json, String> {
    let report = serde_json::to_value(&named.report)
        .map_err(|error| format!("writing {} as JSON: {error}", named.file))?;
    Ok(json!({ "file": named.file, "sessions": named.sessions(), "report": report }))
}

fn plain(cell: Option<&Value>) -> String {
    cell.map(Value::plain).unwrap_or_default()
}

/// The form of `awr_info`: cells that each end with a pipe.
fn pipes(rows: &[Row]) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| format!("{}|", pipe_cell(&cell))).collect::<String>() + "\n"
    };
    let head = line(&mut Head::ALL.iter().map(|head| head.text().to_owned()));
    rows.iter().fold(head, |text, row| text + &line(&mut row.cells().map(|cell| plain(cell.as_ref()))))
}

fn csv(heads: &[&str], rows: &[Vec<Option<Value>>]) -> String {
    let head = heads.iter().map(|head| csv_cell(head)).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().fold(head, |text, row| {
        text + &row.iter().map(|cell| csv_cell(&plain(cell.as_ref()))).collect::<Vec<_>>().join(",") + "\n"
    })
}

/// For eyes: numbers rounded to what people compare.
fn table(rows: &[Row]) -> String {
    let column = |head: Head| match head.is_text() {
        true => Column::left(head.text()),
        false => Column::right(head.text()),
    };
    let cell = |cell: Option<Value>| match cell {
        Some(Value::Number(number)) => significant(number),
        Some(Value::Text(text)) => text,
        None => ABSENT.to_owned(),
    };
    terminal_table::table(Head::ALL.map(column), rows.iter().map(|row| row.cells().map(cell).collect()))
}
