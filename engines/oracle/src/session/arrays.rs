//! Operations as the arrays that the block takes.

use std::time::Duration;

use slob_engine::{EngineError, SessionPlan};
use slob_method::{Action, Op};
use slob_server::classify;

use crate::client::Arrays;

/// The arrays for some operations. `left` is how long they may begin; with `paused` their pauses go too.
///
/// # Errors
/// If the session was not opened for one of them.
pub(super) fn fill(
    ops: &[Op],
    plan: &SessionPlan,
    left: Option<Duration>,
    paused: bool,
) -> Result<Arrays, EngineError> {
    let mut arrays = Arrays {
        run_us: left.map(|left| i64::try_from(left.as_micros()).unwrap_or(i64::MAX)),
        ..Arrays::default()
    };
    for op in ops {
        let (kind, hot) = classify(op, plan)?;
        arrays.kinds.push(kind.number(hot).into());
        let (first, end) = match op.action {
            Action::Select(range) | Action::Update(range, _) => (range.first, range.end()),
            Action::Scan => (0, 0),
        };
        arrays.firsts.push(key(first));
        arrays.ends.push(key(end));
    }
    if plan.redo.is_some() {
        let stamp = |op: &Op| match op.action {
            Action::Update(_, stamp) => String::from_utf8_lossy(&stamp.hex()).into_owned(),
            Action::Select(_) | Action::Scan => String::new(),
        };
        arrays.stamps = Some(ops.iter().map(stamp).collect());
    }
    if paused {
        arrays.pauses = Some(ops.iter().map(|op| i64::from(op.pause_us)).collect());
    }
    Ok(arrays)
}

fn key(key: u64) -> i64 {
    i64::try_from(key).unwrap_or(i64::MAX)
}
