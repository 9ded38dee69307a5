//! What a server counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::named::{self, Named};

/// A figure that the database counts since some moment in the past and that only ever grows. In the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Checkpoints completed.
    Checkpoints,
    /// Transactions committed.
    Commits,
    /// Nanoseconds in calls, of all sessions.
    DbTimeNs,
    /// Executions of statements.
    Executions,
    /// Block visits in the buffer cache.
    LogicalReads,
    /// Bytes of physical reads.
    PhysicalReadBytes,
    /// Requests made for physical reads, where one request may bring several blocks.
    PhysicalReadRequests,
    /// Nanoseconds spent waiting for physical reads.
    PhysicalReadTimeNs,
    /// Blocks that the buffer cache had to ask the operating system for.
    PhysicalReads,
    /// Bytes of physical writes.
    PhysicalWriteBytes,
    /// Requests made for physical writes.
    PhysicalWriteRequests,
    /// Blocks of tables and indexes written.
    PhysicalWrites,
    /// Bytes of log.
    RedoBytes,
    /// Nanoseconds spent forcing log to stable storage.
    RedoSyncTimeNs,
    /// Times that log was forced to stable storage.
    RedoSyncs,
    /// Log writes.
    RedoWrites,
    /// Transactions rolled back.
    Rollbacks,
    /// Rows that statements changed.
    RowsChanged,
    /// Rows that statements read.
    RowsRead,
    /// Bytes of temporary files.
    TempBytes,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 20] = [
        Self::Checkpoints,
        Self::Commits,
        Self::DbTimeNs,
        Self::Executions,
        Self::LogicalReads,
        Self::PhysicalReadBytes,
        Self::PhysicalReadRequests,
        Self::PhysicalReadTimeNs,
        Self::PhysicalReads,
        Self::PhysicalWriteBytes,
        Self::PhysicalWriteRequests,
        Self::PhysicalWrites,
        Self::RedoBytes,
        Self::RedoSyncTimeNs,
        Self::RedoSyncs,
        Self::RedoWrites,
        Self::Rollbacks,
        Self::RowsChanged,
        Self::RowsRead,
        Self::TempBytes,
    ];

    /// Its name in records: lower case, with the unit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkpoints => "checkpoints",
            Self::Commits => "commits",
            Self::DbTimeNs => "db_time_ns",
            Self::Executions => "executions",
            Self::LogicalReads => "logical_reads",
            Self::PhysicalReadBytes => "physical_read_bytes",
            Self::PhysicalReadRequests => "physical_read_requests",
            Self::PhysicalReadTimeNs => "physical_read_time_ns",
            Self::PhysicalReads => "physical_reads",
            Self::PhysicalWriteBytes => "physical_write_bytes",
            Self::PhysicalWriteRequests => "physical_write_requests",
            Self::PhysicalWrites => "physical_writes",
            Self::RedoBytes => "redo_bytes",
            Self::RedoSyncTimeNs => "redo_sync_time_ns",
            Self::RedoSyncs => "redo_syncs",
            Self::RedoWrites => "redo_writes",
            Self::Rollbacks => "rollbacks",
            Self::RowsChanged => "rows_changed",
            Self::RowsRead => "rows_read",
            Self::TempBytes => "temp_bytes",
        }
    }
}

impl Named for Counter {
    const EVERY: &'static [Self] = &Self::ALL;

    fn saved_name(self) -> &'static str {
        self.name()
    }
}

/// A flat set of counters; what is not counted is absent. Saved as an object by [`Counter::name`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counters(#[serde(with = "named")] BTreeMap<Counter, u64>);

impl Counters {
    /// The value, if it is known.
    #[must_use]
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.0.get(&counter).copied()
    }

    /// Sets a value.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.0.insert(counter, value);
    }

    /// All values, in the order of [`Counter`].
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }

    /// What was counted since an earlier moment on the same server. Counters that either side lacks, or that went
    /// backwards (the server was restarted), are absent.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let delta = |(counter, value): (Counter, u64)| {
            value.checked_sub(earlier.get(counter)?).map(|difference| (counter, difference))
        };
        self.iter().filter_map(delta).collect()
    }

    /// Whether all of it can have been counted after `earlier` by a server that was not restarted in between.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        self.iter().all(|(counter, value)| earlier.get(counter).is_none_or(|before| before <= value))
    }

    /// The sum with another server's counters; one that either side lacks is absent.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let sum = |(counter, value): (Counter, u64)| Some((counter, value + other.get(counter)?));
        self.iter().filter_map(sum).collect()
    }
}

impl FromIterator<(Counter, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (Counter, u64)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<const N: usize> From<[(Counter, u64); N]> for Counters {
    fn from(values: [(Counter, u64); N]) -> Self {
        Self(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_absent_rather_than_wrong() {
        let before = Counters::from([(Counter::Commits, 5), (Counter::RedoBytes, 100)]);
        let after = Counters::from([(Counter::Commits, 9), (Counter::RedoBytes, 40), (Counter::RowsRead, 7)]);
        let delta = after.since(&before);
        assert_eq!(delta.get(Counter::Commits), Some(4));
        assert_eq!(delta.get(Counter::RedoBytes), None, "went backwards");
        assert_eq!(delta.get(Counter::RowsRead), None, "unknown before");
    }

    #[test]
    fn counters_are_in_the_order_of_their_names() {
        named::assert_in_order_of_names::<Counter>();
    }

    #[test]
    fn what_was_saved_is_read_and_a_name_of_another_release_is_passed_over() {
        let all: Counters = Counter::ALL.into_iter().zip(1..).collect();
        let text = serde_json::to_string(&all).unwrap();
        assert!(text.starts_with(r#"{"checkpoints":1,"commits":2,"db_time_ns":3,"#), "{text}");
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), all);
        let newer = r#"{"commits":2,"undo_bytes":7}"#;
        assert_eq!(serde_json::from_str::<Counters>(newer).unwrap(), [(Counter::Commits, 2)].into());
        assert!(serde_json::from_str::<Counters>(r#"{"commits":-2}"#).is_err());
    }
}
