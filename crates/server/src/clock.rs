//! Durations by a server's clock, which somebody may set meanwhile.

use std::time::Duration;

/// Follows the moments that a server tells of a call. Its clock is one of the day: it may be set back or forth while the
/// call is under way. No time between two moments is then negative, nor do all of them add up to more than the call took
/// by this machine's own clock, which is never set; what lies before and after the jump is as it was.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    last_us: i64,
    elapsed_ns: u64,
    limit_ns: u64,
}

impl ServerClock {
    /// Begins at a moment, in microseconds of whatever epoch; the whole call took `took`.
    #[must_use]
    pub fn new(begin_us: i64, took: Duration) -> Self {
        Self { last_us: begin_us, elapsed_ns: 0, limit_ns: nanoseconds(took) }
    }

    /// Goes on to the next moment; returns the nanoseconds since the one before.
    pub fn advance(&mut self, to_us: i64) -> u64 {
        let step_us = u64::try_from(to_us.saturating_sub(self.last_us)).unwrap_or(0);
        let step_ns = step_us.saturating_mul(1000).min(self.limit_ns - self.elapsed_ns);
        self.last_us = to_us;
        self.elapsed_ns += step_ns;
        step_ns
    }

    /// Nanoseconds from the beginning to the last moment.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Nanoseconds of the call that the server did not see: the way there, the wait until its process is at work, and the way
    /// back. The work is placed behind all of it, since an operation must not seem to have ended before it did; that is late by
    /// the way back.
    #[must_use]
    pub fn unseen_ns(&self) -> u64 {
        self.limit_ns - self.elapsed_ns
    }
}

/// A duration in nanoseconds; 584 years at most.
#[must_use]
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A wait in microseconds, rounded up: nothing may begin too early. At most what a signed number holds.
#[must_use]
pub fn whole_microseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX).min(i64::MAX.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_jump_back_or_forth_costs_one_step() {
        let steps = |moments: [i64; 4]| {
            let mut clock = ServerClock::new(0, Duration::from_micros(50));
            moments.map(|moment| clock.advance(moment))
        };
        assert_eq!(steps([10, 20, 30, 40]), [10_000; 4]);
        assert_eq!(steps([10, -90, -80, -70]), [10_000, 0, 10_000, 10_000]);
        // An hour forth: whatever is left of the call is all that step may have taken.
        assert_eq!(steps([10, 3_600_000_020, 3_600_000_030, 3_600_000_040]), [10_000, 40_000, 0, 0]);
    }

    proptest! {
        #[test]
        fn steps_never_add_up_to_more_than_the_call_took(moments: Vec<i64>, begin: i64, took_us in 0..1_000_000_u64) {
            let took = Duration::from_micros(took_us);
            let mut clock = ServerClock::new(begin, took);
            let sum: u64 = moments.into_iter().map(|moment| clock.advance(moment)).sum();
            prop_assert_eq!(sum, clock.elapsed_ns());
            prop_assert_eq!(u128::from(sum + clock.unseen_ns()), took.as_nanos());
        }
    }
}
