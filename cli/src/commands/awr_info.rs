//! `slob awr info`: one line for each report.

use clap::ArgMatches;
use serde_json::{Value as Json, json};
use slob_awr::Scope;
use slob_awr::info::{Head, Named, Row, Work, columns, part_of_file};
use slob_awr::trend::log_file_sync_us;
use slob_report::format::{ABSENT, Format};
use slob_report::table::{Cell, Column, Table};

use super::awr_files::Files;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::tables::Form;

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
                let columns: Vec<Column> = work.heads().into_iter().map(Column::left).collect();
                (Table::new(columns).with_rows(read.kept.concat()).csv(), read.exit_code())
            }
            None => {
                let columns = columns();
                let read = Files::read(paths, Scope::All, |named| {
                    columns.iter().map(|column| column.value(&named)).collect::<Vec<_>>()
                })?;
                let heads: Vec<Column> = columns.iter().map(|column| Column::left(&column.name)).collect();
                let code = read.exit_code();
                (Table::new(heads).with_rows(read.kept).csv(), code)
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

/// The form of `awr_info`: cells that each end with a pipe.
fn pipes(rows: &[Row]) -> String {
    let columns = Head::ALL.iter().map(|head| Column::left(head.text()));
    Table::new(columns).with_rows(rows.iter().map(Row::cells)).pipes()
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

    fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Head::ALL.iter().map(|head| self.row.cell(*head).into()).collect();
        cells.insert(cells.len() - 1, Format::Significant.cell(self.log_file_sync_us));
        cells.splice(1..1, [self.database.as_str().into(), self.begin.as_str().into()]);
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
    Table::new(columns).with_rows(rows.iter().map(Seen::cells)).terminal(None)
}
