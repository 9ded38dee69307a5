//! Buckets of every histogram, log-linear over nanoseconds.
//!
//! Each power of two is cut into 64 buckets of equal width, so a midpoint is within 1/128 (0.8 %) of every value in its bucket.
//! Values below 128 ns have a bucket each. The last bucket also takes what lies beyond [`RANGE_NS`].

use std::ops::RangeInclusive;

const SUB_BITS: u32 = 6;

const SUB_BUCKETS: usize = 1 << SUB_BITS;

const RANGE_BITS: u32 = 42;

/// 2^42 ns, about 73 minutes.
pub const RANGE_NS: u64 = 1 << RANGE_BITS;

/// Number of buckets.
pub const BUCKETS: usize = SUB_BUCKETS * (RANGE_BITS - SUB_BITS + 1) as usize;

/// The last bucket takes everything from [`RANGE_NS`] on.
#[inline]
pub const fn bucket_index(ns: u64) -> usize {
    // The set bit gives values below the first bucketed power of two a shift of 0, without a branch.
    let leading_bit = u64::BITS - 1 - (ns | SUB_BUCKETS as u64).leading_zeros();
    let shift = leading_bit - SUB_BITS;
    let index = shift as usize * SUB_BUCKETS + (ns >> shift) as usize;
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

const fn shift_of(index: usize) -> u32 {
    (index / SUB_BUCKETS).saturating_sub(1) as u32
}

/// An index beyond the last bucket means the last.
#[inline]
pub const fn bucket_low(index: usize) -> u64 {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 };
    let shift = shift_of(index);
    ((index - shift as usize * SUB_BUCKETS) as u64) << shift
}

/// Inclusive. An index beyond the last bucket means the last, which ends with the range.
#[inline]
pub const fn bucket_high(index: usize) -> u64 {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 };
    bucket_low(index) + ((1 << shift_of(index)) - 1)
}

/// Rounded down; it represents the bucket.
#[inline]
pub const fn bucket_midpoint(index: usize) -> u64 {
    bucket_low(index) + (bucket_high(index) - bucket_low(index)) / 2
}

/// `None` unless a bucket starts there.
pub(crate) const fn bucket_starting_at(low_ns: u64) -> Option<usize> {
    let index = bucket_index(low_ns);
    if bucket_low(index) == low_ns { Some(index) } else { None }
}

pub(crate) type Counts = [u64; BUCKETS];

/// Limits of the exact figures beside buckets: for the check of saved histograms, and for figures that were subtracted or read
/// during writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: RangeInclusive<u64>,
    pub(crate) max: RangeInclusive<u64>,
}

impl Bounds {
    /// `None` if all buckets are empty. `beyond` values of the last one lie beyond the range.
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

pub(crate) fn total(counts: &Counts) -> u64 {
    counts.iter().fold(0, |sum: u64, &n| sum.saturating_add(n))
}

/// `beyond` values of the last bucket lie beyond the range but not above `max`.
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

pub(crate) fn clamp_to(value: u64, range: &RangeInclusive<u64>) -> u64 {
    value.clamp(*range.start(), *range.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        assert_eq!(bucket_low(0), 0);
        for index in 1..BUCKETS {
            assert_eq!(bucket_low(index), bucket_high(index - 1) + 1, "bucket {index}");
        }
        assert_eq!(bucket_high(BUCKETS - 1), RANGE_NS - 1);
    }

    #[test]
    fn every_bucket_holds_its_own_bounds_and_is_narrow() {
        for index in 0..BUCKETS {
            let (low, high) = (bucket_low(index), bucket_high(index));
            assert_eq!(bucket_index(low), index);
            assert_eq!(bucket_index(high), index);
            assert_eq!(bucket_starting_at(low), Some(index));
            let mid = bucket_midpoint(index);
            assert!((mid - low) * 128 <= low && (high - mid) * 128 <= low, "bucket {index}");
        }
    }

    #[test]
    fn small_values_are_exact_and_large_ones_go_to_the_last_bucket() {
        for ns in 0..128 {
            assert_eq!(bucket_midpoint(bucket_index(ns)), ns);
        }
        assert_eq!(bucket_index(RANGE_NS - 1), BUCKETS - 1);
        assert_eq!(bucket_index(RANGE_NS), BUCKETS - 1);
        assert_eq!(bucket_index(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_high(usize::MAX), RANGE_NS - 1);
        assert_eq!(bucket_starting_at(129), None);
        assert_eq!(bucket_starting_at(RANGE_NS), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_within_its_bucket(ns in 0..RANGE_NS) {
            let index = bucket_index(ns);
            prop_assert!(bucket_low(index) <= ns && ns <= bucket_high(index));
        }
    }

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
