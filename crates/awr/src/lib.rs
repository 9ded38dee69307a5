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
pub mod info;
mod kind;
mod lookup;
mod names;
mod rates;
mod report;
pub mod series;
mod table;
mod text;

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
        "line {line}: it calls itself {kind} ({format}), but neither snapshots nor a load profile were found in its {lines} lines"
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
        "line {line}: the file ends here, in section '{section}', without the report's end: it was cut short; what stands before it was read"
    )]
    CutShort {
        /// The last line.
        line: usize,
        /// The section that it ends in.
        section: String,
        /// What was read before.
        read: Vec<Report>,
    },
}

impl ReadError {
    /// The line that the error is about, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::NoReport { line, .. } | Self::Refused { line, .. } => *line,
            Self::NoFigures { line, .. } | Self::CutShort { line, .. } => *line,
        }
    }

    /// What could be read all the same.
    #[must_use]
    pub fn read(self) -> Vec<Report> {
        match self {
            Self::CutShort { read, .. } => read,
            _ => Vec::new(),
        }
    }
}

/// Reads a report: one, or the two periods of a comparison.
///
/// # Errors
/// If it is no report, is of a kind that is not read, holds no figures, or was cut short; the last one carries what was
/// read.
pub fn read(bytes: &[u8]) -> Result<Vec<Report>, ReadError> {
    let text = text::decode(bytes);
    let Some((kind, format, at)) = kind::kind_of(&text) else {
        let line = text.lines().position(|line| !line.trim().is_empty()).unwrap_or(0);
        let beginning = text.lines().nth(line).unwrap_or_default().trim().chars().take(60).collect();
        return Err(ReadError::NoReport { line: line + 1, beginning });
    };
    let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    if !kind.is_read() {
        return Err(ReadError::Refused { line, kind });
    }
    let document = match format {
        Format::Text => text::read(&text, kind, extract::is_wanted),
        Format::Html => html::read(&text, extract::is_wanted),
    };
    let reports = match kind.is_comparison() {
        true => compare::reports(&document, kind, format),
        false => vec![extract::report(&document, kind, format)],
    };
    if !document.is_complete {
        let section = document.sections.last().map_or("", |(title, _)| title).to_owned();
        let read = reports.into_iter().filter(Report::has_figures).collect();
        return Err(ReadError::CutShort { line: document.last_line, section, read });
    }
    if !reports.iter().all(Report::has_figures) {
        return Err(ReadError::NoFigures { line, kind, format, lines: document.last_line });
    }
    Ok(reports)
}

/// Whether bytes are those of a report that [`read`] reads, by what they call themselves.
#[must_use]
pub fn is_report(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(128 * 1024)];
    kind::kind_of(&text::decode(head)).is_some_and(|(kind, ..)| kind.is_read())
}
