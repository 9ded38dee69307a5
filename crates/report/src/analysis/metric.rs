//! The figure that a table shows.

use crate::analysis::Run;
use crate::figure::{self, Figure};
use crate::info;

pub(super) const READS: &str = figure::PHYSICAL_READS_PER_S.name;
pub(super) const WRITES: &str = figure::PHYSICAL_WRITES_PER_S.name;
pub(super) const READ_REQUESTS: &str = "physical_read_requests_per_s";
pub(super) const WRITE_REQUESTS: &str = "physical_write_requests_per_s";
/// Reads as `awr_info` has them: every run knows these, but not whether they are blocks or requests.
pub(super) const PREADS: &str = "PREADS";
pub(super) const PWRITES: &str = "PWRITES";
/// Bytes, as in SLOB.R; the figures of `slob info` are megabytes.
pub(super) const REDO: &str = "redo_bytes_per_s";

/// The figure that a table shows.
#[derive(Clone, Copy, Debug)]
pub enum Metric {
    /// Physical reads per second.
    Reads,
    /// Bytes of log per second.
    Redo,
    /// Writes of tables and indexes per second.
    Writes,
    /// Physical reads and writes per second.
    ReadWrite,
    /// A figure of `slob info`.
    Figure(&'static Figure),
}

/// There is no metric of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no metric '{name}'{near}; use reads, redo, writes, read-write or a column that `slob info --columns \
     help` lists"
)]
pub struct UnknownMetric {
    name: String,
    near: String,
}

/// What physical I/O is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Blocks.
    Blocks,
    /// Requests, each of one block or more.
    Requests,
    /// Whatever `awr_info` was made from.
    Unsaid,
}

impl Counted {
    /// What all of some runs know: AWR reports know both, and SLOB.R's figure is their requests.
    pub(super) fn of(runs: &[&Run]) -> Self {
        let knows = |run: &Run, name: &str| run.figures.contains_key(name);
        // A run that knows none of them says nothing.
        let knowing =
            || runs.iter().filter(|run| [PREADS, READS, READ_REQUESTS].iter().any(|name| knows(run, name)));
        let all_know = |name: &str| knowing().all(|run| knows(run, name));
        if knowing().next().is_some() && all_know(READ_REQUESTS) {
            Self::Requests
        } else if all_know(READS) {
            Self::Blocks
        } else {
            Self::Unsaid
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Blocks => "in blocks",
            Self::Requests => "in requests",
            Self::Unsaid => "as PREADS and PWRITES count them",
        }
    }

    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Blocks => [READS, WRITES],
            Self::Requests => [READ_REQUESTS, WRITE_REQUESTS],
            Self::Unsaid => [PREADS, PWRITES],
        }
    }
}

impl Metric {
    /// By its name: `reads`, `redo`, `writes`, `read-write`, or a figure of `slob info`.
    ///
    /// # Errors
    /// If there is none of that name, with those like it.
    pub fn named(name: &str) -> Result<Self, UnknownMetric> {
        match name {
            "reads" => Ok(Self::Reads),
            "redo" => Ok(Self::Redo),
            "writes" => Ok(Self::Writes),
            "read-write" => Ok(Self::ReadWrite),
            _ => figure::named(name).map(Self::Figure).ok_or_else(|| {
                let near = info::near_columns(name).join(", ");
                let near = if near.is_empty() { String::new() } else { format!(" (did you mean {near}?)") };
                UnknownMetric { name: name.to_owned(), near }
            }),
        }
    }

    /// What it is, with its unit.
    pub(super) fn words(&self, counted: Counted) -> String {
        let counted = counted.words();
        match self {
            Self::Reads => format!("physical reads per second ({counted})"),
            Self::Redo => "bytes of redo per second".to_owned(),
            Self::Writes => format!("physical writes per second ({counted})"),
            Self::ReadWrite => format!("physical reads and writes per second ({counted})"),
            Self::Figure(figure) if figure.unit.is_empty() => figure.name.to_owned(),
            Self::Figure(figure) => format!("{} ({})", figure.name, figure.unit),
        }
    }

    /// The words for more and for less of it.
    pub(super) fn words_of_change(&self) -> [&'static str; 2] {
        match self {
            Self::Figure(figure) if figure.unit == "us" || figure.unit == "s" => ["longer", "shorter"],
            Self::Figure(figure) if !figure.unit.contains('/') => ["higher", "lower"],
            _ => ["faster", "slower"],
        }
    }

    /// The names of the figures that it is the sum of.
    pub(super) fn parts(&self, counted: Counted) -> Vec<&'static str> {
        let [reads, writes] = counted.names();
        match self {
            Self::Reads => vec![reads],
            Self::Redo => vec![REDO],
            Self::Writes => vec![writes],
            Self::ReadWrite => vec![reads, writes],
            Self::Figure(figure) => vec![figure.name],
        }
    }
}
