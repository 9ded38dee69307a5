//! Histogram of the physical reads' latency.

use std::collections::BTreeMap;

use slob_measure::LatencyKind;
use slob_record::Record;
use slob_stats::Histogram;

use super::heat_map::{low_edge_ns, rows};
use crate::counters::latency;
use crate::format::{count, duration_us, percent};
use crate::html::plot::{Absent, Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};
use crate::latencies::is_coarse;

/// How many physical reads took how long.
pub(super) fn chart(record: &Record) -> Chart {
    let (about, source) = if is_coarse(record, LatencyKind::PhysicalRead) {
        (
            "Physical reads of the window by the upper bound of the bucket in which the database counts each.",
            "the database's own histogram of its waits",
        )
    } else {
        (
            "Physical reads of the window by how long each took, from the call to its return.",
            "the database's clock around each read",
        )
    };
    Chart {
        id: "read-histogram".into(),
        title: "Physical read latency".into(),
        about: format!("{about} A peak far on the left is a cache's, not the device's."),
        source: source.into(),
        body: drawing(record),
    }
}

fn drawing(record: &Record) -> Result<Drawing, Absent> {
    if record.window.is_none() {
        return super::absent("the run ended before its measured window");
    }
    let Some(histogram) = latency(record, LatencyKind::PhysicalRead) else {
        return super::absent("this database does not measure its single reads, or there were none");
    };
    let bars = Bars {
        name: "physical reads".into(),
        colour: Colour::Reads,
        opacity: Bars::OPACITY,
        bars: bars(histogram),
        horizontal: false,
    };
    let x = Axis::log("latency of a physical read", Unit::Seconds);
    Ok(Drawing::new(x, Axis::linear("reads", Unit::Count), vec![Trace::Bars(bars)]))
}

/// A bar for each row of the heat map's scale.
fn bars(histogram: &Histogram) -> Vec<Bar> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    rows(histogram).into_iter().for_each(|(row, n)| *counts.entry(row).or_default() += n);
    let bar = |(row, n): (i32, u64)| {
        let (low, high) = (low_edge_ns(row), low_edge_ns(row + 1));
        let share = percent(100.0 * n as f64 / histogram.count() as f64);
        let hover = format!(
            "{} to {}: {} reads, {share} %",
            duration_us(low / 1e3),
            duration_us(high / 1e3),
            count(n)
        );
        Bar { at: f64::midpoint(low, high) / 1e9, width: (high - low) / 1e9, length: n as f64, hover }
    };
    counts.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_measure::Counter;

    #[test]
    fn bars_hold_all_reads_and_touch() {
        let record = fixture::direct_read_run();
        let bars = bars(&record.latencies.get(LatencyKind::PhysicalRead).unwrap().histogram);
        let sum: f64 = bars.iter().map(|bar| bar.length).sum();
        assert_eq!(sum, record.counters.get(Counter::PhysicalReads).unwrap() as f64);
        let (first, second) = (&bars[0], &bars[1]);
        assert!((first.at + first.width / 2.0 - (second.at - second.width / 2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_database_without_a_clock_for_reads_says_so() {
        let absent = drawing(&fixture::page_cache_run()).unwrap_err();
        assert!(absent.0.contains("does not measure"), "{absent:?}");
    }
}
