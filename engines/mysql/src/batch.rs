//! The text that procedures take for a batch, and the text that they answer.

use std::io::Write;
use std::time::Duration;

use slob_engine::{OpOutcome, Outcome, Result, SessionPlan};
use slob_method::{Action, Op};
use slob_server::{ServerClock, number as kind_number};

use crate::procedure::{OP_BYTES, SELECT_BYTES};
use crate::statement::SHORTEST_STRETCH;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The keys of each SELECT, all in the home schema and without pauses.
    Selects(u16),
    Stretch(u16),
    /// A pause follows each operation.
    Any,
    /// No operation begins before it is due.
    Open,
}

/// At most `most` operations. Consecutive SELECTs of up to `joined` keys are one statement.
pub(crate) fn first_piece(ops: &[Op], plan: &SessionPlan, joined: u16, most: usize) -> (Form, usize) {
    let of_one_width = |ops: &[Op]| {
        let first = width(ops.first()?, plan)?;
        Some((first, ops.iter().take_while(|op| width(op, plan) == Some(first)).count()))
    };
    let stretch = |ops: &[Op]| {
        of_one_width(ops).filter(|(width, count)| *width <= joined && *count >= SHORTEST_STRETCH)
    };
    if let Some((width, count)) = stretch(ops) {
        return (Form::Stretch(width), count.min(most));
    }
    let most = most.min(ops.len());
    let mut count = 0;
    while count < most && stretch(&ops[count..]).is_none() {
        count += of_one_width(&ops[count..]).map_or(1, |(_, count)| count);
    }
    let count = count.min(most);
    match of_one_width(&ops[..count]) {
        Some((width, all)) if all == count => (Form::Selects(width), count),
        _ => (Form::Any, count),
    }
}

fn width(op: &Op, plan: &SessionPlan) -> Option<u16> {
    match op.action {
        Action::Select(range) if op.schema == plan.home && op.pause_us == 0 => Some(range.blocks),
        _ => None,
    }
}

/// `due_us` is in microseconds after the call, for open loops.
pub(crate) fn pack(
    ops: &[Op],
    form: Form,
    plan: &SessionPlan,
    due_us: impl Fn(usize) -> u64,
) -> Result<Vec<u8>> {
    let op_bytes = if matches!(form, Form::Any | Form::Open) { OP_BYTES } else { SELECT_BYTES };
    let mut text = Vec::with_capacity((ops.len() + 1) * op_bytes);
    if matches!(form, Form::Stretch(_)) {
        text.extend_from_slice(b"[null");
    }
    for (index, op) in ops.iter().enumerate() {
        let kind = kind_number(op, plan)?;
        let _ = match form {
            Form::Selects(_) => write!(text, "{:0SELECT_BYTES$}", first_key(op)),
            Form::Stretch(_) => write!(text, ",{}", first_key(op)),
            Form::Any => pack_any(&mut text, op, kind, op.pause_us.into()),
            Form::Open => pack_any(&mut text, op, kind, due_us(index)),
        };
    }
    if matches!(form, Form::Stretch(_)) {
        text.push(b']');
    }
    Ok(text)
}

fn first_key(op: &Op) -> u64 {
    match op.action {
        Action::Select(range) | Action::Update(range, _) => range.first,
        Action::Scan => 0,
    }
}

fn pack_any(text: &mut Vec<u8>, op: &Op, kind: u8, wait_us: u64) -> std::io::Result<()> {
    let (blocks, stamp) = match op.action {
        Action::Select(range) => (range.blocks, [b'0'; 16]),
        Action::Update(range, stamp) => (range.blocks, stamp.hex()),
        Action::Scan => (0, [b'0'; 16]),
    };
    // The column holds two hours.
    write!(text, "{kind}{:014}{blocks:05}{:010}", first_key(op), wait_us.min(9_999_999_999))?;
    text.write_all(&stamp)
}

/// Each operation has its end in microseconds since the start, its rows, and the end of its pause; in an open loop (`is_open`)
/// start, end and rows. Work is placed at the end of the call's time. False if the answer does not fit the operations.
pub(crate) fn decode(
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

/// Each operation has its rows and its end. A first operation without keys gives the start of the next one. The answer is empty
/// if the stretch began too late.
pub(crate) fn decode_stretch(
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

/// An error may end the answer early. `None` if it does not fit the operations.
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
        // An error may come after any of these numbers.
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
    use slob_method::{KeyRange, SchemaNo, Stamp};
    use slob_spec::RedoStress;
    use slob_testing::work::plan_beside_hot;

    fn plan() -> SessionPlan {
        plan_beside_hot(0, Some(RedoStress::Lite))
    }

    fn select(first: u64, blocks: u16) -> Op {
        Op {
            action: Action::Select(KeyRange { first, blocks }),
            schema: plan().home,
            pause_us: 0,
            commits: true,
        }
    }

    #[test]
    fn selects_of_one_width_are_keys() {
        let ops = [select(7, 64), select(1 << 40, 64)];
        assert_eq!(first_piece(&ops, &plan(), 63, 9), (Form::Selects(64), 2));
        assert_eq!(first_piece(&ops, &plan(), 63, 1), (Form::Selects(64), 1));
        let text = pack(&ops, Form::Selects(64), &plan(), |_| 0).unwrap();
        assert_eq!(text, b"00000000000000070001099511627776");
    }

    #[test]
    fn a_stretch_is_a_list_that_begins_with_nothing() {
        let ops = [select(7, 8), select(9, 8), select(1 << 40, 8)];
        let text = pack(&ops, Form::Stretch(8), &plan(), |_| 0).unwrap();
        assert_eq!(text, b"[null,7,9,1099511627776]");
    }

    /// `s` a narrow SELECT, `w` a wide one, `p` a narrow one that pauses.
    fn pieces(letters: &str, most: usize) -> Vec<(Form, usize)> {
        let op = |letter| Op {
            pause_us: u32::from(letter == 'p'),
            ..select(1, if letter == 'w' { 64 } else { 3 })
        };
        let ops: Vec<_> = letters.chars().map(op).collect();
        let mut rest = &ops[..];
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (form, count) = first_piece(rest, &plan(), 8, most);
            assert!((1..=most).contains(&count), "{count}");
            rest = &rest[count..];
            pieces.push((form, count));
        }
        pieces
    }

    #[test]
    fn a_batch_is_split_into_stretches_and_other_pieces() {
        use Form::{Any, Selects, Stretch};
        let (stretch, short) = ("s".repeat(SHORTEST_STRETCH), "s".repeat(SHORTEST_STRETCH - 1));
        assert_eq!(pieces(&stretch, 100), [(Stretch(3), 8)]);
        assert_eq!(pieces(&stretch, 5), [(Stretch(3), 5), (Selects(3), 3)]);
        assert_eq!(pieces(&short, 100), [(Selects(3), 7)]);
        assert_eq!(pieces(&format!("{short}p{short}"), 100), [(Any, 15)]);
        assert_eq!(
            pieces(&format!("{short}p{stretch}ww"), 100),
            [(Any, 8), (Stretch(3), 8), (Selects(64), 2)]
        );
        assert_eq!(pieces(&"w".repeat(20), 8), [(Selects(64), 8), (Selects(64), 8), (Selects(64), 4)]);
        assert_eq!(pieces("p", 8), [(Any, 1)]);
    }

    #[test]
    fn anything_else_is_columns() {
        let stamp = Stamp::new(1, 2, 3);
        let update = Op {
            action: Action::Update(KeyRange { first: 9, blocks: 1024 }, stamp),
            schema: SchemaNo::FIRST,
            pause_us: u32::MAX,
            commits: true,
        };
        for ops in [[select(7, 64), select(8, 3)], [select(7, 64), update]] {
            assert_eq!(first_piece(&ops, &plan(), 64, 9), (Form::Any, 2));
        }
        let text = pack(&[select(7, 64), update], Form::Any, &plan(), |_| 0).unwrap();
        assert_eq!(text.len(), 2 * OP_BYTES);
        let expected = [&b"500000000000009010244294967295"[..], &stamp.hex()].concat();
        assert_eq!(text[OP_BYTES..], expected);
        let text = pack(&[select(7, 64), update], Form::Open, &plan(), |index| index as u64 * 70).unwrap();
        assert_eq!(text[OP_BYTES..][..30], *b"500000000000009010240000000070");
    }

    fn ops(pauses: &[u32]) -> Vec<Op> {
        let action = Action::Select(KeyRange { first: 1, blocks: 3 });
        pauses
            .iter()
            .map(|pause_us| Op { action, schema: SchemaNo::FIRST, pause_us: *pause_us, commits: true })
            .collect()
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
    fn an_open_loop_returns_starts() {
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
    fn answers_that_do_not_fit_are_refused() {
        for answer in ["1 3 2", "1 3 2 3 4", "x 3", "1 y"] {
            assert_eq!(decoded(&[0, 0], answer, 10), None, "{answer}");
        }
    }
}
