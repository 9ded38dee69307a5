//! A whole percentage.

use std::fmt;

use serde::Serialize;

use super::BadValue;

/// A whole percentage from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Percent(u8);

impl Percent {
    /// The words for what is permitted.
    pub(crate) const PERMITTED: &'static str = "a whole number from 0 to 100";

    /// Takes a percentage.
    ///
    /// # Errors
    /// If it is more than 100.
    pub fn new(percent: u8) -> Result<Self, BadValue> {
        if percent <= 100 { Ok(Self(percent)) } else { Err(BadValue::expected(Self::PERMITTED)) }
    }

    /// The percentage, 0 to 100.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_at_one_hundred() {
        assert_eq!(Percent::new(100).map(Percent::get), Ok(100));
        assert!(Percent::new(101).is_err());
    }
}
