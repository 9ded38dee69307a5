//! Waits, their histograms, and the time model.
//!
//! Waits are those of foreground processes. The histograms' buckets have powers of two as their upper bounds, and a wait is
//! put down at the upper bound of its bucket: it was never longer than told. What waits took altogether is counted exactly.

use std::collections::BTreeMap;

use slob_engine::{LatencyKind, WaitEvent, WaitTotal};
use slob_stats::Histogram;

use crate::catalog::{number, text};
use crate::client::Row;
use crate::counters::Views;
use crate::version::Version;

/// The events whose latencies are kept. Reads of an Exadata storage server have events of their own. `db file parallel write` is a
/// batch of writes that DBWR hands over at once and waits for together, not one block.
const LATENCIES: &[(&str, LatencyKind)] = &[
    ("db file sequential read", LatencyKind::PhysicalRead),
    ("cell single block physical read", LatencyKind::PhysicalRead),
    ("db file parallel write", LatencyKind::PhysicalWrite),
    ("log file sync", LatencyKind::RedoSync),
];

/// Whether an event is that one, or a variety of it: since 19c Exadata's reads say after a colon which cache they came from,
/// as in 'cell single block physical read: RDMA', 'flash cache', 'pmem cache' or 'xrmem cache'.
pub(crate) fn is_kind_of(event: &str, known: &str) -> bool {
    event.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
}

/// The class under which the time model's CPU stands among the waits, as in the server's own reports.
const CPU: &str = "CPU";

/// The query for the histograms.
pub(crate) fn histogram_query(views: Views, version: &Version) -> String {
    let names: Vec<&str> = LATENCIES.iter().map(|(name, _)| *name).collect();
    let varieties: String = names.iter().map(|name| format!(" OR event LIKE '{name}: %'")).collect();
    let text = if version.has_micro_histograms() {
        include_str!("../sql/histogram_micro.sql")
    } else {
        include_str!("../sql/histogram_milli.sql")
    };
    views
        .fill_for(text, version.has_containers())
        .replace("{names}", &crate::names::literals(&names))
        .replace("{varieties}", &varieties)
}

/// From rows of event, upper bound in microseconds and count.
pub(crate) fn latencies(rows: &[Row]) -> BTreeMap<LatencyKind, Histogram> {
    let mut latencies: BTreeMap<LatencyKind, Histogram> = BTreeMap::new();
    for row in rows {
        let kind = text(row, 0).and_then(|name| LATENCIES.iter().find(|(known, _)| is_kind_of(name, known)));
        if let (Some((_, kind)), Some(bound_us), Some(waits)) = (kind, number(row, 1), number(row, 2))
            && waits > 0
        {
            latencies.entry(*kind).or_default().record_n(bound_us.saturating_mul(1000), waits);
        }
    }
    latencies
}

/// The container that rows of a histogram are of, by their last column; `None` where they don't say.
pub(crate) fn container(rows: &[Row]) -> Option<u64> {
    rows.iter().filter_map(|row| number(row, 3)).max()
}

/// What these latencies took exactly: sessions wait for reads and the log, the server's own processes for writes.
pub(crate) fn totals(events: &[WaitEvent]) -> BTreeMap<LatencyKind, WaitTotal> {
    let mut totals: BTreeMap<LatencyKind, WaitTotal> = BTreeMap::new();
    for event in events {
        let kind = LATENCIES.iter().find(|(known, _)| is_kind_of(&event.name, known)).map(|(_, kind)| *kind);
        let counts = |kind: &LatencyKind| !event.background || *kind == LatencyKind::PhysicalWrite;
        if let Some((kind, waits)) = kind.filter(counts).zip(event.waits) {
            let total = totals.entry(kind).or_default();
            total.waits += waits;
            total.time_us += event.time_us;
        }
    }
    totals
}

/// From rows of event, class, waits and microseconds of foreground processes, and the same of the server's own.
pub(crate) fn waits(rows: &[Row]) -> Vec<WaitEvent> {
    let of = |row: &Row, column: usize| {
        let waits = number(row, column).filter(|waits| *waits > 0)?;
        Some(WaitEvent {
            name: text(row, 0)?.to_owned(),
            class: text(row, 1)?.to_owned(),
            waits: Some(waits),
            time_us: number(row, column + 1)?,
            background: column != FOREGROUND,
        })
    };
    rows.iter().flat_map(|row| [of(row, FOREGROUND), of(row, OWN)]).flatten().collect()
}

/// The columns of waits in the rows of `system_event.sql`.
const FOREGROUND: usize = 2;
const OWN: usize = 4;
/// The class of I/O by the function of the server that does it, which counts again what events count.
const BY_FUNCTION: &str = "I/O by function";

/// From rows of function, waits and microseconds.
pub(crate) fn io_by_function(rows: &[Row]) -> Vec<WaitEvent> {
    let of = |row: &Row| {
        Some(WaitEvent {
            name: text(row, 0)?.to_owned(),
            class: BY_FUNCTION.into(),
            waits: Some(number(row, 1).filter(|waits| *waits > 0)?),
            time_us: number(row, 2)?,
            background: true,
        })
    };
    rows.iter().filter_map(of).collect()
}

/// The CPU of foreground processes, from rows of the time model.
pub(crate) fn cpu(rows: &[Row]) -> Option<WaitEvent> {
    let row = rows.iter().find(|row| text(row, 0) == Some("DB CPU"))?;
    Some(WaitEvent {
        name: "DB CPU".into(),
        class: CPU.into(),
        waits: None,
        time_us: number(row, 1)?,
        background: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&str]) -> Row {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn buckets_become_histograms_of_their_events() {
        let rows = [
            row(&["db file sequential read", "512", "10"]),
            row(&["cell single block physical read", "256", "5"]),
            row(&["log file sync", "1024", "3"]),
            row(&["log file sync", "2048", "0"]),
            row(&["enq: TX - row lock contention", "1024", "9"]),
        ];
        let latencies = latencies(&rows);
        assert_eq!(latencies.len(), 2);
        let reads = &latencies[&LatencyKind::PhysicalRead];
        assert_eq!((reads.count(), reads.max(), reads.min()), (15, Some(512_000), Some(256_000)));
        assert_eq!(latencies[&LatencyKind::RedoSync].count(), 3);
    }

    #[test]
    fn reads_from_the_caches_of_an_exadata_are_physical_reads() {
        let rows = ["", ": RDMA", ": flash cache", ": pmem cache", ": xrmem cache", "s of another kind"]
            .map(|rest| row(&[&format!("cell single block physical read{rest}"), "256", "2"]));
        assert_eq!(latencies(&rows)[&LatencyKind::PhysicalRead].count(), 10);
        let query = histogram_query(Views::Instance, &Version::parse("19.0.0.0.0"));
        assert!(query.contains("OR event LIKE 'cell single block physical read: %'"), "{query}");
    }

    /// A read of 257 us stands at 512 us among the buckets.
    #[test]
    fn what_reads_and_writes_took_is_taken_from_their_events_and_not_from_bounds_of_buckets() {
        let rows = [
            row(&["db file sequential read", "User I/O", "10", "2570", "3", "9000"]),
            row(&["cell single block physical read: RDMA", "User I/O", "5", "100", "0", "0"]),
            row(&["log file sync", "Commit", "4", "2000", "1", "70"]),
            row(&["db file parallel write", "System I/O", "0", "0", "8", "640"]),
            row(&["db file scattered read", "User I/O", "7", "7000", "0", "0"]),
        ];
        let total = |waits, time_us| WaitTotal { waits, time_us };
        let expected = [
            (LatencyKind::PhysicalRead, total(15, 2670)),
            (LatencyKind::PhysicalWrite, total(8, 640)),
            (LatencyKind::RedoSync, total(4, 2000)),
        ];
        assert_eq!(totals(&waits(&rows)), expected.into());
    }

    #[test]
    fn cpu_stands_among_the_waits_without_a_count() {
        let cpu = cpu(&[row(&["DB time", "900"]), row(&["DB CPU", "250"])]).unwrap();
        assert_eq!((cpu.name.as_str(), cpu.waits, cpu.time_us), ("DB CPU", None, 250));
    }

    /// Rows as a busy instance of 19c gives them: cumulative since its start, with sums that NUMBER holds.
    #[test]
    fn waits_of_sessions_are_told_from_those_of_the_servers_own_processes() {
        let rows = [
            row(&["db file sequential read", "User I/O", "90210514", "38719205519", "17204", "9120733"]),
            row(&["log file sync", "Commit", "1849271", "1402887213", "0", "0"]),
            row(&["db file parallel write", "System I/O", "0", "0", "2760011", "1019822154"]),
            row(&["log file parallel write", "System I/O", "0", "0", "1790225", "691200981"]),
            row(&["cursor: pin S", "Concurrency", "0", "0", "0", "0"]),
        ];
        let waits = waits(&rows);
        let seen: Vec<_> = waits.iter().map(|event| (event.name.as_str(), event.background)).collect();
        assert_eq!(
            seen,
            [
                ("db file sequential read", false),
                ("db file sequential read", true),
                ("log file sync", false),
                ("db file parallel write", true),
                ("log file parallel write", true)
            ]
        );
        assert_eq!((waits[0].waits, waits[0].time_us), (Some(90_210_514), 38_719_205_519));
        assert_eq!((waits[3].waits, waits[3].time_us), (Some(2_760_011), 1_019_822_154));
    }

    #[test]
    fn io_by_function_is_beside_db_time() {
        let rows = [
            row(&["Buffer Cache Reads", "90001211", "38600112000"]),
            row(&["LGWR", "1790225", "690000000"]),
            row(&["Smart Scan", "0", "0"]),
            vec![Some("XDB".into()), Some("1".into()), None],
        ];
        let io = io_by_function(&rows);
        assert_eq!(io.len(), 2);
        assert!(io.iter().all(|event| event.background && event.class == "I/O by function"));
        assert_eq!((io[1].waits, io[1].time_us), (Some(1_790_225), 690_000_000));
    }

    /// Three buckets of a release with milliseconds: its last one has no end, and is put down at its lower bound.
    #[test]
    fn old_histograms_become_the_same_ones() {
        let rows = [
            row(&["db file sequential read", "1000", "700"]),
            row(&["db file sequential read", "2000", "40"]),
            row(&["db file parallel write", "4194304000", "1"]),
        ];
        let latencies = latencies(&rows);
        assert_eq!(latencies[&LatencyKind::PhysicalRead].count(), 740);
        assert_eq!(latencies[&LatencyKind::PhysicalWrite].count(), 1);
    }

    #[test]
    fn old_releases_have_milliseconds() {
        let of = |text| histogram_query(Views::Instance, &Version::parse(text));
        assert!(of("11.2.0.4.0").contains("v$event_histogram\n") && of("11.2.0.4.0").contains("* 1000"));
        assert!(of("19.0.0.0.0").contains("v$event_histogram_micro"));
    }
}
