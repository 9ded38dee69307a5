//! The bucketing shared by every histogram: log-linear over nanoseconds.
//!
//! Each power of two is cut into 64 buckets of equal width, so a bucket is at most 1/64 of its lowest
//! value wide and its midpoint is within 1/128 (0.8 %) of every value in it. Values below 128 ns have a
//! bucket each. The range ends at [`RANGE_NS`]; the last bucket also takes what lies beyond.

/// Buckets per power of two, as a power of two.
const SUB_BITS: u32 = 6;

/// Buckets per power of two.
const SUB_BUCKETS: usize = 1 << SUB_BITS;

/// The range as a power of two.
const RANGE_BITS: u32 = 42;

/// The first value beyond the range, in nanoseconds: 2^42 ns, about 73 minutes.
pub const RANGE_NS: u64 = 1 << RANGE_BITS;

/// Number of buckets.
pub const BUCKETS: usize = SUB_BUCKETS * (RANGE_BITS - SUB_BITS + 1) as usize;

/// Bucket that holds `ns`; everything from [`RANGE_NS`] on belongs to the last one.
#[inline]
#[must_use]
pub const fn bucket_index(ns: u64) -> usize {
    // Setting the bit of the first bucketed power of two leaves larger values' leading bit alone and
    // gives the values below it a shift of 0, hence an index equal to the value, without a branch.
    let leading_bit = u64::BITS - 1 - (ns | SUB_BUCKETS as u64).leading_zeros();
    let shift = leading_bit - SUB_BITS;
    let index = shift as usize * SUB_BUCKETS + (ns >> shift) as usize;
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// Power-of-two width of bucket `index`, as a shift.
const fn shift_of(index: usize) -> u32 {
    (index / SUB_BUCKETS).saturating_sub(1) as u32
}

/// Lowest value of bucket `index` in nanoseconds. An index beyond the last bucket means the last.
#[inline]
#[must_use]
pub const fn bucket_low(index: usize) -> u64 {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 };
    let shift = shift_of(index);
    ((index - shift as usize * SUB_BUCKETS) as u64) << shift
}

/// Highest value of bucket `index` in nanoseconds, inclusive. An index beyond the last bucket means the
/// last, whose bound is the end of the range although values beyond it are counted there too.
#[inline]
#[must_use]
pub const fn bucket_high(index: usize) -> u64 {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 };
    bucket_low(index) + ((1 << shift_of(index)) - 1)
}

/// Middle of bucket `index` in nanoseconds, rounded down: the value that stands for the bucket.
#[inline]
#[must_use]
pub const fn bucket_midpoint(index: usize) -> u64 {
    bucket_low(index) + (bucket_high(index) - bucket_low(index)) / 2
}

/// Bucket that starts exactly at `low_ns`, if there is one.
pub(crate) const fn bucket_starting_at(low_ns: u64) -> Option<usize> {
    let index = bucket_index(low_ns);
    if bucket_low(index) == low_ns { Some(index) } else { None }
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
}
