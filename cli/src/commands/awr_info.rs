//! `slob awr info`: one line for each report.

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use slob_awr::Scope;
use slob_awr::info::{Head, Named, Row, Value, Work, columns, part_of_file};
use slob_awr::trend::log_file_sync_us;
use slob_report::format::{ABSENT, significant};
use slob_report::{csv_cell, pipe_cell};

use super::awr_files::Files;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::tables::Form;
use crate::terminal_table::{self, Column};

pub(crate) fn info(matches: &ArgMatches) -> Outcome {
    let paths = matches.get_many("files").unwrap_or_default();
    let (text, code) = match Form::of(matches, Form::Pipes) {
        Form::Json => {
            let read = Files::read(paths, Scope::All, |named| json_of(&named))?;
            let all =
                read.kept.iter().cloned().collect::<Result<Vec<Json>, String>>().map_err(Failure::failed)?;
            (format!("{:#}\n", Json::Array(all)), read.exit_code())
        }
        Form::Csv => match work(matches) {
            Some(work) => {
                let read = Files::read(paths, Scope::All, |named| work.rows(&named))?;
                (csv(&work.heads(), &read.kept.concat()), read.exit_code())
            }
            None => {
                let columns = columns();
                let read = Files::read(paths, Scope::All, |named| {
                    columns.iter().map(|column| column.value(&named)).collect::<Vec<_>>()
                })?;
                let heads: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                (csv(&heads, &read.kept), read.exit_code())
            }
        },
        Form::Table => {
            let read = Files::read(paths, Scope::Row, |named| Seen::of(&named))?;
            (table(&read.kept), read.exit_code())
        }
        Form::Pipes => {
            let read = Files::read(paths, Scope::Row, |named| Row::of(&named))?;
            (pipes(&read.kept), read.exit_code())
        }
    };
    // What could be read is shown, whatever is wrong with the rest.
    output::print(&text)?;
    code
}

/// What `--of` asks for in place of reports.
fn work(matches: &ArgMatches) -> Option<Work> {
    match matches.get_one::<String>("of").map(String::as_str) {
        Some("sql") => Some(Work::Statements),
        Some("segments") => Some(Work::Segments),
        _ => None,
    }
}

fn json_of(named: &Named) -> Result<Json, String> {
    let report = serde_json::to_value(&named.report)
        .map_err(|error| format!("writing {} as JSON: {error}", named.file))?;
    Ok(
        json!({ "file": part_of_file(&named.file, named.nth), "sessions": named.sessions(), "report": report }),
    )
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

/// A report for eyes: what it is of and when, then the figures that people compare.
struct Seen {
    row: Row,
    database: String,
    begin: String,
    log_file_sync_us: Option<f64>,
}

impl Seen {
    fn of(named: &Named) -> Self {
        let report = &named.report;
        let begin = report.interval.begin.as_ref().and_then(|snapshot| snapshot.time);
        let absent = || ABSENT.to_owned();
        Self {
            row: Row::of(named),
            database: report.database.name.clone().unwrap_or_else(absent),
            begin: begin.map_or_else(absent, |begin| begin.strftime("%Y-%m-%d %H:%M").to_string()),
            log_file_sync_us: log_file_sync_us(report),
        }
    }

    fn cells(&self) -> Vec<String> {
        let cell = |cell: Option<Value>| match cell {
            Some(Value::Number(number)) => significant(number),
            Some(Value::Text(text)) => text,
            None => ABSENT.to_owned(),
        };
        let own = Head::ALL.iter().map(|head| cell(self.row.cell(*head)));
        let mut cells: Vec<String> = own.collect();
        let sync = cell(self.log_file_sync_us.map(Value::Number));
        cells.insert(cells.len() - 1, sync);
        cells.splice(1..1, [self.database.clone(), self.begin.clone()]);
        cells
    }
}

/// DB time by the second is known as AAS.
fn table(rows: &[Seen]) -> String {
    let column = |head: &Head| match head {
        Head::DbTime => Column::right("AAS"),
        head if head.is_text() => Column::left(head.text()),
        head => Column::right(head.text()),
    };
    let mut columns: Vec<Column> = Head::ALL.iter().map(column).collect();
    columns.insert(columns.len() - 1, Column::right("LFS_LAT"));
    columns.splice(1..1, [Column::left("DATABASE"), Column::left("BEGIN")]);
    terminal_table::table(columns, rows.iter().map(Seen::cells))
}
