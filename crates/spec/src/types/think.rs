//! Think time.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Serialize;

use super::{BadValue, seconds};

/// A pause after every Nth operation, drawn from a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ThinkTime {
    every: NonZeroU32,
    #[serde(rename = "min_s", serialize_with = "seconds::serialize")]
    min: Duration,
    #[serde(rename = "max_s", serialize_with = "seconds::serialize")]
    max: Duration,
}

impl ThinkTime {
    /// The longest pause that can be asked for.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// A pause from `min` to `max` after every `every`th operation.
    ///
    /// # Errors
    /// If `min` is more than `max`, or `max` more than [`ThinkTime::LONGEST`].
    pub fn new(every: NonZeroU32, min: Duration, max: Duration) -> Result<Self, BadValue> {
        if min <= max && max <= Self::LONGEST {
            Ok(Self { every, min, max })
        } else {
            Err(BadValue::expected("a shortest pause of at most the longest, and that of at most 3600 s"))
        }
    }

    /// Every how many operations a pause follows.
    #[must_use]
    pub const fn every(&self) -> NonZeroU32 {
        self.every
    }

    /// The shortest pause.
    #[must_use]
    pub const fn min(&self) -> Duration {
        self.min
    }

    /// The longest pause.
    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_range_turned_round() {
        let (short, long) = (Duration::from_millis(100), Duration::from_millis(500));
        assert!(ThinkTime::new(NonZeroU32::MIN, short, long).is_ok());
        assert!(ThinkTime::new(NonZeroU32::MIN, short, short).is_ok());
        assert!(ThinkTime::new(NonZeroU32::MIN, long, short).is_err());
        assert!(ThinkTime::new(NonZeroU32::MIN, short, Duration::from_secs(3601)).is_err());
    }
}
