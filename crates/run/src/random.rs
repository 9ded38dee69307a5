//! Seeds that nobody chose.

use std::hash::{BuildHasher, RandomState};

/// A seed drawn by the operating system, below 2^48 so that every JSON reader keeps it whole. Never 0, which asks
/// for a seed to be drawn.
#[must_use]
pub fn fresh_seed() -> u64 {
    // The keys of a RandomState come from the operating system's generator.
    (RandomState::new().hash_one(0u8) >> 16).max(1)
}
