//! From the server's moments to starts and durations.

use std::error::Error;
use std::time::Duration;

use postgres::types::{FromSql, Type};
use slob_engine::{OpOutcome, Outcome};
use slob_method::Batch;
use slob_server::ServerClock;

/// A moment of the server's clock, in microseconds since 2000: how `timestamptz` is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(pub(super) i64);

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

/// Puts what the procedure returned into `outcome`. `times` holds the start, and for each operation its end and, if it
/// pauses, the end of its pause; in an open loop its start and its end. The two clocks are not the same one: the work is placed
/// at the end of the time that the call took here ([`ServerClock::unseen_ns`]). False if the answer does not
/// fit the batch.
pub(super) fn decode(
    batch: &Batch,
    times: &[Moment],
    seen: &[i64],
    took: Duration,
    outcome: &mut Outcome,
) -> bool {
    let Some((&Moment(began), rest)) = times.split_first() else { return false };
    let first = outcome.ops().len();
    let mut clock = ServerClock::new(began, took);
    let mut rest = rest.iter();
    for (op, rows) in batch.ops().iter().zip(seen) {
        if batch.dues_ns().is_some() {
            let Some(Moment(woken)) = rest.next() else { return false };
            clock.advance(*woken);
        }
        let (Some(Moment(end)), Ok(rows)) = (rest.next(), u64::try_from(*rows)) else { return false };
        let start_ns = clock.elapsed_ns();
        outcome.push(OpOutcome { start_ns, duration_ns: clock.advance(*end), rows });
        if op.pause_us > 0 {
            let Some(Moment(woken)) = rest.next() else { return false };
            clock.advance(*woken);
        }
    }
    outcome.shift_from(first, clock.unseen_ns());
    seen.len() <= batch.ops().len() && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{Action, KeyRange, Op, SchemaNo};

    fn batch(pauses: &[u32]) -> Batch {
        let action = Action::Select(KeyRange { first: 1, blocks: 3 });
        let op = |pause_us: &u32| Op { action, schema: SchemaNo::FIRST, pause_us: *pause_us };
        pauses.iter().map(op).collect::<Vec<_>>().into()
    }

    fn moments(us: &[i64]) -> Vec<Moment> {
        us.iter().copied().map(Moment).collect()
    }

    #[test]
    fn pauses_lie_between_operations() {
        let mut outcome = Outcome::new();
        let times = moments(&[1000, 1010, 1030, 1530, 1545]);
        assert!(decode(&batch(&[0, 500, 0]), &times, &[3, 3, 2], Duration::from_micros(645), &mut outcome));
        let ops: Vec<_> = outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect();
        assert_eq!(ops, [(100_000, 10_000, 3), (110_000, 20_000, 3), (630_000, 15_000, 2)]);
    }

    #[test]
    fn a_batch_that_was_cut_short_is_a_prefix() {
        let mut outcome = Outcome::new();
        let took = Duration::from_micros(10);
        assert!(decode(&batch(&[0, 0, 0]), &moments(&[1000, 1010]), &[3], took, &mut outcome));
        assert_eq!(outcome.ops().len(), 1);
        outcome.clear();
        assert!(decode(&batch(&[0]), &moments(&[1000]), &[], took, &mut outcome));
        assert!(outcome.ops().is_empty());
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_negative_time() {
        let mut outcome = Outcome::new();
        let times = moments(&[1000, 1010, 990]);
        assert!(decode(&batch(&[0, 0]), &times, &[3, 3], Duration::from_micros(10), &mut outcome));
        assert_eq!(outcome.ops()[1].duration_ns, 0);
    }

    #[test]
    fn a_clock_that_jumps_forth_makes_no_hour_of_a_millisecond() {
        let mut outcome = Outcome::new();
        let times = moments(&[1000, 1010, 3_600_001_020]);
        assert!(decode(&batch(&[0, 0]), &times, &[3, 3], Duration::from_micros(30), &mut outcome));
        let ops: Vec<_> = outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns)).collect();
        assert_eq!(ops, [(0, 10_000), (10_000, 20_000)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut outcome = Outcome::new();
        let took = Duration::from_micros(10);
        for (times, seen) in
            [(vec![], vec![]), (vec![1, 2], vec![3, 3]), (vec![1, 2, 3], vec![3]), (vec![1, 2], vec![-1])]
        {
            assert!(!decode(&batch(&[0, 0]), &moments(&times), &seen, took, &mut outcome), "{times:?}");
        }
    }
}
