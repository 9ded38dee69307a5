//! Random moments, places and values, which can be repeated.

use std::time::{SystemTime, UNIX_EPOCH};

use slob_testing::is_full;

/// The seed of the short form: a change does not alter what is drawn.
const SHORT: u64 = 20_261_121;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): neighbouring seeds have nothing in
/// common.
pub(crate) struct Random(u64);

impl Random {
    /// `DRILLS_SEED` sets the seed. The short form of drills always has the same. It is printed, so that a failure shows it.
    #[allow(clippy::print_stdout, reason = "a drill that failed must be repeatable")]
    pub(crate) fn new() -> Self {
        let asked = std::env::var("DRILLS_SEED").ok().map(|seed| seed.parse().unwrap());
        let now_ns = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = asked.unwrap_or_else(|| if is_full() { now_ns() } else { SHORT });
        println!("DRILLS_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A place in something of that length; 0 if it is empty.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.below(length.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.index(times) == 0
    }

    pub(crate) fn of_these<'a, T>(&mut self, these: &'a [T]) -> &'a T {
        &these[self.index(these.len())]
    }

    /// Fisher and Yates.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for place in (1..all.len()).rev() {
            all.swap(place, self.index(place + 1));
        }
    }
}
