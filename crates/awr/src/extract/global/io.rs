//! I/O by function and by type of file in a global report: a row for each of them from 12.1 on, a column before that.

use super::{all_of, of_all};
use crate::extract::events::unit_of;
use crate::extract::profile::cell;
use crate::figure::{TimeUnit, duration_us};
use crate::report::{IoLine, Report};
use crate::table::{Head, Table};

const MIB: f64 = 1024.0 * 1024.0;

pub(super) fn fill(report: &mut Report, table: &Table, title: &str) {
    let is_name = |head: &str| head.ends_with("name") || head == "function" || head == "filetype";
    let lines = match table.column(is_name) {
        Some(name) => rows(table, name),
        None => columns(table),
    };
    if title.contains("function") {
        report.io_by_function.extend(lines);
    } else {
        report.io_by_file_type.extend(lines);
    }
}

/// A row for each function of each instance, and of all of them.
fn rows(table: &Table, name: usize) -> Vec<IoLine> {
    let at = |group: &str, word: &str| {
        table.heads.iter().position(|head| {
            let all = format!("{}{}", head.group, head.name);
            all.contains(group) && all.contains(word)
        })
    };
    let (reads, writes) = (at("read", "req"), at("write", "req"));
    let (read_mb, written_mb) = (at("read", "mb"), at("write", "mb"));
    let (small, large) = (at("small", "read"), at("large", "read"));
    let (waits, average) = (at("waits:", "count"), table.column(|head| head.starts_with("avg")));
    let unit = |column: Option<usize>| {
        let head = column.and_then(|at| table.heads.get(at));
        head.and_then(|head| unit_of(&format!("{}{}", head.group, head.name))).or(Some(TimeUnit::Ms))
    };
    let wanted = all_of(table);
    let mut is_all = false;
    let mut lines = Vec::new();
    for row in &table.rows {
        if !row.name().is_empty() {
            is_all = Some(row.name()) == wanted;
        }
        let Some(text) = row.text(Some(name)).filter(|_| is_all) else { continue };
        let time = |column| row.text(column).and_then(|text| duration_us(text, unit(column)));
        let mib = |column| cell(row, column).map(|figure| figure.times(MIB));
        lines.push(IoLine {
            name: text.to_owned(),
            reads_per_s: cell(row, reads),
            writes_per_s: cell(row, writes),
            read_bytes_per_s: mib(read_mb),
            written_bytes_per_s: mib(written_mb),
            waits: cell(row, waits),
            average_us: time(average),
            small_read_us: time(small),
            large_read_us: time(large),
            ..IoLine::default()
        });
    }
    lines
}

/// What a column of 11.2 is about: `Reads MB/sec` over `Buffer Cache`.
struct Meaning {
    name: String,
    is_write: bool,
    is_data: bool,
}

impl Meaning {
    fn of(head: &Head) -> Option<Self> {
        let all = format!("{}{}", head.group, head.name);
        let is_data = all.contains("mb/s");
        let is_requests = all.contains("req");
        // `Direct Reads` may be written to in no table, but `Direct Writes` stands below `Writes`.
        let of_group = |word: &str| head.group.contains(word);
        let is_write = match (of_group("write"), of_group("read")) {
            (true, false) => true,
            (false, true) => false,
            _ => head.name.contains("write"),
        };
        (is_data || is_requests).then(|| Self { name: function(&head.name).to_owned(), is_write, is_data })
    }
}

/// The names of functions and types of files as other reports have them.
fn function(squeezed: &str) -> &str {
    match squeezed {
        "total" => "TOTAL:",
        "buffercache" | "cache" | "buffercachereads" => "Buffer Cache Reads",
        "directreads" => "Direct Reads",
        "directwrites" => "Direct Writes",
        "direct" => "Direct",
        "dbwr" => "DBWR",
        "lgwr" => "LGWR",
        "datafile" => "Data File",
        "tempfile" => "Temp File",
        "logfile" => "Log File",
        other => other,
    }
}

/// A column for each function, and a row for each instance.
fn columns(table: &Table) -> Vec<IoLine> {
    let mut lines: Vec<IoLine> = Vec::new();
    for (column, head) in table.heads.iter().enumerate() {
        let Some(meaning) = Meaning::of(head) else { continue };
        let Some(figure) = of_all(table, Some(column)) else { continue };
        let at = lines.iter().position(|line| line.name == meaning.name).unwrap_or_else(|| {
            lines.push(IoLine { name: meaning.name.clone(), ..IoLine::default() });
            lines.len() - 1
        });
        let line = &mut lines[at];
        match (meaning.is_data, meaning.is_write) {
            (true, false) => line.read_bytes_per_s = Some(figure.times(MIB)),
            (true, true) => line.written_bytes_per_s = Some(figure.times(MIB)),
            (false, false) => line.reads_per_s = Some(figure),
            (false, true) => line.writes_per_s = Some(figure),
        }
    }
    lines
}
