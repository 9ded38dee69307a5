//! `slob awr info`: one line for each report.

use clap::ArgMatches;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value as Json, json};
use slob_awr::info::{AWR_INFO, Named, Value, columns};
use slob_report::{csv_cell, pipe_cell};

use super::awr_files::Files;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::tables::Form;

type Row = Vec<Option<Value>>;

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
                columns.iter().map(|column| column.value(&named)).collect::<Row>()
            })?;
            let heads: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            (csv(&heads, &read.kept), read.exit_code())
        }
        form => {
            let read = Files::read(paths, |named| named.awr_info())?;
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

fn plain(cell: &Option<Value>) -> String {
    cell.as_ref().map(Value::plain).unwrap_or_default()
}

/// The form of `awr_info`: cells that each end with a pipe.
pub(super) fn pipes(rows: &[Row]) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        cells.map(|cell| format!("{}|", pipe_cell(&cell))).collect::<String>() + "\n"
    };
    let head = line(&mut AWR_INFO.iter().map(|head| (*head).to_owned()));
    rows.iter().fold(head, |text, row| text + &line(&mut row.iter().map(plain)))
}

fn csv(heads: &[&str], rows: &[Row]) -> String {
    let head = heads.iter().map(|head| csv_cell(head)).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().fold(head, |text, row| {
        text + &row.iter().map(|cell| csv_cell(&plain(cell))).collect::<Vec<_>>().join(",") + "\n"
    })
}

/// For eyes: numbers rounded to what people compare.
fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(AWR_INFO);
    for row in rows {
        table.add_row(row.iter().map(|cell| match cell {
            Some(Value::Number(number)) => slob_report::format::significant(*number),
            Some(Value::Text(text)) => text.clone(),
            None => slob_report::format::ABSENT.to_owned(),
        }));
    }
    for at in 1..AWR_INFO.len() - 1 {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
