//! I/O by function, type of file, tablespace and file.

use super::profile::cell;
use crate::figure::{TimeUnit, bytes, duration_us};
use crate::report::{FileIo, IoLine, IoProfileLine};
use crate::table::{Row, Table};

/// What the columns up to the next one of these are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Reads,
    Writes,
    Waits,
}

/// `Reads: Data | Reqs per sec | Data per sec | Writes: Data | ...`: the same headings come twice, so a column's
/// meaning depends on those before it.
pub(super) fn lines(table: &Table) -> Vec<IoLine> {
    let mut side = None;
    let mut lines: Vec<IoLine> =
        table.rows.iter().map(|row| IoLine { name: row.name().to_owned(), ..IoLine::default() }).collect();
    for (column, head) in table.heads.iter().enumerate().skip(1) {
        let all = format!("{}{}", head.group, head.name);
        side = side_of(&head.group, &head.name).or(side);
        let unit = super::events::unit_of(&all).or(Some(TimeUnit::Ms));
        for (line, row) in lines.iter_mut().zip(&table.rows) {
            let Some(text) = row.text(Some(column)) else { continue };
            let number = || crate::figure::number(text);
            let (is_rate, is_data) = (head.name.contains("sec"), head.name.contains("data"));
            match side {
                _ if head.name.contains("small") => line.small_read_us = duration_us(text, unit),
                _ if head.name.contains("large") => line.large_read_us = duration_us(text, unit),
                Some(Side::Waits) if head.name.contains("count") => line.waits = number(),
                Some(Side::Waits) => line.average_us = duration_us(text, unit),
                Some(Side::Reads) if head.name.contains("req") => line.reads_per_s = number(),
                Some(Side::Reads) if is_data && is_rate => line.read_bytes_per_s = bytes(text),
                Some(Side::Reads) if is_data => line.read_bytes = bytes(text),
                Some(Side::Writes) if head.name.contains("req") => line.writes_per_s = number(),
                Some(Side::Writes) if is_data && is_rate => line.written_bytes_per_s = bytes(text),
                Some(Side::Writes) if is_data => line.written_bytes = bytes(text),
                _ => {}
            }
        }
    }
    lines.retain(|line| !line.name.is_empty() && (line.reads_per_s.is_some() || line.writes_per_s.is_some()));
    lines
}

fn side_of(group: &str, name: &str) -> Option<Side> {
    let begins = |word: &str| name.starts_with(&format!("{word}s:")) || group == word;
    [("read", Side::Reads), ("write", Side::Writes), ("wait", Side::Waits)]
        .into_iter()
        .find(|(word, _)| begins(word))
        .map(|(_, side)| side)
}

pub(super) fn profile(table: &Table) -> Vec<IoProfileLine> {
    let both = table.column(|head| head.starts_with("read+write"));
    let read = table.column(|head| head.starts_with("read") && !head.contains('+'));
    let written = table.column(|head| head.starts_with("write"));
    let line = |row: &Row| {
        let name = row.name().strip_suffix(':')?.trim().to_owned();
        Some(IoProfileLine {
            name,
            both: cell(row, both),
            read: cell(row, read),
            written: cell(row, written),
        })
    };
    table.rows.iter().filter_map(line).collect()
}

pub(super) fn files(table: &Table) -> Vec<FileIo> {
    let column = |names: &'static [&'static str]| table.column(move |head| names.contains(&head));
    let file = column(&["filename"]);
    let reads = column(&["reads"]);
    let reads_per_s = column(&["avrds/s", "avreads/s", "rds/s", "reads/s", "avrd/s"]);
    let read_ms = column(&["avrd(ms)", "rd(ms)", "av rd(ms)"]);
    let blocks = column(&["avblks/rd", "blks/rd"]);
    let writes = column(&["writes"]);
    let writes_per_s = column(&["writesavg/s", "avwrites/s", "avgwrites/s", "writes/s"]);
    let waits = column(&["bufferwaits"]);
    let wait_ms = column(&["avbufwt(ms)", "avbufwait(ms)", "bufwt(ms)", "avbufwt(ms)"]);
    let ms = |row: &Row, column| row.text(column).and_then(|text| duration_us(text, Some(TimeUnit::Ms)));
    let line = |row: &Row| FileIo {
        tablespace: row.name().to_owned(),
        file: row.text(file).map(str::to_owned),
        reads: cell(row, reads),
        reads_per_s: cell(row, reads_per_s),
        read_us: ms(row, read_ms),
        blocks_per_read: cell(row, blocks),
        writes: cell(row, writes),
        writes_per_s: cell(row, writes_per_s),
        buffer_waits: cell(row, waits),
        buffer_wait_us: ms(row, wait_ms),
    };
    if reads.is_none() {
        return Vec::new();
    }
    table.rows.iter().map(line).filter(|line| line.reads.is_some()).collect()
}
