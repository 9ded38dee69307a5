//! The blocks of one operation.

use std::fmt;

use serde::Serialize;

use super::BadValue;

/// How many blocks one operation touches: 1 to 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct WorkUnit(u16);

impl WorkUnit {
    /// The smallest work unit, in blocks.
    pub const MIN: u16 = 1;
    /// The largest work unit, in blocks.
    pub const MAX: u16 = 1024;

    /// Takes a number of blocks.
    ///
    /// # Errors
    /// If it is not within [`WorkUnit::MIN`] to [`WorkUnit::MAX`].
    pub fn new(blocks: u16) -> Result<Self, BadValue> {
        if (Self::MIN..=Self::MAX).contains(&blocks) {
            Ok(Self(blocks))
        } else {
            Err(BadValue::expected(format!("a whole number from {} to {}", Self::MIN, Self::MAX)))
        }
    }

    /// The number of blocks.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for WorkUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends() {
        assert!(WorkUnit::new(0).is_err());
        assert_eq!(WorkUnit::new(1).map(WorkUnit::get), Ok(1));
        assert_eq!(WorkUnit::new(1024).map(WorkUnit::get), Ok(1024));
        assert!(WorkUnit::new(1025).is_err());
    }
}
