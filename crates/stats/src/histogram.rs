//! Latency histogram in fixed memory.

use std::fmt;

use crate::bounds::{Bounds, Counts, clamp_to, sum_bounds, total};
use crate::bucket::{BUCKETS, RANGE_NS, bucket_high, bucket_index, bucket_low, bucket_midpoint};

/// Counts of latencies in nanoseconds, in the buckets of [`crate::bucket`] (about 19 KB, allocated with the first value).
///
/// Count, smallest, largest and sum are exact; a percentile is within 1/128 (0.8 %) of the value that
/// nearest rank would pick from the full list. Values from [`RANGE_NS`] on are counted in the last bucket
/// and in [`beyond_range`](Self::beyond_range), so clipping never goes unseen. All counters saturate at
/// `u64::MAX`; for the sum that is 584 years of added latency.
#[derive(Clone)]
pub struct Histogram {
    /// Absent while nothing was ever recorded: a long series holds many that stay empty.
    counts: Option<Box<Counts>>,
    count: u64,
    /// `u64::MAX` while empty, so that recording needs no special case.
    min: u64,
    /// 0 while empty.
    max: u64,
    sum: u64,
    beyond: u64,
}

/// The counts of a histogram that has none.
static NOTHING: Counts = [0; BUCKETS];

impl Histogram {
    /// An empty histogram. The first value allocates; recording and merging after it never do.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: None, count: 0, min: u64::MAX, max: 0, sum: 0, beyond: 0 }
    }

    fn counts(&self) -> &Counts {
        self.counts.as_deref().unwrap_or(&NOTHING)
    }

    #[inline]
    fn counts_mut(&mut self) -> &mut Counts {
        self.counts.get_or_insert_with(|| Box::new([0; BUCKETS]))
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.add(ns, 1);
    }

    /// Counts the same value `n` times.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        if n > 0 {
            self.add(ns, n);
        }
    }

    #[inline]
    fn add(&mut self, ns: u64, n: u64) {
        let bucket = &mut self.counts_mut()[bucket_index(ns)];
        *bucket = bucket.saturating_add(n);
        self.count = self.count.saturating_add(n);
        self.sum = self.sum.saturating_add(ns.saturating_mul(n));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        if ns >= RANGE_NS {
            self.beyond = self.beyond.saturating_add(n);
        }
    }

    /// Adds everything that `other` counted, as if it had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        for (mine, theirs) in self.counts_mut().iter_mut().zip(other.counts()) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.beyond = self.beyond.saturating_add(other.beyond);
    }

    /// What was recorded between `earlier` and `self`, two states of one growing histogram.
    ///
    /// Bucket counts, count and sum are exact (the sum as long as it did not saturate). Smallest and
    /// largest are the bounds of the outermost non-empty buckets, so up to 1/64 wide of the true value,
    /// except that they are exact when the interval set a new smallest or largest. If `earlier` is not an
    /// earlier state of the same source, a bucket that shrank counts as unchanged.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = Box::new(*self.counts());
        for (mine, theirs) in counts.iter_mut().zip(earlier.counts()) {
            *mine = mine.saturating_sub(*theirs);
        }
        let sum = self.sum.saturating_sub(earlier.sum);
        let beyond = self.beyond.saturating_sub(earlier.beyond);
        Self::reconciled(counts, Exact { min: self.min, max: self.max, sum, beyond })
    }

    /// A histogram of these bucket counts, with the other figures brought inside what the counts allow.
    pub(crate) fn reconciled(counts: Box<Counts>, seen: Exact) -> Self {
        let beyond = seen.beyond.min(counts[BUCKETS - 1]);
        let Some(bounds) = Bounds::of(&counts, beyond) else { return Self::new() };
        let min = clamp_to(seen.min, &bounds.min);
        let max = clamp_to(seen.max, &bounds.max).max(min);
        let sum = clamp_to(seen.sum, &sum_bounds(&counts, beyond, max));
        Self::from_parts(counts, Exact { min, max, sum, beyond })
    }

    /// A histogram of parts that are known to agree.
    pub(crate) fn from_parts(counts: Box<Counts>, exact: Exact) -> Self {
        let Exact { min, max, sum, beyond } = exact;
        Self { count: total(&counts), counts: Some(counts), min, max, sum, beyond }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Smallest value in nanoseconds; `None` if empty.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min)
    }

    /// Largest value in nanoseconds; `None` if empty.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// Sum of all values in nanoseconds, saturating.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Arithmetic mean in nanoseconds; `None` if empty. A lower bound once the sum has saturated.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count as f64)
    }

    /// How many values were not below [`RANGE_NS`].
    #[must_use]
    pub fn beyond_range(&self) -> u64 {
        self.beyond
    }

    /// Percentile `p` (0 to 100) in nanoseconds by nearest rank: the smallest recorded value that at least
    /// `p` percent of all values do not exceed.
    ///
    /// Given as the midpoint of its bucket, held within smallest and largest: within 1/128 of the true
    /// value. Rank 1 is the smallest and the last rank the largest value themselves, and a rank among the
    /// values beyond the range gives the largest, so that a clipped tail is never understated. `None` if
    /// empty or `p` is outside 0 to 100.
    #[must_use]
    pub fn percentile(&self, p: f64) -> Option<u64> {
        if self.is_empty() || !(0.0..=100.0).contains(&p) {
            return None;
        }
        let rank = nearest_rank(p, self.count);
        if rank == 1 {
            return Some(self.min);
        }
        if rank > self.count.saturating_sub(self.beyond.max(1)) {
            return Some(self.max);
        }
        let mut seen: u64 = 0;
        let index = self.counts().iter().position(|&n| {
            seen = seen.saturating_add(n);
            seen >= rank
        })?;
        Some(bucket_midpoint(index).clamp(self.min, self.max))
    }

    /// Values above `lo_ns` and up to `hi_ns` inclusive, for a report with fixed edges.
    ///
    /// A bucket that straddles an edge counts as a whole on the side of its midpoint, so adjacent ranges
    /// add up to [`count`](Self::count). A `lo_ns` of 0 includes the value 0, since nothing lies below it.
    /// Values beyond the range count where the largest value lies.
    #[must_use]
    pub fn count_in(&self, lo_ns: u64, hi_ns: u64) -> u64 {
        let inside = |ns: u64| (ns > lo_ns || lo_ns == 0) && ns <= hi_ns;
        let beyond = if inside(self.max) { self.beyond } else { 0 };
        let within = self.counts().iter().enumerate().filter(|&(i, &n)| n > 0 && inside(bucket_midpoint(i)));
        within.fold(beyond, |sum, (i, &n)| sum.saturating_add(self.within_range(i, n)))
    }

    /// Of the `n` values of bucket `index`, those that are not beyond the range.
    fn within_range(&self, index: usize, n: u64) -> u64 {
        if index == BUCKETS - 1 { n.saturating_sub(self.beyond) } else { n }
    }

    /// Non-empty buckets in ascending order: lowest value, highest value (inclusive), count. The last
    /// bucket's count includes the values beyond the range.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let filled = self.counts().iter().enumerate().filter(|&(_, &n)| n > 0);
        filled.map(|(index, &n)| (bucket_low(index), bucket_high(index), n))
    }

    /// Forgets everything; the memory is kept.
    pub fn clear(&mut self) {
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        (self.count, self.min, self.max, self.sum, self.beyond) = (0, u64::MAX, 0, 0, 0);
    }
}

impl PartialEq for Histogram {
    /// What was forgotten leaves memory behind, and no difference.
    fn eq(&self, other: &Self) -> bool {
        let figures = |of: &Self| (of.count, of.min, of.max, of.sum, of.beyond);
        figures(self) == figures(other) && self.counts() == other.counts()
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    /// The figures and the non-empty buckets only: the full array is unreadable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("max", &self.max())
            .field("sum", &self.sum)
            .field("beyond_range", &self.beyond)
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .finish()
    }
}

/// The figures that are kept beside the buckets; see the fields of [`Histogram`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exact {
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) sum: u64,
    pub(crate) beyond: u64,
}

/// Nearest rank of percentile `p` (0 to 100) among `count` values, 1 to `count`: the ceiling of `p / 100 * count`.
#[must_use]
pub fn nearest_rank(p: f64, count: u64) -> u64 {
    let exact = p * count as f64 / 100.0;
    // 90.04 is not a binary fraction: without this, rounding noise would lift its rank among 10000 by one.
    let nearest = exact.round();
    let noise = 4.0 * f64::EPSILON * exact;
    let rank = if (exact - nearest).abs() <= noise { nearest } else { exact.ceil() };
    (rank as u64).clamp(1, count)
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
        // As seen when the writer has counted two values but not yet stored the rest.
        let unset = Exact { min: u64::MAX, max: 0, sum: 0, beyond: 1 };
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
}
