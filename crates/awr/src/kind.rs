//! What a file is, told before anything is read of it.

use std::fmt;

use serde::Serialize;

/// The kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// AWR of one instance.
    Awr,
    /// AWR of a cluster's instances together.
    AwrGlobal,
    /// AWR of a pluggable database.
    AwrPdb,
    /// AWR that compares two periods.
    AwrCompare,
    /// AWR that compares two periods of a cluster.
    AwrGlobalCompare,
    /// Statspack.
    Statspack,
    /// Active session history: samples, not counters.
    Ash,
    /// The advisor's findings.
    Addm,
    /// The report of one SQL statement.
    AwrSql,
}

impl Kind {
    /// Whether there is anything in it that this program reads.
    #[must_use]
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Ash | Self::Addm | Self::AwrSql)
    }

    /// Whether it has two periods.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::AwrCompare | Self::AwrGlobalCompare)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Awr => "AWR",
            Self::AwrGlobal => "AWR global (RAC)",
            Self::AwrPdb => "AWR of a PDB",
            Self::AwrCompare => "AWR compare-period",
            Self::AwrGlobalCompare => "AWR global compare-period",
            Self::Statspack => "Statspack",
            Self::Ash => "ASH",
            Self::Addm => "ADDM",
            Self::AwrSql => "AWR of one SQL statement",
        })
    }
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text with columns.
    Text,
    /// HTML.
    Html,
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Text => "text",
            Self::Html => "HTML",
        })
    }
}

/// What a text is, with the byte at which it says so. `None` if it is no report of a known kind.
pub(crate) fn kind_of(text: &str) -> Option<(Kind, Format, usize)> {
    let head = text.to_ascii_uppercase();
    // The first 1,000 bytes of an HTML page have a tag; a text report has none there.
    let opening = &head[..floor_boundary(&head, 4_000)];
    let is_html =
        ["<HTML", "<!DOCTYPE HTML", "<HEAD", "<BODY", "<TABLE"].iter().any(|tag| opening.contains(tag));
    let format = if is_html { Format::Html } else { Format::Text };
    let (at, kind) =
        MARKS.iter().filter_map(|(mark, kind)| Some((head.find(mark)?, *kind))).min_by_key(|(at, _)| *at)?;
    Some((refined(kind, &head[at..]), format, at))
}

/// What a report calls itself in its first line or title.
const MARKS: [(&str, Kind); 10] = [
    ("WORKLOAD REPOSITORY REPORT (RAC)", Kind::AwrGlobal),
    ("WORKLOAD REPOSITORY COMPARE PERIOD REPORT", Kind::AwrCompare),
    ("WORKLOAD REPOSITORY RAC COMPARE", Kind::AwrGlobalCompare),
    ("WORKLOAD REPOSITORY SQL REPORT", Kind::AwrSql),
    ("WORKLOAD REPOSITORY PDB REPORT", Kind::AwrPdb),
    ("WORKLOAD REPOSITORY REPORT FOR", Kind::Awr),
    ("STATSPACK REPORT FOR", Kind::Statspack),
    ("ASH REPORT FOR", Kind::Ash),
    ("ADDM REPORT FOR", Kind::Addm),
    ("AUTOMATIC DATABASE DIAGNOSTIC MONITOR", Kind::Addm),
];

/// Whether a line holds a mark.
pub(crate) fn has_mark(line: &str) -> bool {
    let line = line.to_ascii_uppercase();
    MARKS.iter().any(|(mark, _)| line.contains(mark))
}

/// A comparison of clusters has the same words, with a note behind them.
fn refined(kind: Kind, from: &str) -> Kind {
    let line = from.split(['\n', '<']).next().unwrap_or_default();
    match kind {
        Kind::AwrCompare if line.contains("(RAC)") => Kind::AwrGlobalCompare,
        kind => kind,
    }
}

pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_by_what_it_calls_itself() {
        for (text, kind, format) in [
            ("\n\nWORKLOAD REPOSITORY report for\n\nDB", Kind::Awr, Format::Text),
            ("WORKLOAD REPOSITORY PDB report (PDB snapshots)\n", Kind::AwrPdb, Format::Text),
            ("WORKLOAD REPOSITORY REPORT (RAC)\n", Kind::AwrGlobal, Format::Text),
            ("WORKLOAD REPOSITORY COMPARE PERIOD REPORT\n", Kind::AwrCompare, Format::Text),
            ("WORKLOAD REPOSITORY COMPARE PERIOD REPORT (RAC)\n", Kind::AwrGlobalCompare, Format::Text),
            ("SQL> @spreport\nSTATSPACK report for\n", Kind::Statspack, Format::Text),
            (
                "<html><head><title>x</title></head><h1>\nWORKLOAD REPOSITORY report for\n",
                Kind::Awr,
                Format::Html,
            ),
            ("ASH Report For ORCL/orcl\n", Kind::Ash, Format::Text),
            ("          ADDM Report for Task 'TASK_1'\n", Kind::Addm, Format::Text),
        ] {
            let (found, how, _) = kind_of(text).unwrap();
            assert_eq!((found, how), (kind, format), "{text}");
        }
        assert_eq!(kind_of("a shopping list"), None);
    }
}
