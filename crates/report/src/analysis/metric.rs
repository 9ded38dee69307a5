//! The figure that a table shows.

use crate::analysis::Run;
use crate::figure::{self, Figure};

pub(super) const READS: &str = figure::PHYSICAL_READS_PER_S.name;
pub(super) const WRITES: &str = figure::PHYSICAL_WRITES_PER_S.name;
/// Bytes, as in SLOB.R; the figures of `slob info` are megabytes.
pub(super) const REDO: &str = "redo_bytes_per_s";

/// The figure that a table shows.
#[derive(Clone, Copy, Debug)]
pub enum Metric {
    /// Physical reads per second.
    Reads,
    /// Bytes of log per second.
    Redo,
    /// Blocks of tables and indexes written per second.
    Writes,
    /// Physical reads and writes per second.
    ReadWrite,
    /// A figure of `slob info`.
    Figure(&'static Figure),
}

impl Metric {
    /// By its name: `reads`, `redo`, `writes`, `read-write`, or a figure of `slob info`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "reads" => Some(Self::Reads),
            "redo" => Some(Self::Redo),
            "writes" => Some(Self::Writes),
            "read-write" => Some(Self::ReadWrite),
            _ => figure::named(name).map(Self::Figure),
        }
    }

    /// What it is, with its unit.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Reads => "physical reads per second (blocks; AWR reports count requests)".to_owned(),
            Self::Redo => "bytes of redo per second".to_owned(),
            Self::Writes => "physical writes per second (blocks; AWR reports count requests)".to_owned(),
            Self::ReadWrite => {
                "physical reads and writes per second (blocks; AWR reports count requests)".to_owned()
            }
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
    pub(super) fn parts(&self) -> Vec<&'static str> {
        match self {
            Self::Reads => vec![READS],
            Self::Redo => vec![REDO],
            Self::Writes => vec![WRITES],
            Self::ReadWrite => vec![READS, WRITES],
            Self::Figure(figure) => vec![figure.name],
        }
    }

    /// Its value for a run; `None` if a part is not known.
    pub(super) fn value(&self, run: &Run) -> Option<f64> {
        self.parts().iter().map(|part| run.figures.get(*part).copied()).sum()
    }
}
