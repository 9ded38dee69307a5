//! What an engine counts.

use std::collections::BTreeMap;

/// A figure that the database counts since some moment in the past and that only ever grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Block visits in the buffer cache.
    LogicalReads,
    /// Blocks that the buffer cache had to ask the operating system for.
    PhysicalReads,
    /// Requests made for those blocks, where one request may bring several.
    PhysicalReadRequests,
    /// Bytes of those reads.
    PhysicalReadBytes,
    /// Nanoseconds spent waiting for those reads.
    PhysicalReadTimeNs,
    /// Blocks of tables and indexes written.
    PhysicalWrites,
    /// Bytes of those writes.
    PhysicalWriteBytes,
    /// Bytes of log.
    RedoBytes,
    /// Log writes.
    RedoWrites,
    /// Times that log was forced to stable storage.
    RedoSyncs,
    /// Transactions committed.
    Commits,
    /// Rows that statements read.
    RowsRead,
    /// Rows that statements changed.
    RowsChanged,
    /// Checkpoints completed.
    Checkpoints,
    /// Bytes of temporary files.
    TempBytes,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 15] = [
        Self::LogicalReads,
        Self::PhysicalReads,
        Self::PhysicalReadRequests,
        Self::PhysicalReadBytes,
        Self::PhysicalReadTimeNs,
        Self::PhysicalWrites,
        Self::PhysicalWriteBytes,
        Self::RedoBytes,
        Self::RedoWrites,
        Self::RedoSyncs,
        Self::Commits,
        Self::RowsRead,
        Self::RowsChanged,
        Self::Checkpoints,
        Self::TempBytes,
    ];

    /// Its name in records: lower case, with the unit.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LogicalReads => "logical_reads",
            Self::PhysicalReads => "physical_reads",
            Self::PhysicalReadRequests => "physical_read_requests",
            Self::PhysicalReadBytes => "physical_read_bytes",
            Self::PhysicalReadTimeNs => "physical_read_time_ns",
            Self::PhysicalWrites => "physical_writes",
            Self::PhysicalWriteBytes => "physical_write_bytes",
            Self::RedoBytes => "redo_bytes",
            Self::RedoWrites => "redo_writes",
            Self::RedoSyncs => "redo_syncs",
            Self::Commits => "commits",
            Self::RowsRead => "rows_read",
            Self::RowsChanged => "rows_changed",
            Self::Checkpoints => "checkpoints",
            Self::TempBytes => "temp_bytes",
        }
    }
}

/// A flat set of counters; what the engine can't know is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<Counter, u64>);

impl Counters {
    /// The value, if the engine knows it.
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
        Self(self.iter().filter_map(delta).collect())
    }
}

impl Counters {
    /// Whether all of it can have been counted after `earlier` by a server that was not restarted in between.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        self.iter().all(|(counter, value)| earlier.get(counter).is_none_or(|before| before <= value))
    }

    /// The sum with another server's counters; one that either side lacks is absent.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self(
            self.iter().filter_map(|(counter, value)| Some((counter, value + other.get(counter)?))).collect(),
        )
    }
}

impl FromIterator<(Counter, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (Counter, u64)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_absent_rather_than_wrong() {
        let before: Counters = [(Counter::Commits, 5), (Counter::RedoBytes, 100)].into_iter().collect();
        let after: Counters =
            [(Counter::Commits, 9), (Counter::RedoBytes, 40), (Counter::RowsRead, 7)].into_iter().collect();
        let delta = after.since(&before);
        assert_eq!(delta.get(Counter::Commits), Some(4));
        assert_eq!(delta.get(Counter::RedoBytes), None, "went backwards");
        assert_eq!(delta.get(Counter::RowsRead), None, "unknown before");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Counter::ALL.iter().map(|counter| counter.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Counter::ALL.len());
    }
}
