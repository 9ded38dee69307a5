//! Reading what `awr_info` printed: the pipe-delimited summary of repeated runs, in its older and its newer form.
//!
//! The older form has columns WRITERS and READERS, and SLOB.R told a run's model by them: READS if it has readers; REDO
//! if redo bytes / (PWRITES x 8192) is more than 2 and it is not READS; WRITES if it has writers and is not REDO.
//!
//! The newer form has SESSIONS alone. There a run is READS if blocks written and redo are each at most 1 % of the blocks
//! read; what is not READS is REDO or WRITES by the same ratio.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use super::metric::{READS as READ_RATE, REDO as REDO_RATE, WRITES as WRITE_RATE};
use crate::figure;

pub(super) const READS: &str = "READS";
const REDO: &str = "REDO";
const WRITES: &str = "WRITES";
/// What SLOB.R takes for the size of a block.
const BLOCK_BYTES: f64 = 8192.0;
/// Above this many bytes of redo per byte written a run is one of redo.
const REDO_RATIO: f64 = 2.0;
/// In the newer form: up to this share of what is read, what is written is the database's own housekeeping.
const HOUSEKEEPING: f64 = 0.01;

/// Heads, the figures they stand for, and factors.
const FIGURES: [(&str, &str, f64); 9] = [
    ("PREADS", READ_RATE, 1.0),
    ("PWRITES", WRITE_RATE, 1.0),
    ("REDO", REDO_RATE, 1.0),
    ("REDO_MBS", REDO_RATE, 1_048_576.0),
    ("EXECUTES", figure::OPERATIONS_PER_S.name, 1.0),
    ("LIO", figure::LOGICAL_READS_PER_S.name, 1.0),
    ("DFSR_LAT", figure::SINGLE_READ_MEAN_US.name, 1.0),
    ("ELAPSED", figure::WINDOW_S.name, 1.0),
    ("DB CPU", figure::DB_CPUS.name, 1.0),
];

/// Why a text is not what `awr_info` prints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AwrInfoError {
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
pub fn is_awr_info(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.trim_start().starts_with("FILE|"))
}

/// Reads the runs. Heads may come again within the text, as when several files were put together; cells that are empty
/// are not known.
///
/// # Errors
/// With the line, if it is in neither form.
pub fn parse(text: &str) -> Result<Vec<Run>, AwrInfoError> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| (at + 1, line));
    let (_, head) = lines.next().ok_or(AwrInfoError::Head)?;
    let heads = cells(head);
    let form = Form::of(&heads)?;
    let mut runs = Vec::new();
    for (line, text) in lines.filter(|(_, text)| cells(text) != heads) {
        let cells = cells(text);
        if cells.len() != heads.len() {
            return Err(AwrInfoError::Cells { line, found: cells.len(), expected: heads.len() });
        }
        let row: BTreeMap<&str, &str> = heads.iter().copied().zip(cells).collect();
        runs.push(run(&row, form, line)?);
    }
    Ok(runs)
}

#[derive(Clone, Copy)]
enum Form {
    Older,
    Newer,
}

impl Form {
    fn of(heads: &[&str]) -> Result<Self, AwrInfoError> {
        let has = |head: &str| heads.contains(&head);
        match heads.first() == Some(&"FILE") {
            true if has("WRITERS") && has("READERS") => Ok(Self::Older),
            true if has("SESSIONS") => Ok(Self::Newer),
            _ => Err(AwrInfoError::Head),
        }
    }
}

/// The cells of a line, whose last pipe ends the last of them.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    line.strip_suffix('|').unwrap_or(line).split('|').map(str::trim).collect()
}

fn run(row: &BTreeMap<&str, &str>, form: Form, line: usize) -> Result<Run, AwrInfoError> {
    let number = |head: &str| -> Result<Option<f64>, AwrInfoError> {
        let Some(text) = row.get(head).filter(|text| !text.is_empty()) else { return Ok(None) };
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        let wrong = || AwrInfoError::Number { line, head: head.to_owned(), text: (*text).to_owned() };
        value.map(Some).ok_or_else(wrong)
    };
    let mut figures = BTreeMap::new();
    for (head, name, factor) in FIGURES {
        if let Some(value) = number(head)? {
            figures.insert(name.to_owned(), value * factor);
        }
    }
    let known = |name: &str| figures.get(name).copied();
    let (reads, writes, redo) = (known(READ_RATE), known(WRITE_RATE), known(REDO_RATE));
    let count = |head: &str| number(head).map(|count| count.unwrap_or(0.0) as u32);
    let (models, sessions) = match form {
        Form::Older => {
            let (writers, readers) = (count("WRITERS")?, count("READERS")?);
            (models_by_counts(writers, readers, redo, writes), BTreeSet::from([writers, readers]))
        }
        Form::Newer => (vec![model_by_figures(reads, redo, writes)], BTreeSet::from([count("SESSIONS")?])),
    };
    let id = row.get("FILE").copied().unwrap_or_default().to_owned();
    Ok(Run {
        label: id.clone(),
        id,
        models: models.into_iter().map(str::to_owned).collect(),
        sessions: sessions.into_iter().filter(|sessions| *sessions > 0).collect(),
        figures,
    })
}

/// SLOB.R's rules.
fn models_by_counts(writers: u32, readers: u32, redo: Option<f64>, writes: Option<f64>) -> Vec<&'static str> {
    let is_reads = readers > 0;
    let is_redo = !is_reads && redo_or_writes(redo, writes, BLOCK_BYTES) == REDO;
    let mut models = Vec::new();
    models.extend(is_reads.then_some(READS));
    models.extend(is_redo.then_some(REDO));
    models.extend((writers > 0 && !is_redo).then_some(WRITES));
    models
}

fn model_by_figures(reads: Option<f64>, redo: Option<f64>, writes: Option<f64>) -> &'static str {
    let read_bytes = reads.unwrap_or(0.0) * BLOCK_BYTES;
    let little = |bytes: f64| bytes <= HOUSEKEEPING * read_bytes;
    if little(redo.unwrap_or(0.0)) && little(writes.unwrap_or(0.0) * BLOCK_BYTES) {
        return READS;
    }
    redo_or_writes(redo, writes, BLOCK_BYTES)
}

/// Of a run that writes: is it one of redo? Redo without any block written is; without redo there is nothing to call so.
pub(super) fn redo_or_writes(redo: Option<f64>, writes: Option<f64>, block_bytes: f64) -> &'static str {
    match redo.zip(writes) {
        Some((redo, writes)) if redo > REDO_RATIO * writes * block_bytes => REDO,
        _ => WRITES,
    }
}
