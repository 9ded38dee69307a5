//! From a procedure's answer to starts and durations.

use std::time::Duration;

use slob_engine::{OpOutcome, Outcome};
use slob_method::Op;
use slob_server::ServerClock;

/// Puts what a procedure answered into `outcome`: for each operation its end in microseconds since the start, the rows,
/// and, if it pauses, the end of the pause; in an open loop (`is_open`) its start, its end and the rows. `begun_ns` is when
/// the call began, and `took` how long it took here; the work is placed at the end of that. False if the answer does not fit the operations.
pub(super) fn decode(
    ops: &[Op],
    answer: &[u8],
    is_open: bool,
    begun_ns: u64,
    took: Duration,
    outcome: &mut Outcome,
) -> bool {
    let first = outcome.ops().len();
    let mut clock = ServerClock::new(0, took);
    let fits = follow(ops, answer, is_open, &mut clock, |start_ns, duration_ns, rows| {
        outcome.push(OpOutcome { start_ns: begun_ns + start_ns, duration_ns, rows });
    });
    outcome.shift_from(first, clock.unseen_ns());
    fits.is_some()
}

/// Puts what a stretch answered into `outcome`: for each operation its rows and its end in microseconds since the start, behind
/// one without keys, with whose end the first one begins. An empty answer is that of a stretch that began too late.
pub(super) fn decode_stretch(
    ops: &[Op],
    answer: &[u8],
    begun_ns: u64,
    took: Duration,
    outcome: &mut Outcome,
) -> bool {
    let mut words = words(answer);
    let (Some(rows), Some(begin_us)) = (words.next(), words.next().and_then(number)) else {
        return answer.is_empty();
    };
    let first = outcome.ops().len();
    let mut clock = ServerClock::new(begin_us, took);
    for _ in ops {
        let Some(rows) = words.next() else { break };
        let (Some(rows), Some(end_us)) = (number(rows), words.next().and_then(number)) else { return false };
        let (start_ns, duration_ns) = (begun_ns + clock.elapsed_ns(), clock.advance(end_us));
        outcome.push(OpOutcome { start_ns, duration_ns, rows: u64::try_from(rows).unwrap_or(0) });
    }
    outcome.shift_from(first, clock.unseen_ns());
    rows == b"0" && words.next().is_none()
}

fn words(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == b' ').filter(|text| !text.is_empty())
}

/// Reads an answer; `on_done` hears the start and the duration of each operation by `clock`, and its rows. An error ended the
/// call wherever the answer ends. `None` if it does not fit the operations.
fn follow(
    ops: &[Op],
    answer: &[u8],
    is_open: bool,
    clock: &mut ServerClock,
    mut on_done: impl FnMut(u64, u64, u64),
) -> Option<()> {
    let mut words = words(answer);
    for op in ops {
        if is_open {
            let Some(begun) = words.next() else { return Some(()) };
            clock.advance(number(begun)?);
        }
        // An error may come between the start of an operation and its end, and between that and its pause.
        let Some(end) = words.next() else { return Some(()) };
        let (end, rows) = (number(end)?, u64::try_from(number(words.next()?)?).unwrap_or(0));
        let start_ns = clock.elapsed_ns();
        on_done(start_ns, clock.advance(end), rows);
        if op.pause_us > 0 && !is_open {
            let Some(woken) = words.next() else { return Some(()) };
            clock.advance(number(woken)?);
        }
    }
    words.next().is_none().then_some(())
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{Action, KeyRange, SchemaNo};

    fn ops(pauses: &[u32]) -> Vec<Op> {
        let action = Action::Select(KeyRange { first: 1, blocks: 3 });
        pauses.iter().map(|pause_us| Op { action, schema: SchemaNo::FIRST, pause_us: *pause_us }).collect()
    }

    fn decoded(pauses: &[u32], answer: &str, took_us: u64) -> Option<Vec<(u64, u64, u64)>> {
        let mut outcome = Outcome::new();
        decode(&ops(pauses), answer.as_bytes(), false, 0, Duration::from_micros(took_us), &mut outcome)
            .then(|| outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect())
    }

    #[test]
    fn pauses_lie_between_operations() {
        let expected = [(100_000, 10_000, 3), (110_000, 20_000, 3), (630_000, 15_000, 2)];
        assert_eq!(decoded(&[0, 500, 0], "10 3 30 3 530 545 2 ", 645).unwrap(), expected);
    }

    #[test]
    fn a_batch_that_was_cut_short_is_a_prefix() {
        assert_eq!(decoded(&[0, 0, 0], "10 3 ", 10).unwrap().len(), 1);
        assert_eq!(decoded(&[500, 0], "10 3 ", 10).unwrap().len(), 1);
        assert_eq!(decoded(&[0], "", 10).unwrap().len(), 0);
    }

    #[test]
    fn in_an_open_loop_starts_are_told() {
        let mut outcome = Outcome::new();
        let took = Duration::from_micros(60);
        assert!(decode(&ops(&[0, 0, 0]), b"10 25 3 40 60 3 ", true, 500, took, &mut outcome));
        let starts: Vec<_> = outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns)).collect();
        assert_eq!(starts, [(10_500, 15_000), (40_500, 20_000)]);
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_negative_time() {
        let ops = decoded(&[0, 0, 0], "10 3 -4 3 12 3", 12).unwrap();
        assert_eq!(ops.iter().map(|op| op.1).collect::<Vec<_>>(), [10_000, 0, 2000]);
    }

    #[test]
    fn a_clock_that_jumps_forth_makes_no_hour_of_a_millisecond() {
        let ops = decoded(&[0, 0], "10 3 3600000020 3", 30).unwrap();
        assert_eq!(ops, [(0, 10_000, 3), (10_000, 20_000, 3)]);
    }

    #[test]
    fn a_stretch_begins_when_its_operation_without_keys_ends() {
        let decoded = |answer: &str| {
            let mut outcome = Outcome::new();
            decode_stretch(&ops(&[0, 0, 0]), answer.as_bytes(), 500, Duration::from_micros(60), &mut outcome)
                .then(|| outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect())
        };
        let whole: Vec<_> = decoded("0 20 3 25 3 45 2 50").unwrap();
        assert_eq!(whole, [(30_500, 5_000, 3), (35_500, 20_000, 3), (55_500, 5_000, 2)]);
        assert_eq!(decoded("0 20 3 25").unwrap(), [(55_500, 5_000, 3)]);
        assert_eq!(decoded(""), Some(Vec::new()));
        for bad in ["0", "1 20", "0 20 3", "0 20 3 x", "0 20 3 25 3 45 2 50 3 60", "x 20 3 25"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for answer in ["1 3 2", "1 3 2 3 4", "x 3", "1 y"] {
            assert_eq!(decoded(&[0, 0], answer, 10), None, "{answer}");
        }
    }
}
