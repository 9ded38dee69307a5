//! What a plan is held against its demand by.

use serde::Serialize;

use crate::costs::Measured;
use crate::demand::{Demand, ReadsAre};
use crate::figure::{Figure, Figures};

/// One of them. Saved by its [`Aim::words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum Aim {
    /// Requests, or blocks where the demand knows these alone.
    PhysicalReads,
    /// Bytes of log.
    Redo,
    /// Transactions.
    Commits,
    /// Blocks, or requests where the demand knows these alone.
    PhysicalWrites,
    /// Visits of blocks in the cache.
    LogicalReads,
}

impl Aim {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] =
        [Self::PhysicalReads, Self::Redo, Self::Commits, Self::PhysicalWrites, Self::LogicalReads];

    /// What people call it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::PhysicalReads => "physical reads",
            Self::Redo => "redo",
            Self::Commits => "commits",
            Self::PhysicalWrites => "physical writes",
            Self::LogicalReads => "logical reads",
        }
    }

    /// Whether it must be met; logical reads are only approached.
    pub(crate) fn must(self) -> bool {
        self != Self::LogicalReads
    }

    /// Whether it is as much as there are commits.
    pub(crate) fn comes_with_commits(self) -> bool {
        matches!(self, Self::Redo | Self::Commits | Self::PhysicalWrites)
    }

    /// What a demand counts it by.
    pub(crate) fn figure(self, demand: &Demand) -> Figure {
        match (self, demand.reads_are) {
            (Self::PhysicalReads, ReadsAre::Requests) => Figure::ReadRequests,
            (Self::PhysicalReads, ReadsAre::Blocks) => Figure::ReadBlocks,
            (Self::Redo, _) => Figure::RedoBytes,
            (Self::Commits, _) => Figure::Commits,
            (Self::PhysicalWrites, _) if demand.figures.get(Figure::WriteBlocks).is_some() => {
                Figure::WriteBlocks
            }
            (Self::PhysicalWrites, _) => Figure::WriteRequests,
            (Self::LogicalReads, _) => Figure::LogicalReads,
        }
    }

    /// As much of it as figures know, requests for blocks and blocks for requests where only these are known.
    pub(crate) fn of(self, figures: &Figures) -> Option<f64> {
        match self {
            Self::PhysicalReads => figures.reads(),
            Self::Redo => figures.get(Figure::RedoBytes),
            Self::Commits => figures.get(Figure::Commits),
            Self::PhysicalWrites => figures.writes(),
            Self::LogicalReads => figures.get(Figure::LogicalReads),
        }
    }

    /// As much of it as a run did, counted as the demand does where it can be.
    pub(crate) fn measured(self, demand: &Demand, measured: &Measured) -> Option<f64> {
        match self {
            Self::PhysicalReads => measured.reads(demand.reads_are),
            _ => self.of(&measured.figures),
        }
    }

    /// That a run counts blocks where the demand counts requests, or the other way round, if so.
    pub(crate) fn counted_otherwise(self, demand: &Demand, measured: &Measured) -> Option<&'static str> {
        let counts = |figure| measured.figures.get(figure).is_some();
        let wanted = self.figure(demand);
        let other = match wanted {
            Figure::ReadRequests => Figure::ReadBlocks,
            Figure::ReadBlocks => Figure::ReadRequests,
            Figure::WriteRequests => Figure::WriteBlocks,
            Figure::WriteBlocks => Figure::WriteRequests,
            _ => return None,
        };
        let blocks = "requests are demanded, and blocks measured: the target does not count requests";
        let requests = "blocks are demanded, and requests measured: the target does not count blocks";
        let said =
            if matches!(wanted, Figure::ReadRequests | Figure::WriteRequests) { blocks } else { requests };
        (!counts(wanted) && counts(other)).then_some(said)
    }
}

impl From<Aim> for &'static str {
    fn from(aim: Aim) -> Self {
        aim.words()
    }
}
