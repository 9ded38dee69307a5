//! Load profile, efficiency, time model, operating system, cache sizes.

use crate::figure::{Figure, bytes, number};
use crate::report::{CacheSize, HostCpu, LoadLine, OsStatistic, Percentage, Report, TimeModelLine};
use crate::table::{Document, Row, Table};

pub(super) fn cell(row: &Row, column: Option<usize>) -> Option<Figure> {
    row.text(column).and_then(number)
}

pub(super) fn load(table: &Table) -> Vec<LoadLine> {
    let column = |name: &'static str| table.column(move |head| head == name);
    let (second, transaction) = (column("persecond"), column("pertransaction"));
    let (exec, call) = (column("perexec"), column("percall"));
    let line = |row: &Row| {
        let name = row.name().strip_suffix(':')?;
        let per_second = cell(row, second);
        let per_transaction = cell(row, transaction);
        Some(LoadLine {
            name: name.trim().to_owned(),
            per_second,
            per_transaction,
            per_exec: cell(row, exec),
            per_call: cell(row, call),
        })
    };
    table.rows.iter().filter_map(line).collect()
}

/// Sections that are labels with values: efficiency and cache sizes.
pub(super) fn pairs(report: &mut Report, document: &Document) {
    for pair in &document.pairs {
        let section = pair.section.to_lowercase();
        let value = |at: usize| pair.values.get(at).map(String::as_str);
        if section.starts_with("instance efficiency") && pair.label.contains('%') {
            let percent = value(0).and_then(number);
            report.efficiency.push(Percentage { name: pair.label.clone(), percent });
        } else if section.starts_with("cache sizes") && !pair.values.is_empty() {
            let begin = value(0).and_then(bytes);
            if pair.label.eq_ignore_ascii_case("Std Block Size") {
                report.database.block_bytes = begin.map(|size| size.value);
            } else if !report.cache_sizes.iter().any(|size| size.name == pair.label) {
                let end_bytes = value(1).and_then(bytes);
                report.cache_sizes.push(CacheSize {
                    name: pair.label.clone(),
                    begin_bytes: begin,
                    end_bytes,
                });
            }
        }
    }
}

pub(super) fn time_model(table: &Table) -> Vec<TimeModelLine> {
    let seconds = table.column(|head| head.starts_with("time(s"));
    let percent = table.column(|head| head.starts_with('%') && head.ends_with("dbtime"));
    if seconds.is_none() {
        return Vec::new();
    }
    let line = |row: &Row| TimeModelLine {
        name: row.name().to_owned(),
        seconds: cell(row, seconds),
        percent_of_db_time: cell(row, percent),
    };
    table.rows.iter().map(line).filter(|line| line.seconds.is_some()).collect()
}

pub(super) fn os_statistics(table: &Table) -> Vec<OsStatistic> {
    let value = table.column(|head| head == "value" || head == "total");
    let end = table.column(|head| head == "endvalue");
    if value.is_none() {
        return Vec::new();
    }
    let line =
        |row: &Row| OsStatistic { name: row.name().to_owned(), value: cell(row, value), end: cell(row, end) };
    table.rows.iter().map(line).filter(|line| line.value.is_some()).collect()
}

pub(super) fn host_cpu(table: &Table) -> Option<HostCpu> {
    let row = table.rows.first()?;
    let at = |names: &[&str]| cell(row, table.column(|head| names.iter().any(|name| head.ends_with(name))));
    let cpu = HostCpu {
        load_begin: at(&["begin"]),
        load_end: at(&["end"]),
        user_percent: at(&["user"]),
        system_percent: at(&["system"]),
        wait_percent: at(&["wio"]),
        idle_percent: at(&["idle"]),
    };
    (cpu != HostCpu::default()).then_some(cpu)
}
