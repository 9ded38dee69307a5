//! The hot spot of each schema.

use std::num::{NonZeroU32, NonZeroU64};

use serde::Serialize;

const MIB: u64 = 1 << 20;

/// A part of each schema that every Nth SELECT or UPDATE stays within.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HotSpot {
    /// Its size, in MiB.
    pub size_mb: NonZeroU64,
    /// Where it begins, in MiB from the start of the active data set.
    pub offset_mb: u64,
    /// Every how many operations one goes there.
    pub every: NonZeroU32,
}

impl HotSpot {
    /// Its size in whole blocks of `block_bytes` bytes.
    #[must_use]
    pub fn blocks(&self, block_bytes: u32) -> u64 {
        mib_to_blocks(self.size_mb.get(), block_bytes)
    }

    /// Its first key, counted from 1.
    #[must_use]
    pub fn first_key(&self, block_bytes: u32) -> u64 {
        mib_to_blocks(self.offset_mb, block_bytes).saturating_add(1)
    }

    /// Its last key, counted from 1.
    #[must_use]
    pub fn last_key(&self, block_bytes: u32) -> u64 {
        mib_to_blocks(self.offset_mb, block_bytes).saturating_add(self.blocks(block_bytes))
    }
}

fn mib_to_blocks(mib: u64, block_bytes: u32) -> u64 {
    mib.saturating_mul(MIB).checked_div(u64::from(block_bytes)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_where_offset_and_size_say() {
        let size_mb = NonZeroU64::new(8).unwrap();
        let hot = HotSpot { size_mb, offset_mb: 16, every: NonZeroU32::MIN };
        assert_eq!((hot.first_key(8192), hot.last_key(8192), hot.blocks(8192)), (2049, 3072, 1024));
        assert_eq!((hot.first_key(16384), hot.last_key(16384)), (1025, 1536));
    }
}
