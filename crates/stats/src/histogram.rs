//! Latency histogram in fixed memory, and its saved form.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use crate::bucket::{
    BUCKETS, Bounds, Counts, RANGE_NS, bucket_high, bucket_index, bucket_low, bucket_midpoint,
    bucket_starting_at, clamp_to, sum_bounds, total,
};

/// Counts of latencies in nanoseconds, in 19 KB that the first value allocates. [`trim`](Self::trim) frees most of them.
///
/// Count, smallest, largest and sum are exact; a percentile is within 1/128 (0.8 %) of the nearest rank.
/// [`beyond_range`](Self::beyond_range) counts values from [`RANGE_NS`] on. All counters saturate at `u64::MAX`. Means and
/// percentiles below the [`clock_step`](Self::clock_step) are unknown.
#[derive(Clone)]
pub struct Histogram {
    /// The first is of bucket `first`; buckets beside them are empty. Recording needs all, as it must not allocate.
    counts: Vec<u64>,
    first: usize,
    count: u64,
    exact: Exact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact {
    /// `u64::MAX` while empty, so that recording needs no special case.
    pub(crate) min: u64,
    /// 0 while empty.
    pub(crate) max: u64,
    pub(crate) sum: u64,
    pub(crate) beyond: u64,
    pub(crate) clock_step: Option<NonZeroU64>,
}

impl Exact {
    const EMPTY: Self = Self { min: u64::MAX, max: 0, sum: 0, beyond: 0, clock_step: None };
}

impl Histogram {
    /// Allocates with the first value, and then only to [merge](Self::merge) a histogram of a wider range.
    pub const fn new() -> Self {
        Self { counts: Vec::new(), first: 0, count: 0, exact: Exact::EMPTY }
    }

    /// Index and count of each bucket that is not empty, in order.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(at, n)| (self.first + at, *n))
    }

    fn held(&self) -> Range<usize> {
        self.first..self.first + self.counts.len()
    }

    fn hold(&mut self, other: Range<usize>) {
        let held = self.held();
        let all = if held.is_empty() { other } else { held.start.min(other.start)..held.end.max(other.end) };
        if all.len() > held.len() {
            let mut counts = vec![0; all.len()];
            counts[held.start.saturating_sub(all.start)..][..held.len()].copy_from_slice(&self.counts);
            (self.counts, self.first) = (counts, all.start);
        }
    }

    /// Keeps memory only from the first value's bucket to the last one's. Recording allocates again.
    pub fn trim(&mut self) {
        let (first, last) = (self.filled().next(), self.filled().last());
        let filled = first.zip(last).map_or(0..0, |((first, _), (last, _))| first..last + 1);
        if filled.is_empty() {
            (self.counts, self.first) = (Vec::new(), 0);
        } else if filled.len() < self.counts.len() {
            self.counts = self.counts[filled.start - self.first..][..filled.len()].to_vec();
            self.first = filled.start;
        }
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.add(ns, 1);
    }

    /// Counts a value `n` times.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        if n > 0 {
            self.add(ns, n);
        }
    }

    #[inline]
    fn add(&mut self, ns: u64, n: u64) {
        if self.counts.len() < BUCKETS {
            self.hold(0..BUCKETS);
        }
        let bucket = &mut self.counts[bucket_index(ns)];
        *bucket = bucket.saturating_add(n);
        self.count = self.count.saturating_add(n);
        let exact = &mut self.exact;
        exact.sum = exact.sum.saturating_add(ns.saturating_mul(n));
        exact.min = exact.min.min(ns);
        exact.max = exact.max.max(ns);
        if ns >= RANGE_NS {
            exact.beyond = exact.beyond.saturating_add(n);
        }
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.hold(other.held());
        for (mine, theirs) in self.counts[other.first - self.first..].iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        let (ours, theirs) = (&mut self.exact, &other.exact);
        ours.sum = ours.sum.saturating_add(theirs.sum);
        ours.min = ours.min.min(theirs.min);
        ours.max = ours.max.max(theirs.max);
        ours.beyond = ours.beyond.saturating_add(theirs.beyond);
        ours.clock_step = ours.clock_step.max(theirs.clock_step);
    }

    /// Values between two states of one growing histogram.
    ///
    /// Counts and sum are exact. Smallest and largest are bounds of buckets, or exact if they are new extremes. A bucket that
    /// shrank counts as unchanged.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = Box::new([0; BUCKETS]);
        self.filled().for_each(|(index, n)| counts[index] = n);
        earlier.filled().for_each(|(index, n)| counts[index] = counts[index].saturating_sub(n));
        let sum = self.exact.sum.saturating_sub(earlier.exact.sum);
        let beyond = self.exact.beyond.saturating_sub(earlier.exact.beyond);
        Self::reconciled(counts, Exact { sum, beyond, ..self.exact })
    }

    /// Indices are those of [`bucket_index`]. Smallest and largest value are bounds of buckets.
    pub fn of_counts(counts: &[u64; BUCKETS], sum: u64) -> Self {
        let exact = Exact { min: 0, max: u64::MAX, sum, beyond: 0, clock_step: None };
        Self::reconciled(Box::new(*counts), exact)
    }

    /// Brings exact figures within the limits of the counts.
    pub(crate) fn reconciled(counts: Box<Counts>, seen: Exact) -> Self {
        let beyond = seen.beyond.min(counts[BUCKETS - 1]);
        let Some(bounds) = Bounds::of(&counts, beyond) else { return Self::new() };
        let min = clamp_to(seen.min, &bounds.min);
        let max = clamp_to(seen.max, &bounds.max).max(min);
        let sum = clamp_to(seen.sum, &sum_bounds(&counts, beyond, max));
        Self::from_parts(counts, Exact { min, max, sum, beyond, ..seen })
    }

    fn from_parts(counts: Box<Counts>, exact: Exact) -> Self {
        let count = total(&counts);
        let mut histogram = Self { counts: (counts as Box<[u64]>).into_vec(), first: 0, count, exact };
        histogram.trim();
        histogram
    }

    /// The step of the values' clock in nanoseconds; `None` if it is unknown or hides nothing.
    pub fn clock_step(&self) -> Option<NonZeroU64> {
        self.exact.clock_step
    }

    /// An empty histogram keeps no step.
    pub fn set_clock_step(&mut self, step: Option<NonZeroU64>) {
        self.exact.clock_step = step.filter(|_| !self.is_empty());
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True without any value.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Nanoseconds; `None` if empty.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.exact.min)
    }

    /// Nanoseconds; `None` if empty.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.exact.max)
    }

    /// Nanoseconds, saturating.
    pub fn sum(&self) -> u64 {
        self.exact.sum
    }

    /// Nanoseconds; `None` if empty or below the clock's step. A lower bound once the sum has saturated.
    pub fn mean(&self) -> Option<f64> {
        let mean = (!self.is_empty()).then(|| self.exact.sum as f64 / self.count as f64)?;
        self.clock_step().is_none_or(|step| mean >= step.get() as f64).then_some(mean)
    }

    /// Number of values from [`RANGE_NS`] on.
    pub fn beyond_range(&self) -> u64 {
        self.exact.beyond
    }

    /// Percentile `p` (0 to 100) in nanoseconds by nearest rank.
    ///
    /// It is the midpoint of its bucket, held within smallest and largest. First and last rank are exact, and ranks beyond the
    /// range give the largest. `None` if empty, if `p` is outside 0 to 100, or below the bucket of the clock's step.
    pub fn percentile(&self, p: f64) -> Option<u64> {
        self.ranked(p).filter(|ns| self.is_known(*ns))
    }

    fn ranked(&self, p: f64) -> Option<u64> {
        if self.is_empty() || !(0.0..=100.0).contains(&p) {
            return None;
        }
        let Exact { min, max, beyond, .. } = self.exact;
        let rank = nearest_rank(p, self.count);
        if rank == 1 {
            return Some(min);
        }
        if rank > self.count.saturating_sub(beyond.max(1)) {
            return Some(max);
        }
        let mut seen: u64 = 0;
        let (index, _) = self.filled().find(|(_, n)| {
            seen = seen.saturating_add(*n);
            seen >= rank
        })?;
        Some(bucket_midpoint(index).clamp(min, max))
    }

    /// Number of values above `lo_ns` and up to `hi_ns`.
    ///
    /// A bucket counts as a whole on the side of its midpoint, so adjacent ranges add up. A `lo_ns` of 0 includes the value 0.
    /// Values beyond the range count where the largest lies.
    pub fn count_in(&self, lo_ns: u64, hi_ns: u64) -> u64 {
        let inside = |ns: u64| (ns > lo_ns || lo_ns == 0) && ns <= hi_ns;
        let beyond = if inside(self.exact.max) { self.exact.beyond } else { 0 };
        let within = self.filled().filter(|(i, _)| inside(bucket_midpoint(*i)));
        within.fold(beyond, |sum, (i, n)| sum.saturating_add(self.within_range(i, n)))
    }

    /// Leaves out the values beyond the range.
    fn within_range(&self, index: usize, n: u64) -> u64 {
        if index == BUCKETS - 1 { n.saturating_sub(self.exact.beyond) } else { n }
    }

    /// Ascending: lowest value, highest value (inclusive), count. The last count includes values beyond the range.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.filled().map(|(index, n)| (bucket_low(index), bucket_high(index), n))
    }

    /// Leaves out buckets below that of the clock's step.
    pub fn known_buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.buckets().filter(|(low, ..)| self.is_known(*low))
    }

    /// Clock step in nanoseconds, and number of values below its bucket; `None` if there is none.
    pub fn below_clock_step(&self) -> Option<(u64, u64)> {
        let step = self.clock_step()?.get();
        let hidden = self.buckets().filter(|(low, ..)| !self.is_known(*low));
        let count = hidden.fold(0, |sum: u64, (.., n)| sum.saturating_add(n));
        (count > 0).then_some((step, count))
    }

    fn is_known(&self, ns: u64) -> bool {
        self.clock_step().is_none_or(|step| bucket_index(ns) >= bucket_index(step.get()))
    }

    /// Keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.exact) = (0, Exact::EMPTY);
    }
}

impl PartialEq for Histogram {
    /// Memory does not count: a cleared histogram equals a new one.
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.exact == other.exact && self.filled().eq(other.filled())
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    /// Shows only non-empty buckets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("max", &self.max())
            .field("sum", &self.exact.sum)
            .field("beyond_range", &self.exact.beyond)
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .finish()
    }
}

/// The ceiling of `p / 100 * count`, from 1 to `count`.
pub fn nearest_rank(p: f64, count: u64) -> u64 {
    let exact = p * count as f64 / 100.0;
    // 90.04 is no binary fraction: rounding noise would lift its rank among 10000 by one.
    let nearest = exact.round();
    let noise = 4.0 * f64::EPSILON * exact;
    let rank = if (exact - nearest).abs() <= noise { nearest } else { exact.ceil() };
    (rank as u64).clamp(1, count)
}

/// Durations end at 584 years.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

const UNIT: &str = "ns";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum Fault {
    #[error("unit is \"{0}\", expected \"ns\"")]
    Unit(String),
    #[error("no bucket starts at {0} ns")]
    NotABucket(u64),
    #[error("the bucket at {0} ns is repeated or out of order")]
    Order(u64),
    #[error("the bucket at {0} ns has a count of 0")]
    EmptyBucket(u64),
    #[error("count is {stated}, but the buckets hold {held}")]
    Count { stated: u64, held: u64 },
    #[error("min and max must be given exactly when there are values")]
    Extremes,
    #[error("beyond_range is {stated}, but the last bucket holds {held}")]
    BeyondRange { stated: u64, held: u64 },
    #[error("{field} is {value} ns, but the buckets allow {low} to {high} ns")]
    Contradiction { field: &'static str, value: u64, low: u64, high: u64 },
}

/// Non-empty buckets as `[low_ns, count]`, ascending. `min` and `max` are null when empty.
#[derive(Serialize, Deserialize)]
struct Saved {
    unit: String,
    count: u64,
    min: Option<u64>,
    max: Option<u64>,
    sum: u64,
    beyond_range: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock_step: Option<NonZeroU64>,
    buckets: Vec<(u64, u64)>,
}

impl From<&Histogram> for Saved {
    fn from(histogram: &Histogram) -> Self {
        Self {
            unit: UNIT.to_owned(),
            count: histogram.count(),
            min: histogram.min(),
            max: histogram.max(),
            sum: histogram.sum(),
            beyond_range: histogram.beyond_range(),
            clock_step: histogram.clock_step(),
            buckets: histogram.buckets().map(|(low, _, n)| (low, n)).collect(),
        }
    }
}

impl TryFrom<Saved> for Histogram {
    type Error = Fault;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        if saved.unit != UNIT {
            return Err(Fault::Unit(saved.unit));
        }
        let counts = read_buckets(&saved.buckets)?;
        let held = total(&counts);
        if held != saved.count {
            return Err(Fault::Count { stated: saved.count, held });
        }
        let (stated, held) = (saved.beyond_range, counts[BUCKETS - 1]);
        if stated > held {
            return Err(Fault::BeyondRange { stated, held });
        }
        let Some(bounds) = Bounds::of(&counts, stated) else {
            if saved.min.is_some() || saved.max.is_some() {
                return Err(Fault::Extremes);
            }
            check("sum", saved.sum, &(0..=0))?;
            return Ok(Self::new());
        };
        let (Some(min), Some(max)) = (saved.min, saved.max) else {
            return Err(Fault::Extremes);
        };
        check("min", min, &bounds.min)?;
        check("max", max, &bounds.max)?;
        check("max", max, &(min..=u64::MAX))?;
        check("sum", saved.sum, &sum_bounds(&counts, stated, max))?;
        let Saved { sum, clock_step, .. } = saved;
        Ok(Self::from_parts(counts, Exact { min, max, sum, beyond: stated, clock_step }))
    }
}

fn read_buckets(buckets: &[(u64, u64)]) -> Result<Box<Counts>, Fault> {
    let mut counts = Box::new([0; BUCKETS]);
    let mut previous = None;
    for &(low, n) in buckets {
        let index = bucket_starting_at(low).ok_or(Fault::NotABucket(low))?;
        if previous >= Some(index) {
            return Err(Fault::Order(low));
        }
        if n == 0 {
            return Err(Fault::EmptyBucket(low));
        }
        counts[index] = n;
        previous = Some(index);
    }
    Ok(counts)
}

fn check(field: &'static str, value: u64, range: &RangeInclusive<u64>) -> Result<(), Fault> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Fault::Contradiction { field, value, low: *range.start(), high: *range.end() })
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Saved::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let advice = "the record was damaged or edited, restore it from a copy";
        Self::try_from(Saved::deserialize(deserializer)?)
            .map_err(|error| D::Error::custom(format_args!("histogram refused: {error}; {advice}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn empty_has_no_figures() {
        let empty = Histogram::new();
        assert!(empty.is_empty());
        assert_eq!((empty.count(), empty.sum(), empty.beyond_range()), (0, 0, 0));
        assert_eq!((empty.min(), empty.max(), empty.mean()), (None, None, None));
        assert_eq!(empty.percentile(50.0), None);
        assert_eq!(empty.count_in(0, u64::MAX), 0);
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn figures_below_the_step_of_the_clock_are_not_known() {
        const STEP: u64 = 1_000_000;
        let mut stepped = of(&[[0; 60].as_slice(), &[STEP; 30], &[2 * STEP; 10]].concat());
        assert_eq!((stepped.percentile(50.0), stepped.mean()), (Some(0), Some(500_000.0)));
        stepped.set_clock_step(NonZeroU64::new(STEP));
        assert_eq!((stepped.percentile(0.0), stepped.percentile(50.0), stepped.mean()), (None, None, None));
        let near = |p, ns: u64| stepped.percentile(p).unwrap().abs_diff(ns) * 128 <= ns;
        assert!(near(61.0, STEP), "one step is known, wherever the middle of its bucket is");
        assert!(near(95.0, 2 * STEP));
        assert_eq!(stepped.below_clock_step(), Some((STEP, 60)));
        assert!(stepped.known_buckets().map(|(.., n)| n).eq([30, 10]));
        assert_eq!(of(&[STEP]).below_clock_step(), None);
        let saved = serde_json::to_string(&stepped).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&saved).unwrap(), stepped);
        let mut merged = of(&[2 * STEP; 1000]);
        merged.merge(&stepped);
        assert_eq!(merged.clock_step(), stepped.clock_step());
        assert!(merged.percentile(1.0).is_none() && merged.mean() > Some(1.8e6));
    }

    #[rstest]
    #[case(0.0, 10, 1)]
    #[case(50.0, 10, 5)]
    #[case(50.1, 10, 6)]
    #[case(90.0, 10, 9)]
    #[case(99.9, 1000, 999)]
    #[case(99.99, 10_000, 9999)]
    #[case(99.999, 100_000, 99_999)]
    #[case(99.9999, 1_000_000, 999_999)]
    #[case(1.1, 3000, 33)]
    #[case(90.04, 10_000, 9004)]
    #[case(99.9, 10, 10)]
    #[case(100.0, 7, 7)]
    #[case(0.001, 1, 1)]
    fn rank_is_the_smallest_that_covers_p_percent(#[case] p: f64, #[case] n: u64, #[case] rank: u64) {
        assert_eq!(nearest_rank(p, n), rank);
    }

    #[test]
    fn percentiles_of_small_values_are_exact() {
        let histogram = of(&[15, 20, 35, 40, 50]);
        let at = |p| histogram.percentile(p);
        assert_eq!((at(5.0), at(30.0), at(40.0)), (Some(15), Some(20), Some(20)));
        assert_eq!((at(50.0), at(100.0)), (Some(35), Some(50)));
    }

    #[test]
    fn a_percentile_outside_its_scale_is_undefined() {
        let histogram = of(&[1]);
        for p in [-0.1, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(histogram.percentile(p), None, "{p}");
        }
    }

    #[test]
    fn ends_of_the_scale_are_exact() {
        let histogram = of(&[1_000_003, 5_000_011, 9_000_017]);
        assert_eq!(histogram.percentile(0.0), Some(1_000_003));
        assert_eq!(histogram.percentile(100.0), Some(9_000_017));
        assert_eq!(histogram.mean(), Some(15_000_031.0 / 3.0));
    }

    #[test]
    fn values_beyond_the_range_are_counted_and_not_understated() {
        let histogram = of(&[1000, RANGE_NS - 1, RANGE_NS, 3 * RANGE_NS]);
        assert_eq!(histogram.beyond_range(), 2);
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.max(), Some(3 * RANGE_NS));
        assert_eq!(histogram.percentile(75.0), Some(3 * RANGE_NS));
        let median = histogram.percentile(50.0).unwrap();
        assert!(median < RANGE_NS && median > RANGE_NS / 128 * 127);
        assert_eq!(histogram.count_in(0, RANGE_NS), 2);
        assert_eq!(histogram.count_in(RANGE_NS, u64::MAX), 2);
    }

    #[test]
    fn the_sum_saturates_instead_of_wrapping() {
        let mut histogram = of(&[u64::MAX, u64::MAX]);
        assert_eq!(histogram.sum(), u64::MAX);
        histogram.record_n(5, u64::MAX);
        assert_eq!((histogram.count(), histogram.min()), (u64::MAX, Some(5)));
    }

    #[test]
    fn fixed_ranges_add_up_and_split_by_midpoint() {
        let histogram = of(&[0, 10, 100, 1000, 1023, 1024, 2_000_000]);
        assert_eq!(histogram.count_in(0, 10), 2);
        assert_eq!(histogram.count_in(10, 100), 1);
        assert_eq!(histogram.count_in(100, u64::MAX), 4);
        // 1000 and 1007 share a bucket with midpoint 1003: both count above 1000.
        let shared = of(&[1000, 1007]);
        assert_eq!((shared.count_in(0, 1000), shared.count_in(1000, 2000)), (0, 2));
    }

    #[test]
    fn record_n_equals_n_records() {
        let mut at_once = Histogram::new();
        at_once.record_n(777, 3);
        at_once.record_n(1, 0);
        assert_eq!(at_once, of(&[777, 777, 777]));
    }

    #[test]
    fn since_is_exact_at_a_new_extreme_and_bounded_by_buckets_otherwise() {
        let earlier = of(&[1_000_000, 3_000_000]);
        let mut later = earlier.clone();
        later.record(2_000_000);
        let inner = later.since(&earlier);
        let index = bucket_index(2_000_000);
        assert_eq!((inner.min(), inner.max()), (Some(bucket_low(index)), Some(bucket_high(index))));
        assert_eq!((inner.count(), inner.sum()), (1, 2_000_000));
        later.record(4_000_001);
        assert_eq!(later.since(&earlier).max(), Some(4_000_001));
        assert!(later.since(&later).is_empty());
        assert_eq!(later.since(&Histogram::new()), later);
    }

    #[test]
    fn since_an_unrelated_state_does_not_wrap() {
        let difference = of(&[10, RANGE_NS]).since(&of(&[10, 10, 20, RANGE_NS, RANGE_NS]));
        assert!(difference.is_empty());
        assert_eq!(difference, Histogram::new());
    }

    #[test]
    fn figures_that_lag_behind_the_buckets_are_brought_inside() {
        let index = bucket_index(1_000_000);
        let mut counts = Box::new([0; BUCKETS]);
        counts[index] = 2;
        // The writer has counted two values but not yet stored the exact figures.
        let unset = Exact { beyond: 1, ..Exact::EMPTY };
        let histogram = Histogram::reconciled(counts, unset);
        let high = bucket_high(index);
        assert_eq!((histogram.min(), histogram.max()), (Some(high), Some(high)));
        assert_eq!((histogram.sum(), histogram.beyond_range()), (2 * bucket_low(index), 0));
    }

    #[test]
    fn clear_leaves_nothing_behind() {
        let mut histogram = of(&[1, RANGE_NS]);
        histogram.clear();
        assert_eq!(histogram, Histogram::new());
    }

    #[test]
    fn debug_shows_filled_buckets_only() {
        let text = format!("{:?}", of(&[7]));
        assert!(text.contains("buckets: [(7, 7, 1)]"), "{text}");
    }

    fn saved() -> Saved {
        let mut histogram = Histogram::new();
        [100, 200, 200, 5_000_000].into_iter().for_each(|ns| histogram.record(ns));
        Saved::from(&histogram)
    }

    #[test]
    fn a_trimmed_histogram_holds_the_same_values_and_merges_within_their_buckets() {
        let (low, high, both) = (of(&[100, 200]), of(&[5_000, 70_000]), of(&[100, 200, 5_000, 70_000]));
        for (first, second) in [(&low, &high), (&high, &low)] {
            let (mut trimmed, mut other) = (first.clone(), second.clone());
            trimmed.trim();
            other.trim();
            assert_eq!((&trimmed, &other), (first, second));
            trimmed.merge(&other);
            assert_eq!((&trimmed, trimmed.held()), (&both, bucket_index(100)..bucket_index(70_000) + 1));
            trimmed.record(7);
            assert_eq!(trimmed, of(&[7, 100, 200, 5_000, 70_000]));
        }
        let mut empty = Histogram::new();
        empty.trim();
        // It panicked if the first bucket held was not the first of all.
        let mut cleared = high;
        cleared.trim();
        cleared.clear();
        cleared.trim();
        assert_eq!((&cleared, cleared.held()), (&empty, 0..0));
        assert!(empty.held().is_empty());
    }

    #[test]
    fn the_saved_form_is_sparse_and_names_its_unit() {
        let mut histogram = Histogram::new();
        histogram.record_n(100, 2);
        let saved = serde_json::to_string(&histogram).unwrap();
        let expected = r#"{"unit":"ns","count":2,"min":100,"max":100,"sum":200,"beyond_range":0,"#;
        assert_eq!(saved, format!("{expected}\"buckets\":[[100,2]]}}"));
        let empty = serde_json::to_string(&Histogram::new()).unwrap();
        assert!(empty.contains(r#""min":null,"max":null"#), "{empty}");
        assert_eq!(serde_json::from_str::<Histogram>(&empty).unwrap(), Histogram::new());
    }

    #[rstest]
    #[case::unit(|w: &mut Saved| w.unit = "us".into(), Fault::Unit("us".into()))]
    #[case::start(|w: &mut Saved| w.buckets[1].0 = 201, Fault::NotABucket(201))]
    #[case::order(|w: &mut Saved| w.buckets.swap(0, 1), Fault::Order(100))]
    #[case::zero(|w: &mut Saved| w.buckets[0].1 = 0, Fault::EmptyBucket(100))]
    #[case::count(|w: &mut Saved| w.count = 5, Fault::Count { stated: 5, held: 4 })]
    #[case::no_min(|w: &mut Saved| w.min = None, Fault::Extremes)]
    #[case::beyond(|w: &mut Saved| w.beyond_range = 1, Fault::BeyondRange { stated: 1, held: 0 })]
    #[case::min(|w: &mut Saved| w.min = Some(99),
        Fault::Contradiction { field: "min", value: 99, low: 100, high: 100 })]
    fn a_contradiction_is_named(#[case] damage: fn(&mut Saved), #[case] expected: Fault) {
        let mut saved = saved();
        damage(&mut saved);
        assert_eq!(Histogram::try_from(saved), Err(expected));
    }

    #[test]
    fn max_and_sum_must_fit_the_buckets() {
        for field in ["max", "sum"] {
            let mut saved = saved();
            *(if field == "max" { saved.max.as_mut().unwrap() } else { &mut saved.sum }) = 6_000_000;
            let error = Histogram::try_from(saved).unwrap_err();
            assert!(matches!(error, Fault::Contradiction { field: f, .. } if f == field), "{error}");
        }
    }

    #[test]
    fn max_is_not_below_min_within_one_bucket() {
        let mut histogram = Histogram::new();
        histogram.record(1_000_000);
        let saved = Saved { max: Some(999_999), ..Saved::from(&histogram) };
        let refused = Fault::Contradiction { field: "max", value: 999_999, low: 1_000_000, high: u64::MAX };
        assert_eq!(Histogram::try_from(saved), Err(refused));
    }

    #[test]
    fn an_empty_histogram_claims_no_values() {
        let empty = || Saved::from(&Histogram::new());
        let refused = Histogram::try_from(Saved { min: Some(0), ..empty() });
        assert_eq!(refused, Err(Fault::Extremes));
        assert!(Histogram::try_from(Saved { sum: 1, ..empty() }).is_err());
    }

    #[test]
    fn the_message_says_what_to_do() {
        let text = serde_json::to_string(&Histogram::new()).unwrap().replace("\"ns\"", "\"ms\"");
        let message = serde_json::from_str::<Histogram>(&text).unwrap_err().to_string();
        assert!(message.contains("unit is \"ms\"") && message.contains("restore"), "{message}");
    }
}
