//! I/O by function, type of file, tablespace and file.

use super::profile::cell;
use crate::figure::{Figure, TimeUnit, bytes, duration_us};
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

/// What is below this is a rate in bytes that has lost its unit: the columns are in M, G, T and P alone.
const MIB: f64 = 1024.0 * 1024.0;

/// Text of 11.2 prints `551.641M` without its last character. The unit is that which fits Data / elapsed, the more so as
/// there are only four: M where that says nothing. Whether any was restored.
pub(super) fn restore_units(lines: &mut [IoLine], elapsed_s: Option<f64>) -> bool {
    let mut restored = false;
    for line in lines {
        restored |= restore(&mut line.read_bytes_per_s, line.read_bytes, elapsed_s);
        restored |= restore(&mut line.written_bytes_per_s, line.written_bytes, elapsed_s);
    }
    restored
}

fn restore(rate: &mut Option<Figure>, data: Option<Figure>, elapsed_s: Option<f64>) -> bool {
    // With its unit it has a step of a thousandth of a megabyte or more.
    let Some(bare) = rate.filter(|rate| rate.value > 0.0 && rate.resolution <= 1.0) else { return false };
    let expected = data.zip(elapsed_s).map(|(data, seconds)| data.value / seconds).filter(|rate| *rate > 0.0);
    let distance = |unit: &f64| expected.map_or(0.0, |expected| (bare.value * unit / expected).ln().abs());
    let units = [MIB, MIB * 1024.0, MIB * 1024.0 * 1024.0, MIB * MIB * 1024.0];
    let unit = units.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
    *rate = Some(bare.times(unit.unwrap_or(MIB)));
    true
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
        let name = row.name();
        let name = name.strip_suffix(':').unwrap_or(name).trim().to_owned();
        (both.is_some() || read.is_some()).then_some(IoProfileLine {
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
    let one_block_rate = column(&["1-bkrds/s"]);
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
        one_block_rate: cell(row, one_block_rate),
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

/// In some releases the columns of tablespaces stand under each other's headings, and those of files do not: the writes below
/// `1-bk Rds/s`. Where these add up to those of the files, they are taken, and the report says so.
pub(super) fn repair_tablespaces(tablespaces: &mut [FileIo], files: &[FileIo]) -> Option<String> {
    let sum = |lines: &[FileIo], of: fn(&FileIo) -> Option<Figure>| -> f64 {
        lines.iter().filter_map(of).map(|figure| figure.value).sum()
    };
    let expected = sum(files, |file| file.writes);
    let is_shifted = expected > 0.0
        && sum(tablespaces, |own| own.writes) != expected
        && sum(tablespaces, |own| own.one_block_rate) == expected;
    if !is_shifted {
        return None;
    }
    for own in tablespaces {
        own.writes = own.one_block_rate;
        own.writes_per_s = None;
    }
    Some("the headings of Tablespace IO Stats are shifted: writes stand below '1-bk Rds/s', as those of the files show".into())
}
