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

#[derive(Clone, Debug, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ReadError {
    /// Counted from 1.
    pub line: usize,
    pub fault: Fault,
    pub read: Vec<Report>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error(
        "this is no AWR or Statspack report: no line says 'WORKLOAD REPOSITORY report' or 'STATSPACK report'; it begins with \
         '{beginning}'"
    )]
    NoReport { beginning: String },
    #[error("this is an {0} report, which has no counters of an interval: only AWR and Statspack are read")]
    Refused(Kind),
    #[error(
        "it calls itself {kind} ({format}), but snapshots, a load profile or wait events were not found in its {lines} lines: its \
         lines may have been wrapped or its columns moved"
    )]
    NoFigures { kind: Kind, format: Format, lines: usize },
    #[error(
        "{}, in section '{section}', before the report's end: it was cut short; everything before it was read",
        .next_at.map_or("the file ends here".into(), |line| format!("another report begins in line {line}"))
    )]
    CutShort { section: String, next_at: Option<usize> },
    /// The disk or the packed data is damaged.
    #[error("{0}; the rest of the file can't be read; everything before it was")]
    Unreadable(String),
}

impl Fault {
    fn at(self, line: usize) -> ReadError {
        ReadError { line, fault: self, read: Vec::new() }
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
    pieces: Option<Pieces<'a>>,
    reports: usize,
    scope: Scope,
}

impl<'a> Reports<'a> {
    pub fn of(input: impl Read + 'a) -> Result<Self, ReadError> {
        let input =
            unpack::plain(input).map_err(|error| Fault::Unreadable(input::printable(&error)).at(1))?;
        Ok(Self { pieces: Some(Pieces::new(input)), reports: 0, scope: Scope::default() })
    }

    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    fn read(&self, pieces: &mut Pieces<'a>) -> Result<Vec<Report>, ReadError> {
        if self.reports > MOST_REPORTS {
            let why = format!("the file holds more than {MOST_REPORTS} reports");
            return Err(Fault::Unreadable(why).at(pieces.line()));
        }
        let head = pieces.head();
        if let (None, Some(why)) = (head, pieces.failure.take()) {
            return Err(Fault::Unreadable(why).at(pieces.line()));
        }
        let Some((kind, format, line)) = head else {
            let (line, beginning) = pieces.beginning();
            return Err(Fault::NoReport { beginning }.at(line));
        };
        let mut report = OneReport::new(pieces, format);
        if !kind.is_read() {
            report.skip();
            return Err(Fault::Refused(kind).at(line));
        }
        let wanted = |title: &str| sections::want(title, kind, self.scope);
        let document = match format {
            Format::Text => text::read(|| report.next(), kind, wanted),
            Format::Html => html::read(&mut report, wanted),
        };
        let next_at = report.next_at;
        let mut document = document.with_decimal_points();
        let mut read = match kind.is_comparison() {
            true => sections::periods(&mut document, kind, format, self.scope),
            false => vec![sections::report(&document, kind, format, self.scope)],
        };
        let lines = document.last_line;
        let too_large = || {
            let mib = table::MOST_HELD >> 20;
            format!(
                "the report is larger than any real one: its parts would take more than {mib} MiB of memory"
            )
        };
        let fault = if let Some(why) = pieces.failure.take().or_else(|| document.is_too_large.then(too_large))
        {
            Fault::Unreadable(why)
        } else if !document.is_complete {
            let section = document.sections.pop().map_or_else(String::new, |(title, _)| title);
            Fault::CutShort { section, next_at }
        } else if !read.iter().all(|report| report.has_figures() && !report.is_hollow()) {
            return Err(Fault::NoFigures { kind, format, lines }.at(line));
        } else {
            return Ok(read);
        };
        read.retain(Report::has_figures);
        Err(ReadError { line: lines, fault, read })
    }
}

impl Iterator for Reports<'_> {
    type Item = Result<Vec<Report>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut pieces = self.pieces.take()?;
        self.reports += 1;
        let read = self.read(&mut pieces);
        let fault = read.as_ref().err().map(|error| &error.fault);
        let is_over = matches!(fault, Some(Fault::NoReport { .. }));
        if !is_over && !matches!(fault, Some(Fault::Unreadable(_))) {
            self.pieces = Some(pieces);
        }
        // Text behind the last report is none.
        (!is_over || self.reports == 1).then_some(read)
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
