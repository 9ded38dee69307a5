//! The random numbers of a plan. Records depend on the generator, so no library may change it.

/// The finalising mix of SplitMix64 (Steele, Lea, Flood: 'Fast splittable pseudorandom number generators', 2014; Stafford's
/// variant 13).
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The order of the parts matters.
pub(crate) fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(GOLDEN, |k, part| mix(k.wrapping_add(GOLDEN) ^ mix(part.wrapping_add(GOLDEN))))
}

/// xoshiro256++ 1.0 (Blackman and Vigna, 2019), seeded by SplitMix64 as its authors advise.
#[derive(Clone, Debug)]
pub(crate) struct Rng([u64; 4]);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self([1, 2, 3, 4].map(|i: u64| mix(seed.wrapping_add(GOLDEN.wrapping_mul(i)))))
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Has no bias (Lemire: 'Fast random integer generation in an interval', 2019). `bound` must not be 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut rng = Rng::new(42);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        let mut again = Rng::new(42);
        assert_eq!(first, (0..3).map(|_| again.next_u64()).collect::<Vec<_>>());
        // An independent implementation gives these numbers; other ones would change every recorded plan.
        assert_eq!(first, PINNED);
    }
    const PINNED: [u64; 3] = [0xd076_4d4f_4476_689f, 0x519e_4174_576f_3791, 0xfbe0_7cfb_0c24_ed8c];

    #[test]
    fn below_stays_below_for_awkward_bounds() {
        let mut rng = Rng::new(7);
        for bound in [1, 2, 3, 5, 1 << 40, u64::MAX, (1 << 63) + 1] {
            assert!((0..1000).all(|_| rng.below(bound) < bound));
        }
    }
}
