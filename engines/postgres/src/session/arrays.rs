//! A batch as the arrays that the procedure takes.

use slob_engine::{EngineError, SessionPlan};
use slob_method::{Action, Batch};

use super::classify;
use crate::procedure::Kind;

/// The arrays, in memory that is used again for the next batch.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    pub(super) kinds: Vec<i16>,
    pub(super) firsts: Vec<i64>,
    pub(super) ends: Vec<i64>,
    /// Empty where no operation is an UPDATE.
    pub(super) stamps: Vec<i64>,
    /// Pauses in microseconds, or, in an open loop, how long after the first moment each operation is due, with a
    /// minus sign. Empty where no operation pauses.
    pub(super) pauses: Vec<i32>,
}

impl Arrays {
    /// Takes over a batch.
    ///
    /// # Errors
    /// If the session was not opened for one of its operations.
    pub(super) fn fill(&mut self, batch: &Batch, plan: &SessionPlan) -> Result<(), EngineError> {
        let ops = batch.ops();
        self.kinds.clear();
        self.firsts.clear();
        self.ends.clear();
        self.stamps.clear();
        self.pauses.clear();
        for op in ops {
            let (kind, hot) = classify(op, plan)?;
            self.kinds.push(kind as i16 + if hot { Kind::HOT } else { 0 });
            let (first, end) = match op.action {
                Action::Select(range) | Action::Update(range, _) => (range.first, range.end()),
                Action::Scan => (0, 0),
            };
            self.firsts.push(first.cast_signed());
            self.ends.push(end.cast_signed());
        }
        if ops.iter().any(|op| matches!(op.action, Action::Update(..))) {
            self.stamps.extend(ops.iter().map(|op| match op.action {
                Action::Update(_, stamp) => stamp.number().cast_signed(),
                Action::Select(_) | Action::Scan => 0,
            }));
        }
        if batch.dues_ns().is_some() {
            let due = |index| batch.not_before(index).map_or(0, |wait| wait.as_micros());
            // One that is late already is told apart from one without a time by its minus sign.
            let wait = |index| -i32::try_from(due(index).max(1)).unwrap_or(i32::MAX);
            self.pauses.extend((0..ops.len()).map(wait));
        } else if ops.iter().any(|op| op.pause_us > 0) {
            // A pause of more than half an hour is as good as that.
            self.pauses.extend(ops.iter().map(|op| i32::try_from(op.pause_us).unwrap_or(i32::MAX)));
        }
        Ok(())
    }
}
