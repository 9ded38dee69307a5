//! `slob info`: one row for each run.

use std::process::ExitCode;

use clap::ArgMatches;
use slob_record::{Record, SeriesWanted, list_runs};
use slob_report::info::{AWR_COLUMNS, Column, all_columns, cells, column, did_you_mean, table};

use crate::failure::{Failure, Outcome};
use crate::tables::{Form, Records};
use crate::{output, settings};

/// Asked for as a column: list them.
const HELP: &str = "help";

pub(crate) fn info(matches: &ArgMatches) -> Outcome {
    let results = settings::results_dir(&settings::resolve(matches, &[])?);
    let asked: Vec<&str> =
        matches.get_many::<String>("columns").unwrap_or_default().map(|name| name.trim()).collect();
    if asked.contains(&HELP) {
        output::print(&described())?;
        return Ok(ExitCode::SUCCESS);
    }
    let (heads, columns) = chosen(&asked)?;
    let series = match columns.iter().any(|column| column.needs_series) {
        true => SeriesWanted::Whole,
        false => SeriesWanted::Empty,
    };
    let names: Vec<&str> =
        matches.get_many::<String>("runs").unwrap_or_default().map(String::as_str).collect();
    let cells = |record: Record| cells(&record, &columns);
    let everything = names.is_empty();
    let read = match everything {
        true => Records::read_paths(&list_runs(&results)?, series, cells),
        false => Records::read(&results, names, series, cells),
    };
    if everything && read.kept.is_empty() {
        output::say(&format!("{} holds no runs", results.display()));
    }
    let code = read.exit_code()?;
    let table = table(heads, &columns, read.kept);
    output::print(&Form::of(matches, Form::Pipes).text(&table))?;
    Ok(code)
}

/// The columns that were asked for, or else those of `awr_info`, with their heads.
fn chosen(asked: &[&str]) -> Result<(Vec<&'static str>, Vec<Column>), Failure> {
    if asked.is_empty() {
        return Ok(AWR_COLUMNS.into_iter().map(|(head, column)| (head.text(), column)).unzip());
    }
    let find = |name: &&str| {
        column(name).map(|column| (column.name, column)).ok_or_else(|| {
            let near = did_you_mean(name);
            Failure::usage(format!(
                "there is no column '{name}'{near}: `slob info --columns help` lists them all"
            ))
        })
    };
    asked.iter().map(find).collect()
}

/// Every column with its unit and source.
fn described() -> String {
    let width = |of: fn(&Column) -> &str| all_columns().map(|column| of(&column).len()).max().unwrap_or(0);
    let (name, unit) = (width(|column| column.name), width(|column| column.unit));
    let line =
        |column: Column| format!("{:<name$}  {:<unit$}  {}\n", column.name, column.unit, column.source);
    let awr = AWR_COLUMNS.map(|(head, column)| format!("{} = {}", head.text(), column.name));
    let lines: String = all_columns().map(line).collect();
    format!("{lines}\nThose of awr_info, which are the default: {}\n", awr.join(", "))
}
