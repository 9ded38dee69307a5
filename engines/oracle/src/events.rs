//! Waits, their histograms, and the time model.
//!
//! Waits are those of foreground processes. The histograms' buckets have powers of two as their upper bounds, and a wait is
//! put down at the upper bound of its bucket: it was never longer than told.

use std::collections::BTreeMap;

use slob_engine::{LatencyKind, WaitEvent};
use slob_stats::Histogram;

use crate::catalog::{number, text};
use crate::client::Row;
use crate::counters::Views;
use crate::version::Version;

/// The events whose latencies are kept. Reads of an Exadata storage server have an event of their own.
const LATENCIES: &[(&str, LatencyKind)] = &[
    ("db file sequential read", LatencyKind::PhysicalRead),
    ("cell single block physical read", LatencyKind::PhysicalRead),
    ("db file parallel write", LatencyKind::PhysicalWrite),
    ("log file sync", LatencyKind::RedoSync),
];

/// The class under which the time model's CPU stands among the waits, as in the server's own reports.
const CPU: &str = "CPU";

/// The query for the histograms.
pub(crate) fn histogram_query(views: Views, version: &Version) -> String {
    let names: Vec<&str> = LATENCIES.iter().map(|(name, _)| *name).collect();
    let text = if version.has_micro_histograms() {
        include_str!("../sql/histogram_micro.sql")
    } else {
        include_str!("../sql/histogram_milli.sql")
    };
    views.fill(text).replace("{names}", &crate::names::literals(&names))
}

/// From rows of event, upper bound in microseconds and count.
pub(crate) fn latencies(rows: &[Row]) -> BTreeMap<LatencyKind, Histogram> {
    let mut latencies: BTreeMap<LatencyKind, Histogram> = BTreeMap::new();
    for row in rows {
        let kind = text(row, 0).and_then(|name| LATENCIES.iter().find(|(known, _)| *known == name));
        if let (Some((_, kind)), Some(bound_us), Some(waits)) = (kind, number(row, 1), number(row, 2))
            && waits > 0
        {
            latencies.entry(*kind).or_default().record_n(bound_us.saturating_mul(1000), waits);
        }
    }
    latencies
}

/// From rows of event, class, waits and microseconds.
pub(crate) fn waits(rows: &[Row]) -> Vec<WaitEvent> {
    let event = |row: &Row| {
        Some(WaitEvent {
            name: text(row, 0)?.to_owned(),
            class: text(row, 1)?.to_owned(),
            waits: number(row, 2),
            time_us: number(row, 3)?,
        })
    };
    rows.iter().filter_map(event).collect()
}

/// The CPU of foreground processes, from rows of the time model.
pub(crate) fn cpu(rows: &[Row]) -> Option<WaitEvent> {
    let row = rows.iter().find(|row| text(row, 0) == Some("DB CPU"))?;
    Some(WaitEvent { name: "DB CPU".into(), class: CPU.into(), waits: None, time_us: number(row, 1)? })
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
    fn cpu_stands_among_the_waits_without_a_count() {
        let cpu = cpu(&[row(&["DB time", "900"]), row(&["DB CPU", "250"])]).unwrap();
        assert_eq!((cpu.name.as_str(), cpu.waits, cpu.time_us), ("DB CPU", None, 250));
        let waits = waits(&[row(&["log file sync", "Commit", "4", "1200"])]);
        assert_eq!((waits[0].class.as_str(), waits[0].waits, waits[0].time_us), ("Commit", Some(4), 1200));
    }

    #[test]
    fn old_releases_have_milliseconds() {
        let of = |text| histogram_query(Views::Instance, &Version::parse(text));
        assert!(of("11.2.0.4.0").contains("v$event_histogram\n") && of("11.2.0.4.0").contains("* 1000"));
        assert!(of("19.0.0.0.0").contains("v$event_histogram_micro"));
    }
}
