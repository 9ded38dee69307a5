//! Orders by chance that come out the same for the same seed.

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher and Yates's shuffle, as in Knuth, *The Art of Computer Programming* 2, algorithm 3.4.2P. Taking the high
    /// half of a product favours some orders by less than one in 2^50 for lists of any length that is met here.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            items.swap(last, pick as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_and_nothing_is_lost() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            Chance::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }

    /// Each of the six orders of three things comes equally often: a chi-square of 5 degrees of freedom stays below 20.5
    /// but for one seed in a thousand, and the seeds are always the same.
    #[test]
    fn every_order_is_as_likely_as_any_other() {
        let mut chance = Chance::new(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [0, 1, 2];
            chance.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        let chi_square: f64 = counts.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 20.5, "{chi_square} {counts:?}");
    }
}
