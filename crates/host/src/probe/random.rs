//! Random offsets and incompressible data.

/// SplitMix64 (Steele, Lea, Flood: 'Fast splittable pseudorandom number generators', 2014): one addition and one
/// mix per number, so that drawing an offset costs nothing beside a read.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of one session (or other part) of a probe.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut own = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        Self(own.next_u64()) // neighbouring streams start far apart
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`, uniform to within `bound` / 2^64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Fills `bytes` (a multiple of 8) with random data, which no storage can compress.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&self.next_u64().to_le_bytes());
        }
    }

    /// Makes every 512-byte sector of random data a new one, so that no storage can deduplicate it either, at a
    /// small part of the cost of new data.
    pub(super) fn restamp(&mut self, bytes: &mut [u8]) {
        for sector in bytes.chunks_mut(512) {
            sector[..8].copy_from_slice(&self.next_u64().to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_uniform() {
        const BINS: u64 = 100;
        let mut random = Random::new(1, 0);
        let mut counts = [0.0_f64; BINS as usize];
        for _ in 0..100_000 {
            counts[random.below(BINS) as usize] += 1.0;
        }
        // Pearson's chi-square with 99 degrees of freedom is below 148.2 in 99.9 % of all cases; the seed is fixed.
        let chi_square: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 148.2, "{chi_square}");
    }

    proptest::proptest! {
        #[test]
        fn offsets_stay_within_the_file(seed: u64, stream: u64, bound in 1_u64..) {
            let mut random = Random::new(seed, stream);
            proptest::prop_assert!((0..100).all(|_| random.below(bound) < bound));
        }
    }

    #[test]
    fn streams_and_stamps_differ() {
        let mut first = Random::new(1, 0);
        let mut second = Random::new(1, 1);
        assert_ne!(first.next_u64(), second.next_u64());
        let mut block = vec![0; 8192];
        first.fill(&mut block);
        let before = block.clone();
        first.restamp(&mut block);
        assert!(before.chunks(512).zip(block.chunks(512)).all(|(a, b)| a[..8] != b[..8] && a[8..] == b[8..]));
    }
}
