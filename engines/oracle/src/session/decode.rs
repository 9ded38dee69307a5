//! From a block's answer to starts and durations.

use std::time::Duration;

use slob_engine::{OpOutcome, Outcome};
use slob_server::{ServerClock, nanoseconds};

use crate::client::Answer;

/// Puts what a block answered into `outcome` and returns the operations that were done. `later` is how long after the
/// batch was handed over the call began, `took` how long it took here; the work is placed in the middle of that, which is
/// off by half a round trip at most. `None` if the answer does not fit so many operations.
pub(super) fn decode(
    answer: &Answer,
    ops: usize,
    later: Duration,
    took: Duration,
    outcome: &mut Outcome,
) -> Option<usize> {
    let (moments, rest) = answer.moments.as_chunks::<3>();
    if !rest.is_empty() || moments.len() > ops {
        return None;
    }
    let spare = nanoseconds(took).saturating_sub(microseconds(answer.took_us)) / 2;
    let offset = nanoseconds(later).saturating_add(spare);
    let mut clock = ServerClock::new(0, took);
    for [start, end, rows] in moments {
        clock.advance(*start);
        let start_ns = offset.saturating_add(clock.elapsed_ns());
        outcome.push(OpOutcome {
            start_ns,
            duration_ns: clock.advance(*end),
            rows: u64::try_from(*rows).ok()?,
        });
    }
    Some(moments.len())
}

/// As nanoseconds; a moment before the start is the start.
fn microseconds(us: i64) -> u64 {
    u64::try_from(us).unwrap_or(0).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(moments: &[i64], ops: usize) -> Option<Vec<(u64, u64, u64)>> {
        let mut outcome = Outcome::new();
        let answer = Answer { moments: moments.to_vec(), took_us: 100, fault: None };
        let took = Duration::from_micros(140);
        decode(&answer, ops, Duration::from_micros(7), took, &mut outcome)?;
        Some(outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect())
    }

    #[test]
    fn work_lies_in_the_middle_of_the_call() {
        let ops = decoded(&[0, 30, 64, 50, 90, 3], 4).unwrap();
        assert_eq!(ops, [(27_000, 30_000, 64), (77_000, 40_000, 3)]);
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_negative_time() {
        assert_eq!(decoded(&[-5, 10, 1, 4, 8, 1], 2).unwrap()[1], (42_000, 4_000, 1));
    }

    #[test]
    fn a_clock_that_jumps_forth_makes_no_hour_of_a_millisecond() {
        let ops = decoded(&[0, 10, 1, 10, 3_600_000_020, 1], 2).unwrap();
        assert_eq!(ops, [(27_000, 10_000, 1), (37_000, 130_000, 1)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(decoded(&[0, 1], 1), None);
        assert_eq!(decoded(&[0, 1, 1, 2, 3, 1], 1), None);
        assert_eq!(decoded(&[0, 1, -1], 1), None);
    }
}
