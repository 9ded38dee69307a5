//! OpenSLOB: readers of Oracle's AWR and Statspack reports.
//!
//! Text and HTML become tables (`text`, `html`). Titles find the reader of a table (`sections`), and headings the fields of its
//! rows (`report`). A figure that a report lacks is absent, never 0. Pure: no files, no network, no clock, no output.
#![forbid(unsafe_code)]

pub mod checks;
mod diff;
mod figure;
pub mod histogram;
mod html;
pub mod info;
mod input;
mod kind;
mod lookup;
mod name;
pub mod relations;
mod report;
mod sections;
mod table;
mod text;
pub mod trend;
mod unpack;

use std::io::Read;

use input::{OneReport, Pieces};

pub use diff::{DiffRow, DiffTable, diff};
pub use figure::{Figure, duration_us};
pub use histogram::{Bucket, EventHistogram, Over, TwoPeaks, duration};
pub use kind::{Format, Kind};
pub use name::{BadPattern, NamePattern, RunName};
pub use report::*;
pub use trend::Rates;

/// Lines count from 1.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    #[error(
        "line {line}: this is no AWR or Statspack report: no line says 'WORKLOAD REPOSITORY report' or 'STATSPACK \
         report'; it begins with '{beginning}'"
    )]
    NoReport { line: usize, beginning: String },
    #[error(
        "line {line}: this is an {kind} report, which has no counters of an interval: only AWR and Statspack are read"
    )]
    Refused { line: usize, kind: Kind },
    #[error(
        "line {line}: it calls itself {kind} ({format}), but snapshots, a load profile or wait events were not found in its {lines} \
         lines: its lines may have been wrapped or its columns moved"
    )]
    NoFigures { line: usize, kind: Kind, format: Format, lines: usize },
    #[error(
        "line {line}: {}, in section '{section}', before the report's end: it was cut short; everything before it was read",
        .next_at.map_or("the file ends here".into(), |line| format!("another report begins in line {line}"))
    )]
    CutShort { line: usize, section: String, next_at: Option<usize>, read: Vec<Report> },
    /// The disk or the packed data is damaged.
    #[error("line {line}: {why}; the rest of the file can't be read; everything before it was")]
    Unreadable { line: usize, why: String, read: Vec<Report> },
}

impl ReadError {
    pub fn line(&self) -> usize {
        match self {
            Self::NoReport { line, .. }
            | Self::Refused { line, .. }
            | Self::NoFigures { line, .. }
            | Self::CutShort { line, .. }
            | Self::Unreadable { line, .. } => *line,
        }
    }

    pub fn read(self) -> Vec<Report> {
        match self {
            Self::CutShort { read, .. } | Self::Unreadable { read, .. } => read,
            _ => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    All,
    /// All sections, and every table as printed in [`Report::tables`].
    Tables,
    /// The sections of an [`info::Row`] and the header, in half the time.
    Row,
}

/// Each report takes some memory, if only for its error.
const MOST_REPORTS: usize = 100_000;

/// The reports of a file: text or HTML in UTF-8, UTF-16 or Latin-1, a zip archive, or gzip. Each item is a report, or the two
/// periods of a comparison.
pub struct Reports<'a> {
    /// Absent after the end.
    pieces: Option<Pieces<'a>>,
    reports: usize,
    scope: Scope,
}

impl<'a> Reports<'a> {
    pub fn of(input: impl Read + 'a) -> Result<Self, ReadError> {
        let unreadable = |error: std::io::Error| ReadError::Unreadable {
            line: 1,
            why: input::printable(&error),
            read: Vec::new(),
        };
        let input = unpack::plain(input).map_err(unreadable)?;
        Ok(Self { pieces: Some(Pieces::new(input)), reports: 0, scope: Scope::default() })
    }

    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

impl Iterator for Reports<'_> {
    type Item = Result<Vec<Report>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pieces = self.pieces.as_mut()?;
        self.reports += 1;
        let is_first = self.reports == 1;
        if self.reports > MOST_REPORTS {
            let (line, why) = (pieces.line(), format!("the file holds more than {MOST_REPORTS} reports"));
            self.pieces = None;
            return Some(Err(ReadError::Unreadable { line, why, read: Vec::new() }));
        }
        let head = pieces.head();
        if let (None, Some(why)) = (head, pieces.failure.take()) {
            let line = pieces.line();
            self.pieces = None;
            return Some(Err(ReadError::Unreadable { line, why, read: Vec::new() }));
        }
        let Some((kind, format, line)) = head else {
            let (line, beginning) = pieces.beginning();
            self.pieces = None;
            return is_first.then_some(Err(ReadError::NoReport { line, beginning }));
        };
        let mut report = OneReport::new(pieces, format);
        if !kind.is_read() {
            report.skip();
            return Some(Err(ReadError::Refused { line, kind }));
        }
        let wanted = |title: &str| sections::want(title, kind, self.scope);
        let document = match format {
            Format::Text => text::read(|| report.next(), kind, wanted),
            Format::Html => html::read(&mut report, wanted),
        };
        let next_at = report.next_at;
        let mut document = document.with_decimal_points();
        let reports = match kind.is_comparison() {
            true => sections::periods(&mut document, kind, format, self.scope),
            false => vec![sections::report(&document, kind, format, self.scope)],
        };
        let (lines, is_too_large) = (document.last_line, document.is_too_large);
        let with_figures = |reports: Vec<Report>| reports.into_iter().filter(Report::has_figures).collect();
        let too_large = || {
            let mib = table::MOST_HELD >> 20;
            format!(
                "the report is larger than any real one: its parts would take more than {mib} MiB of memory"
            )
        };
        if let Some(why) = pieces.failure.take().or_else(|| is_too_large.then(too_large)) {
            self.pieces = None;
            return Some(Err(ReadError::Unreadable { line: lines, why, read: with_figures(reports) }));
        }
        if !document.is_complete {
            let section = document.sections.last().map_or("", |(title, _)| title).to_owned();
            let read = with_figures(reports);
            return Some(Err(ReadError::CutShort { line: lines, section, next_at, read }));
        }
        if !reports.iter().all(|report| report.has_figures() && !report.is_hollow()) {
            return Some(Err(ReadError::NoFigures { line, kind, format, lines }));
        }
        Some(Ok(reports))
    }
}

pub fn read(bytes: &[u8]) -> Result<Vec<Report>, ReadError> {
    let reports: Result<Vec<Vec<Report>>, ReadError> = Reports::of(bytes)?.collect();
    Ok(reports?.into_iter().flatten().collect())
}

pub fn is_report(bytes: &[u8]) -> bool {
    let plain = unpack::plain(bytes).ok();
    let head = plain.and_then(|plain| Pieces::new(plain).head());
    head.is_some_and(|(kind, ..)| kind.is_read())
}
