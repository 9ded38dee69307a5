//! From a block's answer to starts and durations.

use std::time::Duration;

use slob_engine::{OpOutcome, Outcome};
use slob_server::{ServerClock, nanoseconds};

use super::encode::WIDTH;
use crate::client::Answer;

/// Hexadecimal digits of each of the three numbers that a block answers of an operation: when it began and when it ended, in
/// microseconds after the block began to work, and its rows.
const DIGITS: usize = WIDTH / 3;

/// Puts what a block answered into `outcome` and returns the operations that were done. `later` is how long after the
/// batch was handed over the call began, `took` how long it took here; the work is placed behind all of it that the block
/// did not see, since an operation must not seem to have ended before it did: late by the way back and what writing the text took. `None` if the answer does not fit so
/// many operations, or a number in it is none: one that has more digits than there is room for comes as a row of #.
pub(super) fn decode(
    answer: &Answer,
    ops: usize,
    later: Duration,
    took: Duration,
    outcome: &mut Outcome,
) -> Option<usize> {
    let (records, rest) = answer.text.as_bytes().as_chunks::<WIDTH>();
    if !rest.is_empty() || records.len() > ops {
        return None;
    }
    let spare = nanoseconds(took).saturating_sub(microseconds(answer.took_us));
    let offset = nanoseconds(later).saturating_add(spare);
    let mut clock = ServerClock::new(0, took);
    for record in records {
        let mut numbers = record.chunks(DIGITS).map(number);
        let mut next = || numbers.next().flatten();
        let (start, end, rows) = (next()?, next()?, next()?);
        clock.advance(start);
        let start_ns = offset.saturating_add(clock.elapsed_ns());
        outcome.push(OpOutcome {
            start_ns,
            duration_ns: clock.advance(end),
            rows: u64::try_from(rows).ok()?,
        });
    }
    Some(records.len())
}

/// Hexadecimal digits, and nothing else: no sign.
fn number(digits: &[u8]) -> Option<i64> {
    let plain = digits.iter().all(u8::is_ascii_hexdigit);
    plain.then(|| i64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).flatten()
}

/// As nanoseconds; a moment before the start is the start.
fn microseconds(us: i64) -> u64 {
    u64::try_from(us).unwrap_or(0).saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::server::write_answer;
    use proptest::prelude::*;

    fn decoded_text(text: &str, ops: usize) -> Option<Vec<(u64, u64, u64)>> {
        let mut outcome = Outcome::new();
        let answer = Answer { text: text.to_owned(), took_us: 100, fault: None };
        let took = Duration::from_micros(140);
        decode(&answer, ops, Duration::from_micros(7), took, &mut outcome)?;
        Some(outcome.ops().iter().map(|op| (op.start_ns, op.duration_ns, op.rows)).collect())
    }

    fn decoded(moments: &[[u64; 3]], ops: usize) -> Option<Vec<(u64, u64, u64)>> {
        decoded_text(&write_answer(moments), ops)
    }

    #[test]
    fn work_lies_behind_what_the_block_did_not_see() {
        let ops = decoded(&[[0, 30, 64], [50, 90, 3]], 4).unwrap();
        assert_eq!(ops, [(47_000, 30_000, 64), (97_000, 40_000, 3)]);
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_negative_time() {
        assert_eq!(decoded(&[[5, 10, 1], [4, 8, 1]], 2).unwrap()[1], (57_000, 4_000, 1));
    }

    #[test]
    fn a_clock_that_jumps_forth_makes_no_hour_of_a_millisecond() {
        let ops = decoded(&[[0, 10, 1], [10, 3_600_000_020, 1]], 2).unwrap();
        assert_eq!(ops, [(47_000, 10_000, 1), (57_000, 130_000, 1)]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let sound = write_answer(&[[0, 1, 1]]);
        assert!(decoded_text(&sound, 1).is_some());
        assert_eq!(decoded_text(&sound, 0), None, "more than were asked for");
        for damaged in
            [&sound[1..], &format!("{sound}0"), &sound.replacen('0', "#", 1), &sound.replacen("00", "+0", 1)]
        {
            assert_eq!(decoded_text(damaged, 1), None, "{damaged}");
        }
    }

    proptest! {
        /// Within the ten digits that each number has, what the block writes is what is read.
        #[test]
        fn every_answer_is_read_as_it_was_written(steps in prop::collection::vec((0..50_u64, 0..1_u64 << 40), 0..300)) {
            let mut moment = 0;
            let moments: Vec<[u64; 3]> = steps.iter().map(|(step, rows)| {
                let start = moment;
                moment += step;
                [start, moment, *rows]
            }).collect();
            let text = write_answer(&moments);
            let mut outcome = Outcome::new();
            let answer = Answer { text, took_us: moment as i64, fault: None };
            let done = decode(&answer, moments.len(), Duration::ZERO, Duration::from_micros(moment), &mut outcome);
            prop_assert_eq!(done, Some(moments.len()));
            for (op, [start, end, rows]) in outcome.ops().iter().zip(moments) {
                prop_assert_eq!((op.start_ns, op.duration_ns, op.rows), (start * 1000, (end - start) * 1000, rows));
            }
        }
    }
}
