//! OpenSLOB: readers of Oracle's AWR and Statspack reports.
//!
//! [`read`] takes the bytes of a file, tells what it is, and gives [`Report`]s: figures with their units and with the
//! precision that their print has. Text and HTML become tables first (`text`, `html`), and tables become types by their
//! titles and headings (`extract`), never by line numbers.
//!
//! What is not in a report is absent, never 0; a file that is no report, or one of a kind that is not read, is refused
//! by name; one that ends early is an error that carries what could be read.
//!
//! Pure: no files, no network, no clock, nothing is printed.
#![forbid(unsafe_code)]

mod compare;
mod diff;
pub mod doubts;
mod extract;
mod figure;
mod histogram;
mod html;
mod idle;
pub mod info;
mod input;
mod kind;
mod lookup;
mod names;
mod rates;
mod report;
pub mod series;
mod split;
mod table;
mod text;
pub mod trend;

use std::fmt;
use std::io::Read;

use split::{OneReport, Pieces};

pub use diff::{DiffRow, DiffTable, Side, diff};
pub use figure::{Base, Figure, TimeUnit, bytes, duration_us, number};
pub use histogram::{Bucket, EventHistogram, Over, TwoPeaks, duration};
pub use kind::{Format, Kind};
pub use rates::Rates;
pub use report::*;

/// Why a file was not read, or not to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// It is nothing that this program knows.
    #[error(
        "line {line}: this is no AWR or Statspack report: no line says 'WORKLOAD REPOSITORY report' or 'STATSPACK \
         report'; it begins with '{beginning}'"
    )]
    NoReport {
        /// The first line that is not blank.
        line: usize,
        /// How it begins.
        beginning: String,
    },
    /// It is of a kind that is not read.
    #[error(
        "line {line}: this is an {kind} report, which has no counters of an interval: only AWR and Statspack are read"
    )]
    Refused {
        /// Where it says so.
        line: usize,
        /// What it is.
        kind: Kind,
    },
    /// It says what it is, but has no figures.
    #[error(
        "line {line}: it calls itself {kind} ({format}), but snapshots, a load profile or wait events were not found in its {lines} \
         lines: its lines may have been wrapped or its columns moved"
    )]
    NoFigures {
        /// Where it says so.
        line: usize,
        /// What it says it is.
        kind: Kind,
        /// How it is written.
        format: Format,
        /// How long it is.
        lines: usize,
    },
    /// It ends before its end.
    #[error(
        "line {line}: {next_at}, in section '{section}', before the report's end: it was cut short; everything before it was read"
    )]
    CutShort {
        /// The last line.
        line: usize,
        /// The section that it ends in.
        section: String,
        /// Where the next one begins, if it is that which it ends with.
        next_at: NextAt,
        /// What was read before.
        read: Vec<Report>,
    },
    /// The file can't be read further: what it is packed in is damaged, or the disk is.
    #[error("line {line}: {why}; the rest of the file can't be read; everything before it was")]
    Unreadable {
        /// The last line that was read.
        line: usize,
        /// What the system or the unpacker says.
        why: String,
        /// What was read before.
        read: Vec<Report>,
    },
}

/// The line where another report begins, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextAt(pub Option<usize>);

impl fmt::Display for NextAt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => out.write_str("the file ends here"),
            Some(line) => write!(out, "another report begins in line {line}"),
        }
    }
}

impl ReadError {
    /// The line that the error is about, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::NoReport { line, .. } | Self::Refused { line, .. } => *line,
            Self::NoFigures { line, .. } | Self::CutShort { line, .. } | Self::Unreadable { line, .. } => {
                *line
            }
        }
    }

    /// What could be read all the same.
    #[must_use]
    pub fn read(self) -> Vec<Report> {
        match self {
            Self::CutShort { read, .. } | Self::Unreadable { read, .. } => read,
            _ => Vec::new(),
        }
    }
}

/// How much of a report is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Every section that is known.
    #[default]
    All,
    /// What the report is of, and what its [`info::Row`] is made of: half the time.
    Row,
}

/// Reads the reports of a file, one after the other: an archive or a mail may hold several. Each gives one report, or the two
/// periods of a comparison. The file may be packed with gzip or bzip2, and be UTF-8, UTF-16 or Latin-1.
pub struct Reports<'a> {
    pieces: Option<Pieces<'a>>,
    is_first: bool,
    scope: Scope,
}

impl<'a> Reports<'a> {
    /// Of what is read from there.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn of(input: impl Read + 'a) -> Result<Self, ReadError> {
        let input = input::plain(input).map_err(|error| ReadError::Unreadable {
            line: 1,
            why: error.to_string(),
            read: Vec::new(),
        })?;
        Ok(Self { pieces: Some(Pieces::new(input)), is_first: true, scope: Scope::default() })
    }

    /// The same, of which only so much is read.
    #[must_use]
    pub fn within(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }
}

impl Iterator for Reports<'_> {
    type Item = Result<Vec<Report>, ReadError>;

    /// The next report of the file.
    ///
    /// # Errors
    /// If it is no report, is of a kind that is not read, holds no figures, or was cut short; the last one carries what was
    /// read.
    fn next(&mut self) -> Option<Self::Item> {
        let pieces = self.pieces.as_mut()?;
        let is_first = std::mem::take(&mut self.is_first);
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
        let scope = self.scope;
        let wanted = |title: &str| match scope {
            Scope::All => kind == Kind::AwrGlobal || extract::is_wanted(title),
            Scope::Row => extract::is_of_row(title) && (kind == Kind::AwrGlobal || extract::is_wanted(title)),
        };
        let document = match format {
            Format::Text => text::read(|| report.next(), kind, wanted),
            Format::Html => html::read(&mut report, wanted),
        };
        let document = document.with_decimal_points();
        let next_at = report.next_at;
        let reports = match kind.is_comparison() {
            true => compare::reports(&document, kind, format),
            false => vec![extract::report(&document, kind, format)],
        };
        let lines = document.last_line;
        if let Some(why) = pieces.failure.take() {
            self.pieces = None;
            let read = reports.into_iter().filter(Report::has_figures).collect();
            return Some(Err(ReadError::Unreadable { line: lines, why, read }));
        }
        if !document.is_complete {
            let section = document.sections.last().map_or("", |(title, _)| title).to_owned();
            let read = reports.into_iter().filter(Report::has_figures).collect();
            return Some(Err(ReadError::CutShort { line: lines, section, next_at: NextAt(next_at), read }));
        }
        if !reports.iter().all(|report| report.has_figures() && !report.is_hollow()) {
            return Some(Err(ReadError::NoFigures { line, kind, format, lines }));
        }
        Some(Ok(reports))
    }
}

/// Reads all reports of a file that is in memory.
///
/// # Errors
/// The first that there is, see [`Reports`].
pub fn read(bytes: &[u8]) -> Result<Vec<Report>, ReadError> {
    let reports: Result<Vec<Vec<Report>>, ReadError> = Reports::of(bytes)?.collect();
    Ok(reports?.into_iter().flatten().collect())
}

/// Whether bytes are those of a report that [`read`] reads, by what they call themselves.
#[must_use]
pub fn is_report(bytes: &[u8]) -> bool {
    let plain = input::plain(bytes).ok();
    let head = plain.and_then(|plain| Pieces::new(plain).head());
    head.is_some_and(|(kind, ..)| kind.is_read())
}
