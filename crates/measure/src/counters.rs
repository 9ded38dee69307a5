//! Cumulative counters of a server.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use strum::{EnumString, IntoStaticStr};

/// A figure that never falls while the server runs. Names give the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, EnumString, IntoStaticStr)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Counter {
    /// Checkpoints completed.
    Checkpoints,
    /// Transactions committed.
    Commits,
    /// Nanoseconds in calls.
    DbTimeNs,
    /// Executions of statements.
    Executions,
    /// Block visits in the buffer cache.
    LogicalReads,
    /// Bytes of physical reads.
    PhysicalReadBytes,
    /// One request may bring several blocks.
    PhysicalReadRequests,
    /// Nanoseconds of waits for physical reads.
    PhysicalReadTimeNs,
    /// Blocks from the operating system.
    PhysicalReads,
    /// Reads ahead, a whole extent at a time.
    PhysicalReadsAhead,
    /// Bytes of physical writes.
    PhysicalWriteBytes,
    /// Requests made for physical writes.
    PhysicalWriteRequests,
    /// Blocks of tables and indexes.
    PhysicalWrites,
    /// Bytes of log.
    RedoBytes,
    /// Nanoseconds spent forcing log to storage.
    RedoSyncTimeNs,
    /// Log forced to storage.
    RedoSyncs,
    /// Nanoseconds of log writes.
    RedoWriteTimeNs,
    /// Log writes.
    RedoWrites,
    /// Transactions rolled back.
    Rollbacks,
    /// Rows that statements changed.
    RowsChanged,
    /// Rows that statements read.
    RowsRead,
    /// Physical reads of no client, such as undo logs.
    SharedReadBytes,
    /// Rows of the run's tables that any client read.
    TableRowsRead,
    /// Bytes of temporary files.
    TempBytes,
}

impl Counter {
    /// Name in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Skips names of other releases.
pub(crate) fn known_names<'de, K, V, D>(from: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: FromStr + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let saved = BTreeMap::<String, V>::deserialize(from)?;
    Ok(saved.into_iter().filter_map(|(name, value)| Some((name.parse().ok()?, value))).collect())
}

/// Values by [`Counter::name`]; unknown ones are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counters(#[serde(deserialize_with = "known_names")] BTreeMap<Counter, u64>);

impl Counters {
    /// `None` if it is unknown.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.0.get(&counter).copied()
    }

    /// Sets the value.
    pub fn set(&mut self, counter: Counter, value: u64) {
        self.0.insert(counter, value);
    }

    /// Unknown values begin at zero.
    pub fn add(&mut self, others: &Self) {
        others.iter().for_each(|(counter, value)| *self.0.entry(counter).or_default() += value);
    }

    /// Makes a value unknown.
    pub fn remove(&mut self, counter: Counter) {
        self.0.remove(&counter);
    }

    /// True without any known value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Known values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> {
        self.0.iter().map(|(counter, value)| (*counter, *value))
    }

    /// Differences. A counter that one side lacks, or that fell, is absent.
    pub fn since(&self, earlier: &Self) -> Self {
        let delta = |(counter, value): (Counter, u64)| {
            value.checked_sub(earlier.get(counter)?).map(|difference| (counter, difference))
        };
        self.iter().filter_map(delta).collect()
    }

    /// False if a counter fell: the server was restarted.
    pub(crate) fn follows(&self, earlier: &Self) -> bool {
        self.iter().all(|(counter, value)| earlier.get(counter).is_none_or(|before| before <= value))
    }

    /// A counter that one side lacks is absent.
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
    use strum::VariantArray;

    fn assert_in_order_of_names<K>()
    where
        K: VariantArray + Copy + Ord + Into<&'static str> + std::fmt::Debug,
    {
        let names: Vec<&str> = K::VARIANTS.iter().map(|key| (*key).into()).collect();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "{names:?}");
        assert!(K::VARIANTS.is_sorted(), "{:?}", K::VARIANTS);
    }

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
    fn variants_are_in_the_order_of_their_names() {
        assert_in_order_of_names::<Counter>();
        assert_in_order_of_names::<crate::LatencyKind>();
    }

    #[test]
    fn saved_counters_are_read_and_names_of_other_releases_are_skipped() {
        let all: Counters = Counter::VARIANTS.iter().copied().zip(1..).collect();
        let text = serde_json::to_string(&all).unwrap();
        assert!(text.starts_with(r#"{"checkpoints":1,"commits":2,"db_time_ns":3,"#), "{text}");
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), all);
        let newer = r#"{"commits":2,"undo_bytes":7}"#;
        assert_eq!(serde_json::from_str::<Counters>(newer).unwrap(), [(Counter::Commits, 2)].into());
        assert!(serde_json::from_str::<Counters>(r#"{"commits":-2}"#).is_err());
    }
}
