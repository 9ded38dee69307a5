//! What the buckets alone say about the exact figures (smallest, largest, sum) beside them.
//!
//! One home for two uses: a saved histogram is checked against these bounds, and figures that were read
//! while a writer went on, or subtracted, are brought inside them.

use std::ops::RangeInclusive;

use crate::bucket::{BUCKETS, RANGE_NS, bucket_high, bucket_low};

/// Counts of all buckets.
pub(crate) type Counts = [u64; BUCKETS];

/// Possible smallest and largest value of a histogram with at least one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Where the smallest value can lie, in nanoseconds.
    pub(crate) min: RangeInclusive<u64>,
    /// Where the largest value can lie, in nanoseconds.
    pub(crate) max: RangeInclusive<u64>,
}

impl Bounds {
    /// Bounds by the first and last non-empty bucket; `None` if all are empty. `beyond` values of the
    /// last bucket lie beyond the range.
    pub(crate) fn of(counts: &Counts, beyond: u64) -> Option<Self> {
        let first = counts.iter().position(|&n| n > 0)?;
        let last = counts.iter().rposition(|&n| n > 0)?;
        let within = |index| bucket_low(index)..=bucket_high(index);
        let only_beyond = first == BUCKETS - 1 && beyond >= counts[first];
        let min = if only_beyond { RANGE_NS..=u64::MAX } else { within(first) };
        let max = if beyond > 0 { RANGE_NS..=u64::MAX } else { within(last) };
        Some(Self { min, max })
    }
}

/// Number of values in all buckets, saturating.
pub(crate) fn total(counts: &Counts) -> u64 {
    counts.iter().fold(0, |sum: u64, &n| sum.saturating_add(n))
}

/// Possible sum of all values in nanoseconds, saturating at `u64::MAX`. `beyond` values of the last bucket
/// lie beyond the range but not above `max`.
pub(crate) fn sum_bounds(counts: &Counts, beyond: u64, max: u64) -> RangeInclusive<u64> {
    let last_within = counts[BUCKETS - 1].saturating_sub(beyond);
    let sum_at = |edge: fn(usize) -> u64, beyond_at: u64| {
        let inner = counts[..BUCKETS - 1].iter().enumerate();
        let inner = inner.map(|(i, &n)| u128::from(edge(i)) * u128::from(n));
        let last = u128::from(edge(BUCKETS - 1)) * u128::from(last_within);
        let outer = u128::from(beyond_at) * u128::from(beyond);
        inner.chain([last, outer]).fold(0, u128::saturating_add)
    };
    let saturated = |sum| u64::try_from(sum).unwrap_or(u64::MAX);
    saturated(sum_at(bucket_low, RANGE_NS))..=saturated(sum_at(bucket_high, max))
}

/// The value of `range` nearest to `value`.
pub(crate) fn clamp_to(value: u64, range: &RangeInclusive<u64>) -> u64 {
    value.clamp(*range.start(), *range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_has_no_bounds_and_sums_to_nothing() {
        let counts = [0; BUCKETS];
        assert_eq!(Bounds::of(&counts, 0), None);
        assert_eq!(total(&counts), 0);
        assert_eq!(sum_bounds(&counts, 0, 0), 0..=0);
    }

    #[test]
    fn bounds_are_those_of_the_outer_buckets() {
        let mut counts = [0; BUCKETS];
        counts[128] = 2; // 128 and 129 ns
        counts[130] = 1; // 132 and 133 ns
        let bounds = Bounds::of(&counts, 0);
        assert_eq!(bounds, Some(Bounds { min: 128..=129, max: 132..=133 }));
        assert_eq!(sum_bounds(&counts, 0, 133), 2 * 128 + 132..=2 * 129 + 133);
    }

    #[test]
    fn values_beyond_the_range_are_bounded_by_the_largest() {
        let mut counts = [0; BUCKETS];
        counts[BUCKETS - 1] = 2;
        let bounds = Bounds::of(&counts, 2);
        assert_eq!(bounds, Some(Bounds { min: RANGE_NS..=u64::MAX, max: RANGE_NS..=u64::MAX }));
        let max = RANGE_NS + 7;
        assert_eq!(sum_bounds(&counts, 2, max), 2 * RANGE_NS..=2 * max);
        assert_eq!(sum_bounds(&counts, 2, u64::MAX), 2 * RANGE_NS..=u64::MAX);
    }
}
