//! Operations as the text that the block takes: so many characters for each, in decimal numbers.
//!
//! | characters | what |
//! | --- | --- |
//! | 1 | the kind of the operation |
//! | 15 | its first key |
//! | 4 | how many keys |
//! | 10 | the pause after it, in microseconds |
//!
//! Stamps are a text of their own, 16 hexadecimal digits for each operation, blanks where it is no UPDATE.

use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, SessionPlan};
use slob_method::{Action, Op};
use slob_server::classify;

use crate::client::Work;

/// Characters of an operation, and of what a block answers of it.
pub(crate) const WIDTH: usize = 30;
/// Characters of a stamp.
const STAMP_WIDTH: usize = 16;
/// The first key after the last one that fits.
const KEYS_END: u64 = 1_000_000_000_000_000;
/// The number of keys after the largest one that fits.
const COUNT_END: u64 = 10_000;

/// The text for some operations. `left` is how long they may begin; `paused` if their pauses are kept by the block.
///
/// # Errors
/// If the session was not opened for one of them, or a key has more digits than there is room for.
pub(super) fn encode(ops: &[Op], plan: &SessionPlan, left: Option<Duration>) -> Result<Work, EngineError> {
    let mut text = String::with_capacity(ops.len() * WIDTH);
    for op in ops {
        let (kind, hot) = classify(op, plan)?;
        let (first, keys) = match op.action {
            Action::Select(range) | Action::Update(range, _) => (range.first, range.end() - range.first),
            Action::Scan => (0, 0),
        };
        if first >= KEYS_END || keys >= COUNT_END {
            let message = format!("{op} has more digits than a batch has room for");
            return Err(EngineError::new(ErrorKind::Usage, "writing down a batch", message));
        }
        text.push_str(&format!("{}{first:015}{keys:04}{:010}", kind.number(hot), op.pause_us));
    }
    let stamps = plan.redo.map(|_| ops.iter().map(stamp).collect());
    let run_us = left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX));
    Ok(Work { text, stamps, run_us })
}

fn stamp(op: &Op) -> String {
    match op.action {
        Action::Update(_, stamp) => String::from_utf8_lossy(&stamp.hex()).into_owned(),
        Action::Select(_) | Action::Scan => " ".repeat(STAMP_WIDTH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::plan;
    use crate::scripted::server::read_ops;
    use proptest::prelude::*;
    use slob_method::{KeyRange, SchemaNo, Stamp};
    use slob_spec::RedoStress;

    fn any_op() -> impl Strategy<Value = Op> {
        let action = (0..3_u8, 0..KEYS_END, 1..1025_u16, any::<(u64, u32, u64)>()).prop_map(
            |(kind, first, blocks, stamp)| {
                let range = KeyRange { first, blocks };
                match kind {
                    0 => Action::Select(range),
                    1 => Action::Update(range, Stamp::new(stamp.0, stamp.1, stamp.2)),
                    _ => Action::Scan,
                }
            },
        );
        (action, 1..3_u16, any::<u32>()).prop_map(|(action, schema, pause_us)| Op {
            action,
            schema: SchemaNo::new(schema).unwrap(),
            pause_us,
        })
    }

    proptest! {
        /// What the block reads, by the places that it reads at, is what was planned.
        #[test]
        fn every_operation_is_read_as_it_was_planned(ops in prop::collection::vec(any_op(), 0..200)) {
            let plan = plan(Some(RedoStress::Lite));
            let work = encode(&ops, &plan, None).unwrap();
            prop_assert_eq!(work.text.len(), ops.len() * WIDTH);
            prop_assert!(work.text.is_ascii());
            let read = read_ops(&work);
            prop_assert_eq!(read.len(), ops.len());
            for (op, read) in ops.iter().zip(read) {
                let (kind, hot) = classify(op, &plan).unwrap();
                let (first, end, stamp) = match op.action {
                    Action::Select(range) => (range.first, range.end(), " ".repeat(16)),
                    Action::Update(range, stamp) => {
                        (range.first, range.end(), String::from_utf8(stamp.hex().to_vec()).unwrap())
                    }
                    Action::Scan => (0, 0, " ".repeat(16)),
                };
                let number = i64::from(kind.number(hot));
                let numbers = [number, first as i64, end as i64, i64::from(op.pause_us)];
                prop_assert_eq!([read.kind, read.first, read.end, read.pause_us], numbers);
                prop_assert_eq!(read.stamp, Some(stamp));
            }
        }
    }

    #[test]
    fn a_key_that_does_not_fit_is_refused_and_not_cut_off() {
        let range = KeyRange { first: KEYS_END, blocks: 1 };
        let op = Op { action: Action::Select(range), schema: SchemaNo::FIRST, pause_us: 0 };
        let error = encode(&[op], &plan(None), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
    }
}
