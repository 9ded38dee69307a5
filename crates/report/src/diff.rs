//! Two runs side by side, or two groups of repeated runs: what differs, by how much, and is that more than noise?
//!
//! The order is that of AWR's compare-period report: what was different about the test, the load profile, latencies, CPU
//! and device, top events. With repeats the statement about noise is that of [`slob_stats::Comparison`].

mod changes;
mod events;
mod metrics;
mod sentence;
mod text;

use serde::Serialize;
use slob_record::{Record, Status};

pub use self::changes::Change;
pub use self::events::EventPair;
pub use self::metrics::Metric;
pub(crate) use self::sentence::{range, shown_percent};

use crate::Confidence;
use crate::figure::Figures;
use crate::page::{Block, Page};

/// What differs between two sides, of one run or of several repeated ones each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// The runs of the first side.
    pub first: Side,
    /// The runs of the second side.
    pub second: Side,
    /// How sure a statement about noise is.
    pub confidence: Confidence,
    /// What a reader wants to know, a sentence each.
    pub statements: Vec<String>,
    /// Parameters, server settings and platform that differ.
    pub changes: Vec<Change>,
    /// Figures side by side, whether they differ or not; those that neither side knows are left out.
    pub metrics: Vec<Metric>,
    /// Top timed events side by side, the largest first.
    pub events: Vec<EventPair>,
}

/// The runs of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Their ids, in the order given.
    pub runs: Vec<String>,
    /// Those that did not complete or have no window, and what is wrong with each.
    pub incomplete: Vec<String>,
}

/// Why two sides can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// A side has no run.
    #[error("the {0} side has no run: name one or more")]
    Empty(&'static str),
}

impl Diff {
    /// Compares the runs of two sides.
    ///
    /// # Errors
    /// If a side is empty.
    pub fn of(first: &[Record], second: &[Record], confidence: Confidence) -> Result<Self, DiffError> {
        for (side, records) in [("first", first), ("second", second)] {
            if records.is_empty() {
                return Err(DiffError::Empty(side));
            }
        }
        let a: Vec<Figures<'_>> = first.iter().map(Figures::of).collect();
        let b: Vec<Figures<'_>> = second.iter().map(Figures::of).collect();
        let metrics = metrics::compare(&a, &b, confidence);
        let changes = changes::find(first, second);
        let mut statements = sentence::statements(&metrics, (first.len(), second.len()), confidence);
        statements.extend(changes::other_statements(&changes));
        Ok(Self {
            first: Side::of(first),
            second: Side::of(second),
            confidence,
            statements,
            changes,
            metrics,
            events: events::pairs(&a, &b),
        })
    }

    /// The comparison as text, at most 100 columns wide.
    #[must_use]
    pub fn text(&self) -> String {
        text::page(self).into_text()
    }

    /// Heading of the section on what was set up differently; before it stands what is said in short.
    pub(crate) const CHANGES: &str = text::CHANGES;

    /// What [`Self::text`] shows below the names of the runs, for another form of it.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        text::body(Page::new(), self).into_blocks()
    }
}

impl Side {
    fn of(records: &[Record]) -> Self {
        let runs = records.iter().map(|record| record.id.clone()).collect();
        let wrong = |record: &Record| match &record.status {
            Status::Failed { error } => Some(format!("{} failed: {error}", record.id)),
            Status::Interrupted => Some(format!("{} was interrupted", record.id)),
            Status::Completed if record.window.is_none() => {
                Some(format!("{} has no measured window", record.id))
            }
            Status::Completed => None,
        };
        Self { runs, incomplete: records.iter().filter_map(wrong).collect() }
    }

    /// Its runs in words: the id of one, how many they are and which of several.
    pub(crate) fn words(&self) -> String {
        text::runs(self)
    }

    /// Whether it has repeats.
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.runs.len() > 1
    }
}

#[cfg(test)]
mod tests;
