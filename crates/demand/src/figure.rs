use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Instances add up, and it grows with the demand.
    Rate,
    /// Microseconds: weighted over instances, independent of growth.
    Mean,
}

macro_rules! figures {
    ($($(#[$doc:meta])* $figure:ident = $name:literal, $title:literal, $unit:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Figure {
            $($(#[$doc])* $figure,)*
        }

        const TABLE: &[(Figure, &str, &str, &str)] = &[$((Figure::$figure, $name, $title, $unit),)*];
    };
}

figures! {
    LogicalReads = "logical_reads_per_s", "Logical reads (blocks)", "blocks/s";
    /// Requests for the application's blocks.
    ReadRequests = "physical_read_requests_per_s", "Physical read requests", "1/s";
    ReadBlocks = "physical_read_blocks_per_s", "Physical reads (blocks)", "blocks/s";
    ReadBytes = "physical_read_bytes_per_s", "Physical reads (bytes)", "bytes/s";
    /// Includes the server's own reads.
    AllReadBytes = "all_read_bytes_per_s", "All reads (bytes)", "bytes/s";
    SingleBlockReads = "single_block_reads_per_s", "Waits for a single block", "1/s";
    DirectReadBlocks = "direct_read_blocks_per_s", "Direct reads (blocks)", "blocks/s";
    /// Sorts and joins.
    TempReadBytes = "temp_read_bytes_per_s", "Temporary data read", "bytes/s";
    /// Requests for the application's blocks.
    WriteRequests = "physical_write_requests_per_s", "Physical write requests", "1/s";
    WriteBlocks = "physical_write_blocks_per_s", "Physical writes (blocks)", "blocks/s";
    /// Includes the server's own writes.
    AllWriteBytes = "all_write_bytes_per_s", "All writes (bytes)", "bytes/s";
    TempWriteBytes = "temp_write_bytes_per_s", "Temporary data written", "bytes/s";
    RedoBytes = "redo_bytes_per_s", "Redo", "bytes/s";
    Commits = "commits_per_s", "Commits", "1/s";
    Rollbacks = "rollbacks_per_s", "Rollbacks", "1/s";
    Executions = "executions_per_s", "Executions", "1/s";
    Parses = "parses_per_s", "Parses", "1/s";
    HardParses = "hard_parses_per_s", "Hard parses", "1/s";
    NetworkBytes = "network_bytes_per_s", "Network", "bytes/s";
    /// Seconds in calls, of all sessions: average active sessions.
    DbTime = "db_time_per_s", "Average active sessions (DB time)", "s/s";
    DbCpu = "db_cpu_per_s", "DB CPU", "s/s";
    /// The mean is of all reads where the source has no others.
    ReadUs = "single_block_read_us", "Read of a block, mean", "us";
    DirectReadUs = "direct_read_us", "Direct read, mean", "us";
    /// Reads of several blocks at a time that do not lie together.
    ParallelReadUs = "parallel_read_us", "Parallel read, mean", "us";
    BlockWriteUs = "block_write_us", "Write of blocks, mean", "us";
    LogWriteUs = "log_write_us", "Write of the log, mean", "us";
    CommitUs = "commit_wait_us", "Wait for a commit, mean", "us";
}

use Figure::*;

impl Figure {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(figure, ..)| *figure)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        &TABLE[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.row().1
    }

    pub fn title(self) -> &'static str {
        self.row().2
    }

    pub fn unit(self) -> &'static str {
        self.row().3
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|figure| figure.name() == name)
    }

    pub fn kind(self) -> Kind {
        if self.unit() == "us" { Kind::Mean } else { Kind::Rate }
    }

    /// The rate of waits weights their mean.
    pub(crate) fn weight(self) -> Option<Self> {
        match self {
            ReadUs => Some(SingleBlockReads),
            DirectReadUs => Some(DirectReadBlocks),
            ParallelReadUs => Some(ReadRequests),
            BlockWriteUs => Some(WriteRequests),
            LogWriteUs | CommitUs => Some(Commits),
            _ => None,
        }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// Blocks count if requests are unknown.
pub(crate) const READS: [Figure; 2] = [ReadRequests, ReadBlocks];
pub(crate) const WRITES: [Figure; 2] = [WriteBlocks, WriteRequests];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(BTreeMap<Figure, f64>);

impl Figures {
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.0.get(&figure).copied()
    }

    pub fn set(&mut self, figure: Figure, value: f64) {
        self.0.insert(figure, value);
    }

    pub fn set_known(&mut self, figure: Figure, value: Option<f64>) {
        if let Some(value) = value {
            self.set(figure, value);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Figure, f64)> {
        self.0.iter().map(|(figure, value)| (*figure, *value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn first(&self, figures: &[Figure]) -> Option<f64> {
        figures.iter().find_map(|figure| self.get(*figure))
    }

    pub fn reads(&self) -> Option<f64> {
        self.first(&READS)
    }

    pub fn writes(&self) -> Option<f64> {
        self.first(&WRITES)
    }

    /// Multiplies rates and keeps means.
    pub fn times(&self, factor: f64) -> Self {
        let grown = |(figure, value): (Figure, f64)| match figure.kind() {
            Kind::Rate => (figure, value * factor),
            Kind::Mean => (figure, value),
        };
        self.iter().map(grown).collect()
    }
}

impl FromIterator<(Figure, f64)> for Figures {
    fn from_iter<I: IntoIterator<Item = (Figure, f64)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<const N: usize> From<[(Figure, f64); N]> for Figures {
    fn from(values: [(Figure, f64); N]) -> Self {
        Self(values.into())
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(figure, value)| (figure.name(), value)))
    }
}

impl<'de> Deserialize<'de> for Figures {
    /// Ignores names of other releases.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let by_name = BTreeMap::<String, f64>::deserialize(from)?;
        Ok(by_name.into_iter().filter_map(|(name, value)| Some((Figure::named(&name)?, value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_figures_and_names_are_unique() {
        for (at, (figure, name, ..)) in TABLE.iter().enumerate() {
            assert_eq!(*figure as usize, at, "{name}");
            assert_eq!(Figure::named(name), Some(*figure));
            assert_eq!(figure.kind() == Kind::Mean, name.ends_with("_us"), "{name}");
        }
    }

    #[test]
    fn what_was_saved_is_read_and_a_name_of_another_release_is_passed_over() {
        let figures = Figures::from([(LogicalReads, 7.25), (ReadUs, 210.0)]);
        let text = serde_json::to_string(&figures).unwrap();
        assert_eq!(text, r#"{"logical_reads_per_s":7.25,"single_block_read_us":210.0}"#);
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), figures);
        let newer = r#"{"commits_per_s":2,"undo_per_s":7}"#;
        assert_eq!(serde_json::from_str::<Figures>(newer).unwrap(), [(Commits, 2.0)].into());
    }

    #[test]
    fn rates_grow_and_means_do_not() {
        let figures = Figures::from([(Commits, 10.0), (ReadUs, 210.0)]).times(1.5);
        assert_eq!(figures, [(Commits, 15.0), (ReadUs, 210.0)].into());
    }
}
