//! Lines over a heat map: the mean, and for two peaks the border between them and the mean of each.

use std::collections::BTreeMap;

use slob_awr::{Bucket, EventHistogram, Figure, TwoPeaks};
use slob_stats::{Histogram, bucket_index, bucket_midpoint};

use crate::chart::Stroke;
use slob_facts::format::{duration_us, percent};
use slob_facts::measured::ratio;

#[derive(Default)]
pub struct Durations {
    pub buckets: Vec<(f64, f64, f64)>,
    pub has_unknown: bool,
    pub mean_s: Option<f64>,
    pub border_s: Option<f64>,
}

impl Durations {
    /// Uses the middles of buckets; `None` without a border.
    fn mean_of(&self, is_wanted: impl Fn(f64, f64) -> bool) -> Option<f64> {
        let border_s = self.border_s?;
        let wanted =
            self.buckets.iter().filter(|(from, to, _)| is_wanted(f64::midpoint(*from, *to), border_s));
        let (sum, count) = wanted.fold((0.0, 0.0), |(sum, count), (from, to, n)| {
            // A bucket of a report is an octave or more, so its middle is that of the scale.
            let middle = if *from > 0.0 { (from * to).sqrt() } else { to / 2.0 };
            (sum + n * middle, count + n)
        });
        (count > 0.0).then(|| sum / count)
    }

    fn mean_of_the_short(&self) -> Option<f64> {
        if self.has_unknown { None } else { self.mean_of(|middle, border| middle < border) }
    }
}

const ROWS_PER_DOUBLING: f64 = 4.0;

pub fn rows(latency: &Histogram) -> Vec<(i32, u64)> {
    by_rows(latency, |ns| (ns.log2() * ROWS_PER_DOUBLING).floor() as i32).collect()
}

pub fn low_edge_ns(row: i32) -> f64 {
    (f64::from(row) / ROWS_PER_DOUBLING).exp2()
}

pub fn counts_of_rows(histogram: &Histogram) -> BTreeMap<i32, u64> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    rows(histogram).into_iter().for_each(|(row, n)| *counts.entry(row).or_default() += n);
    counts
}

pub fn shares(histogram: &Histogram) -> (Vec<f64>, Vec<Option<f64>>) {
    let counts = counts_of_rows(histogram);
    let (first, last) =
        (counts.keys().next().map_or(0, |row| row - 1), counts.keys().last().map_or(0, |row| row + 1));
    let share = |row: i32| {
        let n = counts.get(&row).copied().unwrap_or(0);
        (low_edge_ns(row) * low_edge_ns(1).sqrt() / 1e9, ratio(100.0 * n as f64, histogram.count() as f64))
    };
    (first..=last).map(share).unzip()
}

pub fn below_step_words(step_us: f64) -> String {
    format!("below the clock's step of {}", duration_us(step_us))
}

pub fn below_step_sentence(histogram: &Histogram) -> String {
    histogram.below_clock_step().map_or_else(String::new, |(step_ns, number)| {
        let share = percent(100.0 * number as f64 / histogram.count() as f64);
        format!(" The lowest row is of all {} ({share} %).", below_step_words(step_ns as f64 / 1e3))
    })
}

/// `row` gives the row of nanoseconds. A bucket counts in the row of its middle; the row below the step's holds all below the
/// step.
pub fn by_rows(histogram: &Histogram, row: impl Fn(f64) -> i32) -> impl Iterator<Item = (i32, u64)> {
    let middle = |low: u64, high: u64| f64::midpoint(low as f64, high as f64).max(1.0);
    let of_step = |step: u64| bucket_midpoint(bucket_index(step)) as f64;
    let below = histogram.below_clock_step().map(|(step, n)| (row(of_step(step)) - 1, n));
    below.into_iter().chain(histogram.known_buckets().map(move |(low, high, n)| (row(middle(low, high)), n)))
}

pub type Named = (&'static str, Stroke, Vec<Option<f64>>);

pub fn lines(intervals: &[Durations], may_be_a_cache: bool) -> impl Iterator<Item = Named> {
    let [short, long] = match may_be_a_cache {
        true => ["mean of the short, as from a cache", "mean of the long, as from a device"],
        false => ["mean of the short", "mean of the long"],
    };
    let each = |of: fn(&Durations) -> Option<f64>| intervals.iter().map(of).collect::<Vec<_>>();
    let lines = [
        ("mean of all", Stroke::Solid, each(|interval| interval.mean_s)),
        (short, Stroke::Dot, each(Durations::mean_of_the_short)),
        (long, Stroke::Dash, each(|interval| interval.mean_of(|middle, border| middle >= border))),
        ("border between two peaks", Stroke::DashDot, each(|interval| interval.border_s)),
    ];
    lines.into_iter().filter(|(.., values)| values.iter().any(Option::is_some))
}

/// Each octave has the power of two of microseconds from which it counts; there are no gaps.
pub fn octaves(histogram: &Histogram) -> Vec<(i32, u64)> {
    let mut counts: Vec<(i32, u64)> = Vec::new();
    for (octave, n) in by_rows(histogram, |ns| (ns / 1e3).log2().floor() as i32) {
        while let Some((last, _)) = counts.last().filter(|(last, _)| *last < octave) {
            counts.push((last + 1, 0));
        }
        match counts.last_mut() {
            Some((_, count)) => *count += n,
            None => counts.push((octave, n)),
        }
    }
    counts
}

pub fn two_peaks(histogram: &Histogram) -> Option<TwoPeaks> {
    let share = |n: u64| Figure::exact(100.0 * n as f64 / histogram.count() as f64);
    let bucket = |(octave, n): (i32, u64)| {
        let from_us = f64::from(octave).exp2();
        Bucket { from_us, to_us: Some(2.0 * from_us), percent: share(n) }
    };
    EventHistogram {
        event: String::new(),
        waits: Some(Figure::exact(histogram.count() as f64)),
        waits_were_cut: false,
        buckets: octaves(histogram).into_iter().map(bucket).collect(),
        sections: Vec::new(),
    }
    .two_peaks()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|(us, n)| histogram.record_n(us * 1000, *n));
        histogram
    }

    #[test]
    fn octaves_have_no_gaps_and_hold_every_value() {
        assert_eq!(octaves(&histogram(&[(5, 2), (6, 1), (40, 7)])), [(2, 3), (3, 0), (4, 0), (5, 7)]);
        assert_eq!(octaves(&Histogram::new()), []);
    }

    #[test]
    fn hits_and_misses_are_two_peaks_and_one_of_them_is_not() {
        let peaks = two_peaks(&histogram(&[(5, 600), (5_000, 400)])).unwrap();
        assert!((peaks.short_percent - 60.0).abs() < 1e-9 && peaks.may_be_a_caches());
        assert!(peaks.border_us > 5.0 && peaks.border_us < 5_000.0);
        assert_eq!(two_peaks(&histogram(&[(5, 1000)])), None);
    }

    /// A server on Windows times operations in steps of a millisecond: zeros are no peak of their own.
    #[test]
    fn what_is_below_the_step_of_the_clock_is_one_row_below_the_step() {
        let mut stepped = histogram(&[(0, 900), (300, 50), (1_000, 40), (2_000, 10)]);
        stepped.set_clock_step(std::num::NonZeroU64::new(1_000_000));
        assert_eq!(octaves(&stepped), [(8, 950), (9, 40), (10, 10)]);
        assert_eq!(
            below_step_sentence(&stepped),
            " The lowest row is of all below the clock's step of 1.00 ms (95.0 %)."
        );
        assert_eq!(two_peaks(&stepped), None);
        let interval = Durations {
            has_unknown: true,
            border_s: Some(1.0),
            buckets: vec![(1e-3, 2e-3, 50.0)],
            mean_s: None,
        };
        assert_eq!(
            lines(&[interval], true).map(|(name, ..)| name).collect::<Vec<_>>(),
            ["border between two peaks"]
        );
    }

    #[test]
    fn the_mean_lies_between_the_means_of_two_peaks() {
        let interval = Durations {
            buckets: vec![(4e-6, 8e-6, 60.0), (4e-3, 8e-3, 40.0)],
            mean_s: Some(2.4e-3),
            border_s: Some(64e-6),
            ..Durations::default()
        };
        let values: Vec<f64> = lines(&[interval], true).map(|(.., y)| y[0].unwrap()).collect();
        assert!(values[1] < values[3] && values[3] < values[0] && values[0] < values[2], "{values:?}");
        let mean_alone = Durations { mean_s: Some(1.0), ..Durations::default() };
        assert_eq!(lines(&[mean_alone], true).count(), 1);
    }
}
