//! The figure that a table shows.

use crate::analysis::Run;
use crate::info;

pub(super) const READS: &str = "physical_reads_per_s";
pub(super) const WRITES: &str = "physical_writes_per_s";
/// Bytes, as in SLOB.R; the columns of `slob info` have megabytes.
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
    /// A column of `slob info`.
    Column(&'static info::Column),
}

impl Metric {
    /// By its name: `reads`, `redo`, `writes`, `read-write`, or a column of `slob info` that holds numbers.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "reads" => Some(Self::Reads),
            "redo" => Some(Self::Redo),
            "writes" => Some(Self::Writes),
            "read-write" => Some(Self::ReadWrite),
            _ => info::column(name).filter(|column| !column.is_text()).map(Self::Column),
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
            Self::Column(column) if column.unit.is_empty() => column.name.to_owned(),
            Self::Column(column) => format!("{} ({})", column.name, column.unit),
        }
    }

    /// The words for more and for less of it.
    pub(super) fn words_of_change(&self) -> [&'static str; 2] {
        match self {
            Self::Column(column) if column.unit == "us" || column.unit == "s" => ["longer", "shorter"],
            Self::Column(column) if !column.unit.contains('/') => ["higher", "lower"],
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
            Self::Column(column) => vec![column.name],
        }
    }

    /// Its value for a run; `None` if a part is not known.
    pub(super) fn value(&self, run: &Run) -> Option<f64> {
        self.parts().iter().map(|part| run.figures.get(*part).copied()).sum()
    }
}
