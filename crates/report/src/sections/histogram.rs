//! Latency histograms with fixed edges, as databases show them.

use slob_measure::LatencyKind;
use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::latency;
use crate::format::{count, micros, or_absent, or_bound, percent};
use crate::latencies::{is_coarse, latency_mean_us, latency_percentile_us};
use crate::page::{Column, Page, Table};
use crate::sums::total;

/// Upper edges with their names: powers of two times a microsecond up to 512, then of a millisecond.
const EDGES: [(u64, &str); 15] = [
    (64_000, "<= 64 us"),
    (128_000, "<= 128 us"),
    (256_000, "<= 256 us"),
    (512_000, "<= 512 us"),
    (1_000_000, "<= 1 ms"),
    (2_000_000, "<= 2 ms"),
    (4_000_000, "<= 4 ms"),
    (8_000_000, "<= 8 ms"),
    (16_000_000, "<= 16 ms"),
    (32_000_000, "<= 32 ms"),
    (64_000_000, "<= 64 ms"),
    (128_000_000, "<= 128 ms"),
    (256_000_000, "<= 256 ms"),
    (512_000_000, "<= 512 ms"),
    (1_000_000_000, "<= 1 s"),
];
/// Bounds of the database's own buckets are values on an edge, or above it by as much as 2^20 us are above a second. They
/// belong below it.
const COARSE_SLACK: f64 = 0.06;
/// Length of a bar that stands for everything.
const BAR: f64 = 40.0;

pub(super) fn write(page: &mut Page, record: &Record) {
    let kinds = [
        (LatencyKind::PhysicalRead, "Physical read latency"),
        (LatencyKind::PhysicalWrite, "Physical write latency"),
        (LatencyKind::RedoSync, "Redo sync latency"),
    ];
    for (kind, title) in kinds {
        if let Some(histogram) = latency(record, kind) {
            page.section(title);
            figures(page, record, kind);
            page.table(&table(histogram, is_coarse(record, kind)));
        }
    }
}

fn figures(page: &mut Page, record: &Record, kind: LatencyKind) {
    let is_bound = is_coarse(record, kind);
    let at = |percent| or_bound(latency_percentile_us(record, kind, percent), is_bound, micros);
    page.paragraph(&format!(
        "Microseconds: mean {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}.",
        or_absent(latency_mean_us(record, kind), micros),
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        at(100.0)
    ));
}

fn table(histogram: &Histogram, is_coarse: bool) -> Table {
    let mut table = Table::new([
        Column::left("Latency"),
        Column::right("Count"),
        Column::right("%"),
        Column::right("Cumulative %"),
        Column::left(""),
    ]);
    rows(histogram, is_coarse).into_iter().for_each(|row| table.row(row));
    table
}

/// The ranges from the first to the last that holds anything, with one empty range on either side.
fn rows(histogram: &Histogram, is_coarse: bool) -> Vec<[String; 5]> {
    let counts = counts(histogram, is_coarse);
    let filled = |(_, n): &(&str, u64)| *n > 0;
    let (Some(first), Some(last)) = (counts.iter().position(filled), counts.iter().rposition(filled)) else {
        return Vec::new();
    };
    let total = total(counts.iter().map(|(_, n)| *n));
    let of_all = |n: u64| 100.0 * n as f64 / total as f64;
    let mut seen = 0;
    let row = |(name, n): &(&str, u64)| {
        seen += n;
        let bar = "#".repeat((of_all(*n) / 100.0 * BAR).round() as usize);
        [(*name).to_owned(), count(*n), percent(of_all(*n)), percent(of_all(seen)), bar]
    };
    let shown = first.saturating_sub(1)..(last + 2).min(counts.len());
    counts[shown].iter().map(row).collect()
}

fn counts(histogram: &Histogram, is_coarse: bool) -> Vec<(&'static str, u64)> {
    let slack = if is_coarse { 1.0 + COARSE_SLACK } else { 1.0 };
    let mut low = 0;
    let mut counts: Vec<_> = EDGES
        .iter()
        .map(|(high, name)| {
            let high = (*high as f64 * slack) as u64;
            let n = histogram.count_in(low, high);
            low = high;
            (*name, n)
        })
        .collect();
    counts.push(("> 1 s", histogram.count_in(low, u64::MAX)));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_has_its_row_and_empty_ends_are_left_out() {
        let mut histogram = Histogram::new();
        for (us, n) in [(100, 1), (300, 2), (900, 1)] {
            histogram.record_n(us * 1000, n);
        }
        let rows = rows(&histogram, false);
        let shown = rows.iter().map(|[name, n, share, sum, bar]| {
            (name.as_str(), n.as_str(), share.as_str(), sum.as_str(), bar.len())
        });
        let expected = [
            ("<= 64 us", "0", "0.0", "0.0", 0),
            ("<= 128 us", "1", "25.0", "25.0", 10),
            ("<= 256 us", "0", "0.0", "25.0", 0),
            ("<= 512 us", "2", "50.0", "75.0", 20),
            ("<= 1 ms", "1", "25.0", "100.0", 10),
            ("<= 2 ms", "0", "0.0", "100.0", 0),
        ];
        assert!(shown.eq(expected), "{rows:?}");
    }

    #[test]
    fn the_slowest_are_not_dropped() {
        let mut histogram = Histogram::new();
        histogram.record(5_000_000_000);
        let rows = rows(&histogram, false);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1][0].as_str(), rows[1][1].as_str()), ("> 1 s", "1"));
    }

    /// 1,024 us stood below '<= 2 ms', and 64 us below '<= 128 us'.
    #[test]
    fn bounds_of_the_databases_buckets_stand_in_the_row_of_that_name() {
        for (us, name) in [(64, "<= 64 us"), (512, "<= 512 us"), (1024, "<= 1 ms"), (1 << 20, "<= 1 s")] {
            let mut histogram = Histogram::new();
            histogram.record(us * 1000);
            let rows = rows(&histogram, true);
            let filled: Vec<_> = rows.iter().filter(|row| row[1] == "1").map(|row| row[0].as_str()).collect();
            assert_eq!(filled, [name]);
        }
    }
}
