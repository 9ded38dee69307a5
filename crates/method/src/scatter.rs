//! The scatter: it assigns keys to blocks.

use crate::rng;

/// 2^40 (8 PiB of 8 KiB blocks).
pub const MAX_SCALE: u64 = slob_spec::MAX_SCALE_BLOCKS;

const ROUNDS: u64 = 8;

/// A keyed permutation of `1..=n`: the row at position `p` has the key `scatter.key_at(p)`. Neighbouring keys lie in distant
/// blocks.
///
/// It is an alternating unbalanced Feistel network with cycle walking (Black and Rogaway: 'Ciphers with arbitrary finite
/// domains', 2002). Without a table and with an inverse, loading is parallel, resumable and checkable. It is not cryptography.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scatter {
    pub(crate) n: u64,
    left_bits: u32,
    right_bits: u32,
    round_keys: [u64; ROUNDS as usize],
}

impl Scatter {
    /// A permutation of `1..=n`.
    ///
    /// # Panics
    /// If `n` is 0 or more than [`MAX_SCALE`].
    pub fn new(seed: u64, schema: u64, n: u64) -> Self {
        assert!((1..=MAX_SCALE).contains(&n), "scale {n} is outside 1..={MAX_SCALE}");
        let bits = (64 - (n - 1).leading_zeros()).max(2);
        let left_bits = bits / 2;
        let mut round = 0;
        let round_keys = [(); ROUNDS as usize].map(|()| {
            round += 1;
            rng::key(&[seed, schema, n, round])
        });
        Self { n, left_bits, right_bits: bits - left_bits, round_keys }
    }

    /// Both count from 1.
    ///
    /// # Panics
    /// If `position` is outside `1..=n`.
    pub fn key_at(&self, position: u64) -> u64 {
        self.walk(position, Self::encrypt)
    }

    /// The inverse of [`Scatter::key_at`].
    ///
    /// # Panics
    /// If `key` is outside `1..=n`.
    pub fn position_of(&self, key: u64) -> u64 {
        self.walk(key, Self::decrypt)
    }

    /// 0, which is no position, for an impossible key.
    pub fn position_of_any(&self, key: u64) -> u64 {
        if (1..=self.n).contains(&key) { self.position_of(key) } else { 0 }
    }

    fn walk(&self, from: u64, step: impl Fn(&Self, u64) -> u64) -> u64 {
        assert!((1..=self.n).contains(&from), "{from} is outside 1..={}", self.n);
        // The domain has less than twice n points: at worst two steps on average.
        let mut x = step(self, from - 1);
        while x >= self.n {
            x = step(self, x);
        }
        x + 1
    }

    fn split(&self, x: u64) -> (u64, u64) {
        (x >> self.right_bits, x & low_bits(self.right_bits))
    }

    fn encrypt(&self, x: u64) -> u64 {
        let (mut left, mut right) = self.split(x);
        for pair in self.round_keys.chunks_exact(2) {
            left ^= rng::mix(right ^ pair[0]) & low_bits(self.left_bits);
            right ^= rng::mix(left ^ pair[1]) & low_bits(self.right_bits);
        }
        left << self.right_bits | right
    }

    fn decrypt(&self, x: u64) -> u64 {
        let (mut left, mut right) = self.split(x);
        for pair in self.round_keys.chunks_exact(2).rev() {
            right ^= rng::mix(left ^ pair[1]) & low_bits(self.right_bits);
            left ^= rng::mix(right ^ pair[0]) & low_bits(self.left_bits);
        }
        left << self.right_bits | right
    }
}

const fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_small_size_is_a_permutation() {
        for n in (1..=300).chain([1000, 1023, 1024, 1025, 65_537]) {
            let scatter = Scatter::new(9, 1, n);
            let mut seen = vec![false; n as usize];
            for position in 1..=n {
                let key = scatter.key_at(position);
                assert!(!std::mem::replace(&mut seen[key as usize - 1], true), "n={n}: {key} twice");
                assert_eq!(scatter.position_of(key), position);
            }
        }
    }

    proptest! {
        #[test]
        fn inverts_at_any_size(n in 1..=MAX_SCALE, seed: u64, pick: u64) {
            let scatter = Scatter::new(seed, 3, n);
            let position = pick % n + 1;
            let key = scatter.key_at(position);
            prop_assert!((1..=n).contains(&key));
            prop_assert_eq!(scatter.position_of(key), position);
        }

        #[test]
        fn injective_on_a_window(n in 1000..=MAX_SCALE, seed: u64, start: u64) {
            let scatter = Scatter::new(seed, 1, n);
            let start = start % (n - 500) + 1;
            let mut keys: Vec<u64> = (start..start + 500).map(|p| scatter.key_at(p)).collect();
            keys.sort_unstable();
            keys.dedup();
            prop_assert_eq!(keys.len(), 500);
        }
    }

    #[test]
    fn neighbouring_keys_are_physically_apart() {
        // A random permutation keeps about 2/n * n = 2 pairs of neighbours, and the mean distance of two random
        // positions is n/3.
        let n = 100_000;
        let scatter = Scatter::new(1, 1, n);
        let distances: Vec<u64> =
            (1..n).map(|key| scatter.position_of(key).abs_diff(scatter.position_of(key + 1))).collect();
        assert!(distances.iter().filter(|d| **d == 1).count() < 12);
        let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
        assert!((mean / (n as f64 / 3.0) - 1.0).abs() < 0.02, "mean distance {mean}");
    }

    #[test]
    fn seeds_and_schemas_give_different_orders() {
        let order = |seed, schema| {
            let scatter = Scatter::new(seed, schema, 1000);
            (1..=1000).map(|p| scatter.key_at(p)).collect::<Vec<_>>()
        };
        assert_ne!(order(1, 1), order(2, 1));
        assert_ne!(order(1, 1), order(1, 2));
        assert_eq!(order(1, 1), order(1, 1));
    }
}
