//! The kind and the format of a file, from the title of its report.

use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    #[strum(to_string = "AWR")]
    Awr,
    #[strum(to_string = "AWR global (RAC)")]
    AwrGlobal,
    #[strum(to_string = "AWR of a PDB")]
    AwrPdb,
    #[strum(to_string = "AWR compare-period")]
    AwrCompare,
    #[strum(to_string = "AWR global compare-period")]
    AwrGlobalCompare,
    #[strum(to_string = "Statspack")]
    Statspack,
    /// Samples, not counters.
    #[strum(to_string = "ASH")]
    Ash,
    #[strum(to_string = "ADDM")]
    Addm,
    #[strum(to_string = "AWR of one SQL statement")]
    AwrSql,
}

impl Kind {
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Ash | Self::Addm | Self::AwrSql)
    }

    pub fn is_comparison(self) -> bool {
        matches!(self, Self::AwrCompare | Self::AwrGlobalCompare)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    #[default]
    #[strum(to_string = "text")]
    Text,
    #[strum(to_string = "HTML")]
    Html,
}

const TITLES: [(&str, Kind); 10] = [
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

pub(crate) fn kind_of(text: &str) -> Option<(Kind, Format)> {
    let head = text.to_ascii_uppercase();
    // An HTML page has a tag near its beginning; a text report has none there.
    let opening = &head[..floor_boundary(&head, 4_000)];
    let is_html =
        ["<HTML", "<!DOCTYPE HTML", "<HEAD", "<BODY", "<TABLE"].iter().any(|tag| opening.contains(tag));
    let found = TITLES.iter().filter_map(|(title, kind)| Some((head.find(title)?, *kind)));
    let (at, kind) = found.min_by_key(|(at, _)| *at)?;
    // A comparison of clusters has the same title with a note behind it.
    let line = head[at..].split(['\n', '<']).next().unwrap_or_default();
    let kind = match kind {
        Kind::AwrCompare if line.contains("(RAC)") => Kind::AwrGlobalCompare,
        kind => kind,
    };
    Some((kind, if is_html { Format::Html } else { Format::Text }))
}

pub(crate) fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

pub(crate) fn has_title(line: &str) -> bool {
    let line = line.to_ascii_uppercase();
    TITLES.iter().any(|(title, _)| line.contains(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_recognised_by_its_title() {
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
            assert_eq!(kind_of(text), Some((kind, format)), "{text}");
        }
        assert_eq!(kind_of("a shopping list"), None);
    }
}
