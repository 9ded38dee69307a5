//! Cumulative counters, from V$SYSSTAT, or GV$SYSSTAT where there are several instances: no licensed pack is touched.

use slob_engine::{Counter, Counters, WaitEvent};

use crate::catalog::{number, text};
use crate::client::Row;
use crate::events::is_kind_of;
use crate::version::Version;

/// The server's statistics and what they are here.
const STATISTICS: &[(&str, Counter)] = &[
    ("session logical reads", Counter::LogicalReads),
    ("physical reads", Counter::PhysicalReads),
    ("physical read IO requests", Counter::PhysicalReadRequests),
    ("physical read bytes", Counter::PhysicalReadBytes),
    ("physical writes", Counter::PhysicalWrites),
    ("physical write bytes", Counter::PhysicalWriteBytes),
    ("redo size", Counter::RedoBytes),
    ("redo writes", Counter::RedoWrites),
    ("redo synch writes", Counter::RedoSyncs),
    ("user commits", Counter::Commits),
    ("background checkpoints completed", Counter::Checkpoints),
];

/// Waits that are for blocks of tables and indexes to be read, each with its varieties.
const READS: &[&str] = &[
    "db file sequential read",
    "db file scattered read",
    "db file parallel read",
    "direct path read",
    "cell single block physical read",
    "cell multiblock physical read",
    "cell list of blocks physical read",
];

/// The views of one instance, or those of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Views {
    /// V$.
    Instance,
    /// GV$.
    Cluster,
}

impl Views {
    /// Fills their prefix into a query, and what tells instances apart.
    pub(crate) fn fill(self, sql: &str) -> String {
        self.fill_for(sql, false)
    }

    /// The same, with the container that a row is of as the last column, where there are any.
    pub(crate) fn fill_for(self, sql: &str, has_containers: bool) -> String {
        let (prefix, instance, by_instance) = match self {
            Self::Instance => ("v$", "1", ""),
            Self::Cluster => ("gv$", "inst_id", "inst_id, "),
        };
        sql.trim_end()
            .replace("{con_id}", if has_containers { ", MAX(con_id) AS con_id" } else { "" })
            .replace("{v}", prefix)
            .replace("{instance}", instance)
            .replace("{by_instance}", by_instance)
    }
}

/// The query for the statistics.
pub(crate) fn query(views: Views, version: &Version) -> String {
    let names: Vec<&str> = STATISTICS.iter().map(|(name, _)| *name).collect();
    views
        .fill_for(include_str!("../sql/sysstat.sql"), version.has_containers())
        .replace("{names}", &crate::names::literals(&names))
}

/// From its rows to counters; what is not among them is absent.
pub(crate) fn from_rows(rows: &[Row]) -> Counters {
    let counter = |row: &Row| {
        let name = text(row, 0)?;
        let (_, counter) = STATISTICS.iter().find(|(known, _)| *known == name)?;
        Some((*counter, number(row, 1)?))
    };
    rows.iter().filter_map(counter).collect()
}

/// The time spent waiting for reads, in nanoseconds; `None` if no event is known.
pub(crate) fn read_time_ns(events: &[WaitEvent]) -> Option<u64> {
    let is_read = |event: &&WaitEvent| READS.iter().any(|known| is_kind_of(&event.name, known));
    let reads = events.iter().filter(|event| !event.background).filter(is_read);
    let mut times = reads.map(|event| event.time_us.saturating_mul(1000)).peekable();
    times.peek()?;
    Some(times.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Row {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn every_statistic_is_a_counter_of_its_own() {
        let rows: Vec<Row> =
            STATISTICS.iter().zip(1..).map(|((name, _), value)| row(&[name, &value.to_string()])).collect();
        let counters = from_rows(&rows);
        assert_eq!(counters.iter().count(), STATISTICS.len());
        for ((_, counter), value) in STATISTICS.iter().zip(1..) {
            assert_eq!(counters.get(*counter), Some(value));
        }
    }

    #[test]
    fn what_the_server_does_not_say_is_absent() {
        let rows =
            [row(&["redo size", "4096"]), row(&["unknown", "7"]), vec![Some("physical reads".into()), None]];
        let counters = from_rows(&rows);
        assert_eq!(counters.get(Counter::RedoBytes), Some(4096));
        assert_eq!(counters.iter().count(), 1);
        assert_eq!(read_time_ns(&[]), None);
    }

    #[test]
    fn time_of_reads_is_that_of_their_events() {
        let event = |name: &str, time_us| WaitEvent {
            name: name.into(),
            class: "User I/O".into(),
            waits: Some(1),
            time_us,
            background: false,
        };
        let events = [
            event("db file sequential read", 5),
            event("log file sync", 70),
            event("direct path read", 2),
            event("direct path read temp", 90),
        ];
        assert_eq!(read_time_ns(&events), Some(7000));
        let exadata = [
            event("cell single block physical read: RDMA", 30),
            event("cell multiblock physical read: flash cache", 4),
            event("cell single block physical read", 1),
        ];
        assert_eq!(read_time_ns(&exadata), Some(35_000));
    }

    #[test]
    fn clusters_are_asked_as_a_whole() {
        let version = Version::parse("19.0.0.0.0");
        let all = query(Views::Cluster, &version);
        assert!(all.contains("FROM gv$sysstat") && all.contains("GROUP BY inst_id, name"), "{all}");
        let one = query(Views::Instance, &version);
        assert!(one.contains("FROM v$sysstat") && !one.contains('{'), "{one}");
        assert!(one.contains("MAX(con_id)"), "{one}");
        let old = query(Views::Instance, &Version::parse("11.2.0.4.0"));
        assert!(!old.contains("con_id"), "there are no containers: {old}");
    }
}
