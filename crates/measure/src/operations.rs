//! The operations of the method.

use serde::{Deserialize, Serialize};
use slob_stats::Merge;

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Counting over a range of the main table.
    Select,
    /// Changing a range of the main table, with its commit.
    Update,
    /// Counting over the scan table.
    Scan,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Select, Self::Update, Self::Scan];

    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Update => "UPDATE",
            Self::Scan => "SCAN",
        }
    }
}

/// Operations completed, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// SELECTs.
    pub selects: u64,
    /// UPDATEs with their commits.
    pub updates: u64,
    /// Short scans.
    pub scans: u64,
}

impl OpCounts {
    /// Counts one more.
    pub fn count(&mut self, kind: OpKind) {
        match kind {
            OpKind::Select => self.selects += 1,
            OpKind::Update => self.updates += 1,
            OpKind::Scan => self.scans += 1,
        }
    }

    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.selects.saturating_add(self.updates).saturating_add(self.scans)
    }
}

impl Merge for OpCounts {
    fn merge(&mut self, later: &Self) {
        self.selects.merge(&later.selects);
        self.updates.merge(&later.updates);
        self.scans.merge(&later.scans);
    }
}
