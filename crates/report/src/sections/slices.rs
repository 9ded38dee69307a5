//! The window in slices: how the figures moved.

use slob_record::{Interval, Record};
use slob_stats::Merge;

use crate::counters::ratio;
use crate::format::{fixed, micros, or_absent, percent};
use crate::latencies::percentile_us;
use crate::page::{Column, Page, Table};
use crate::window::window_intervals;

/// Slices that a window is shown in.
const SLICES: usize = 10;

/// A part of the window.
struct Slice {
    start_s: u64,
    seconds: f64,
    sum: Interval,
}

pub(super) fn write(page: &mut Page, record: &Record) {
    let slices = slices(record);
    if slices.is_empty() {
        return;
    }
    page.section("The window in slices");
    let heads =
        ["Operations/s", "p50 us", "p99 us", "Phys. reads/s", "Redo MB/s", "Host CPU %", "Device reads/s"];
    let heads = heads.map(|head| Column::right(head).at_most(12));
    let mut table = Table::new([vec![Column::left("From second")], heads.into()].concat());
    slices.iter().for_each(|slice| table.row(row(slice)));
    page.table(&table);
}

fn row(slice: &Slice) -> Vec<String> {
    let sum = &slice.sum;
    let operations = ratio(sum.ops.total() as f64, slice.seconds);
    // Samples lie a little off the seconds: their rates are over the time between them.
    let per_s = |amount: Option<u64>| amount.zip(sum.sampled_s).and_then(|(n, s)| ratio(n as f64, s));
    let rate = |value| or_absent(value, |rate| fixed(rate, 0));
    let latency = |percent| or_absent(percentile_us(&sum.latency, percent), micros);
    vec![
        slice.start_s.to_string(),
        rate(operations),
        latency(50.0),
        latency(99.0),
        rate(per_s(sum.physical_reads)),
        or_absent(per_s(sum.redo_bytes), |bytes| fixed(bytes / 1e6, 1)),
        or_absent(sum.host_cpu.and_then(|cpu| cpu.busy_percent()), percent),
        rate(per_s(sum.device.map(|device| device.reads))),
    ]
}

fn slices(record: &Record) -> Vec<Slice> {
    let width_s = record.series.width_s();
    let intervals = window_intervals(record);
    let slice = |points: &[(u64, Option<&Interval>)]| {
        let mut sum = Interval::default();
        points.iter().filter_map(|(_, interval)| *interval).for_each(|interval| sum.merge(interval));
        let start_s = points.first().map_or(0, |(start_s, _)| *start_s);
        Slice { start_s, seconds: (points.len() as u64 * width_s) as f64, sum }
    };
    intervals.chunks(intervals.len().div_ceil(SLICES).max(1)).map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn slices_hold_all_of_the_window() {
        let record = fixture::direct_read_run();
        let slices = slices(&record);
        assert_eq!((slices.len(), slices[0].start_s, slices[0].seconds), (10, 11, 6.0));
        let sum: u64 = slices.iter().map(|slice| slice.sum.ops.total()).sum();
        let (within, _) = crate::window::operations_within_and_touching(&record).unwrap();
        assert_eq!(sum, within);
        assert_eq!(slices.iter().map(|slice| slice.seconds).sum::<f64>(), 59.0);
    }
}
