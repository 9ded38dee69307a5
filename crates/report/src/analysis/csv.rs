//! The tables for spreadsheets.

use super::{Analysis, Cell, Row, Table};
use crate::csv_cell;

const HEAD: &str =
    "table,model,metric,variant,sessions,runs,slob_r_mean,scaled,mean,low,high,median,cv_percent,latency_us";
const OVERALL: &str = "Overall";

pub(super) fn lines(analysis: &Analysis) -> String {
    let rows = analysis.tables.iter().flat_map(|table| table.rows.iter().flat_map(|row| of_row(table, row)));
    std::iter::once(HEAD.to_owned()).chain(rows).map(|line| line + "\n").collect()
}

fn of_row(table: &Table, row: &Row) -> Vec<String> {
    let sessions = table.sessions.iter().map(u32::to_string).chain([OVERALL.to_owned()]);
    let cells = row.cells.iter().chain([&row.overall]);
    sessions.zip(cells).map(|(sessions, cell)| line(table, &row.variant, &sessions, cell)).collect()
}

fn line(table: &Table, variant: &str, sessions: &str, cell: &Cell) -> String {
    let mut cells: Vec<String> = [table.title.as_str(), &table.model, &table.metric, variant, sessions]
        .into_iter()
        .map(csv_cell)
        .collect();
    cells.push(cell.runs.to_string());
    let figures = [
        cell.slob_r_mean,
        cell.scaled,
        cell.mean,
        cell.low,
        cell.high,
        cell.median,
        cell.cv_percent,
        cell.latency_us,
    ];
    cells.extend(figures.map(|figure| figure.map(|figure| figure.to_string()).unwrap_or_default()));
    cells.join(",")
}
