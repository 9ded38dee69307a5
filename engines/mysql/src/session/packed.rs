//! A batch as the text of fixed columns that a procedure takes.

use std::io::Write;

use slob_engine::{EngineError, SessionPlan};
use slob_method::{Action, Op};
use slob_server::classify;

use crate::procedure::{OP_BYTES, SELECT_BYTES};
use crate::stretch::SHORTEST;

/// Which procedure can execute some operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// SELECTs of so many keys each, in the home schema, without pauses.
    Selects(u16),
    /// The same, as one statement.
    Stretch(u16),
    /// Anything, each followed by its pause.
    Any,
    /// Anything, none begun before it is due.
    Open,
}

/// The first operations of a closed loop that are executed at once, `most` at most: their form, and how many they are. SELECTs of
/// up to `joined` keys that follow each other are one statement.
pub(super) fn first_piece(ops: &[Op], plan: &SessionPlan, joined: u16, most: usize) -> (Form, usize) {
    let of_one_width = |ops: &[Op]| {
        let first = width(ops.first()?, plan)?;
        Some((first, ops.iter().take_while(|op| width(op, plan) == Some(first)).count()))
    };
    let stretch =
        |ops: &[Op]| of_one_width(ops).filter(|(width, count)| *width <= joined && *count >= SHORTEST);
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

/// The keys of a SELECT in the home schema that no pause follows.
fn width(op: &Op, plan: &SessionPlan) -> Option<u16> {
    match op.action {
        Action::Select(range) if op.schema == plan.home && op.pause_us == 0 => Some(range.blocks),
        _ => None,
    }
}

/// Writes operations in their form; `due_us` tells when the one at an index is due, in microseconds after the call, where
/// the form asks for it.
///
/// # Errors
/// If the session was not opened for one of them.
pub(super) fn pack(
    ops: &[Op],
    form: Form,
    plan: &SessionPlan,
    due_us: impl Fn(usize) -> u64,
) -> Result<Vec<u8>, EngineError> {
    let op_bytes = if matches!(form, Form::Any | Form::Open) { OP_BYTES } else { SELECT_BYTES };
    let mut text = Vec::with_capacity((ops.len() + 1) * op_bytes);
    if matches!(form, Form::Stretch(_)) {
        text.extend_from_slice(b"[null");
    }
    for (index, op) in ops.iter().enumerate() {
        let (kind, hot) = classify(op, plan)?;
        // Writing into memory does not fail.
        let _ = match form {
            Form::Selects(_) => write!(text, "{:0SELECT_BYTES$}", first_key(op)),
            Form::Stretch(_) => write!(text, ",{}", first_key(op)),
            Form::Any => pack_any(&mut text, op, kind.number(hot), op.pause_us.into()),
            Form::Open => pack_any(&mut text, op, kind.number(hot), due_us(index)),
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
    // Two hours are as good as what does not fit.
    write!(text, "{kind}{:014}{blocks:05}{:010}", first_key(op), wait_us.min(9_999_999_999))?;
    text.write_all(&stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{KeyRange, RowContent, SchemaNo, Stamp};
    use slob_spec::RedoStress;
    use std::sync::Arc;

    fn plan() -> SessionPlan {
        let update_text = Arc::new(RowContent::new(1, false).update_text());
        SessionPlan {
            attempt: 0,
            number: 0,
            home: SchemaNo::new(2).unwrap(),
            hot_schema: true,
            scans: false,
            redo: Some(RedoStress::Lite),
            update_text,
        }
    }

    fn select(first: u64, blocks: u16) -> Op {
        Op { action: Action::Select(KeyRange { first, blocks }), schema: plan().home, pause_us: 0 }
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
    fn a_batch_is_stretches_and_what_lies_between() {
        use Form::{Any, Selects, Stretch};
        let (stretch, short) = ("s".repeat(SHORTEST), "s".repeat(SHORTEST - 1));
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
}
