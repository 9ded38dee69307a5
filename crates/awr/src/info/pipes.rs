//! The text that `awr_info` prints: cells that each end with a pipe, below a line of heads.
//!
//! Its older form has WRITERS, READERS and REDO (bytes per second) in place of SESSIONS and REDO_MBS.

use std::collections::BTreeMap;

use super::{Head, MIB, Row};

const WRITERS: &str = "WRITERS";
const READERS: &str = "READERS";
const REDO_BYTES: &str = "REDO";

/// Why a text is not what `awr_info` prints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipesError {
    /// Its first line is no head.
    #[error(
        "it is not in the form of awr_info: the first line must begin with FILE| and name SESSIONS, or WRITERS and READERS"
    )]
    Head,
    /// A line has not as many cells as the head.
    #[error("line {line} has {found} cells, but the head has {expected}")]
    Cells {
        /// The line, from 1.
        line: usize,
        /// Cells in it.
        found: usize,
        /// Cells of the head.
        expected: usize,
    },
    /// A cell that should be a number is none.
    #[error("line {line}: {head} is '{text}', which is not a number")]
    Number {
        /// The line, from 1.
        line: usize,
        /// The column.
        head: String,
        /// What stands there.
        text: String,
    },
}

/// Whether a text begins like one of `awr_info`.
#[must_use]
pub fn is_pipes(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| {
        line.trim_start().strip_prefix(Head::File.text()).is_some_and(|rest| rest.starts_with('|'))
    })
}

/// Reads the rows. Heads may come again within the text, as when several files were put together; cells that are empty
/// are not known.
///
/// # Errors
/// With the line, if it is in neither form.
pub fn read_pipes(text: &str) -> Result<Vec<Row>, PipesError> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| (at + 1, line));
    let (_, head) = lines.next().ok_or(PipesError::Head)?;
    let heads = cells(head);
    let has = |head: &str| heads.contains(&head);
    let is_older = has(WRITERS) && has(READERS);
    if heads.first() != Some(&Head::File.text()) || !(is_older || has(Head::Sessions.text())) {
        return Err(PipesError::Head);
    }
    let mut rows = Vec::new();
    for (line, text) in lines.filter(|(_, text)| cells(text) != heads) {
        let cells = cells(text);
        if cells.len() != heads.len() {
            return Err(PipesError::Cells { line, found: cells.len(), expected: heads.len() });
        }
        let line = Line { number: line, cells: heads.iter().copied().zip(cells).collect() };
        rows.push(line.row(is_older)?);
    }
    Ok(rows)
}

/// The cells of a line, whose last pipe ends the last of them.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
}

struct Line<'a> {
    number: usize,
    cells: BTreeMap<&'a str, &'a str>,
}

impl Line<'_> {
    fn row(&self, is_older: bool) -> Result<Row, PipesError> {
        let mut figures = BTreeMap::new();
        for head in Head::ALL.into_iter().filter(|head| !head.is_text()) {
            if let Some(value) = self.figure(head.text())? {
                figures.insert(head, value);
            }
        }
        if let Some(bytes) = self.figure(REDO_BYTES)? {
            figures.insert(Head::RedoMib, bytes / MIB);
        }
        let count = |head| self.figure(head).map(|count| count.unwrap_or(0.0) as u32);
        let writers_and_readers = if is_older { Some([count(WRITERS)?, count(READERS)?]) } else { None };
        let words = |head: Head| self.cells.get(head.text()).filter(|text| !text.is_empty());
        Ok(Row {
            file: words(Head::File).copied().unwrap_or_default().to_owned(),
            writers_and_readers,
            top_wait: words(Head::TopWait).map(|text| (*text).to_owned()),
            figures,
        })
    }

    fn figure(&self, head: &str) -> Result<Option<f64>, PipesError> {
        let Some(text) = self.cells.get(head).filter(|text| !text.is_empty()) else { return Ok(None) };
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        value.map(Some).ok_or_else(|| PipesError::Number {
            line: self.number,
            head: head.to_owned(),
            text: (*text).to_owned(),
        })
    }
}
