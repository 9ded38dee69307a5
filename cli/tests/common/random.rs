//! Moments and places by chance, which can be had again.

use std::time::{SystemTime, UNIX_EPOCH};

/// The seed of the short form: what a change did not break stays as it was.
const SHORT: u64 = 20_261_121;

/// Whether drills are repeated as often as docs/trust.md says.
pub(crate) fn is_full() -> bool {
    std::env::var("DRILLS").as_deref() == Ok("full")
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub(crate) struct Random(u64);

impl Random {
    /// By the seed that was asked for; without one, the same each time in the short form, and another one where drills are
    /// repeated as often as docs/trust.md says. It is printed, and so shown with a failure.
    #[allow(clippy::print_stdout, reason = "a drill that failed must be repeatable")]
    pub(crate) fn new() -> Self {
        let asked = std::env::var("DRILLS_SEED").ok().map(|seed| seed.parse().unwrap());
        let seed = asked.unwrap_or_else(|| if is_full() { now_ns() } else { SHORT });
        println!("DRILLS_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}
