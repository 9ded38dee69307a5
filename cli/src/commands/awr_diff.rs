//! `slob awr diff`: two reports side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use serde_json::json;
use slob_awr::info::Named;
use slob_awr::{DiffRow, DiffTable, Scope, Side, diff as tables};
use slob_report::format::{ABSENT, fixed, signed_percent, significant};
use slob_report::table::{Column, Table};

use super::awr_files::Files;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Rows of a table, unless all are asked for.
const MOST_ROWS: usize = 30;

pub(crate) fn diff(matches: &ArgMatches) -> Outcome {
    let paths: Vec<&PathBuf> =
        ["first", "second"].iter().filter_map(|name| matches.get_one::<PathBuf>(name)).collect();
    let asked = paths.len();
    let read = Files::read(paths, Scope::All, |named| named)?;
    let [first, second] = &read.kept[..] else {
        let error = match (asked, read.kept.len()) {
            (_, 0) => "no report could be read".to_owned(),
            (1, _) => "there is only one report: name a second one, or a compare-period report".to_owned(),
            (_, found) => format!(
                "{found} periods were read, but only two can be compared: name two reports, or one compare-period report"
            ),
        };
        return Err(Failure::usage(error));
    };
    let tables = tables(&first.report, &second.report);
    if matches.get_flag("json") {
        let json = json!({ "first": first.label(), "second": second.label(), "tables": tables });
        output::print(&format!("{json:#}\n"))?;
    } else {
        output::print(&text(first, second, &tables, matches.get_flag("all")))?;
    }
    read.exit_code().or(Ok(ExitCode::from(crate::failure::PARTLY)))
}

fn text(first: &Named, second: &Named, tables: &[DiffTable], all: bool) -> String {
    let head = format!("First:  {}\nSecond: {}\n", first.label(), second.label());
    tables.iter().fold(head, |text, table| text + &one(table, all))
}

fn one(table: &DiffTable, all: bool) -> String {
    let unit = if table.unit.is_empty() { String::new() } else { format!(" ({})", table.unit) };
    let mut shown: Vec<&DiffRow> = table.rows.iter().collect();
    // Long tables are ordered by what is large in either report.
    if !all && shown.len() > MOST_ROWS {
        if !table.is_by_change {
            shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
        }
        shown.truncate(MOST_ROWS);
    }
    let columns =
        [Column::left(""), Column::right("First"), Column::right("Second"), Column::right("Change %")];
    let row = |row: &&DiffRow| {
        let change = row.change_percent.map_or_else(String::new, signed_percent);
        [row.name.clone(), shown_side(&row.first), shown_side(&row.second), change]
    };
    let rows = Table::new(columns).with_rows(shown.iter().map(row)).terminal(None);
    let left = table.rows.len() - shown.len();
    let more = if left > 0 {
        format!("  {left} smaller ones are left out: --all shows them\n")
    } else {
        String::new()
    };
    format!("\n{}{unit}\n{rows}{more}", table.title)
}

fn size(row: &DiffRow) -> f64 {
    let number = |side: &Side| match side {
        Side::Number(number) => number.abs(),
        _ => 0.0,
    };
    number(&row.first).max(number(&row.second))
}

fn shown_side(side: &Side) -> String {
    match side {
        Side::Absent => ABSENT.to_owned(),
        // A count is one.
        Side::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => fixed(*number, 0),
        Side::Number(number) => significant(*number),
        Side::Text(text) => text.clone(),
    }
}
