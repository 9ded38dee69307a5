//! A batch as the arrays that the procedure takes.

use slob_engine::{EngineError, SessionPlan};
use slob_method::{Action, Batch};
use slob_server::{classify, whole_microseconds};

use super::stretches::fill_bounds;

/// The arrays, in memory that is used again for the next batch.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    pub(super) kinds: Vec<i16>,
    pub(super) firsts: Vec<i64>,
    pub(super) ends: Vec<i64>,
    /// Empty where no operation is an UPDATE.
    pub(super) stamps: Vec<i64>,
    /// In microseconds. Empty where no operation pauses.
    pub(super) pauses: Vec<i64>,
    /// How long after the first moment each operation is due, in microseconds. Empty in a closed loop.
    pub(super) dues: Vec<i64>,
    /// The last operations, from 1, of the pieces that are executed one by one and as one statement in turns.
    pub(super) bounds: Vec<i32>,
}

impl Arrays {
    /// Takes over a batch; `joined` says whether SELECTs that follow each other are to be one statement.
    ///
    /// # Errors
    /// If the session was not opened for one of its operations.
    pub(super) fn fill(
        &mut self,
        batch: &Batch,
        plan: &SessionPlan,
        joined: bool,
    ) -> Result<(), EngineError> {
        let ops = batch.ops();
        self.kinds.clear();
        self.firsts.clear();
        self.ends.clear();
        self.stamps.clear();
        self.pauses.clear();
        self.dues.clear();
        for op in ops {
            let (kind, hot) = classify(op, plan)?;
            self.kinds.push(kind.number(hot).into());
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
        if ops.iter().any(|op| op.pause_us > 0) {
            self.pauses.extend(ops.iter().map(|op| i64::from(op.pause_us)));
        }
        let dues = (0..ops.len()).map_while(|index| batch.not_before(index));
        self.dues.extend(dues.map(|wait| whole_microseconds(wait).cast_signed()));
        fill_bounds(batch, joined, &mut self.bounds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{KeyRange, Op, RowContent, SchemaNo};
    use std::sync::Arc;

    fn plan() -> SessionPlan {
        SessionPlan {
            attempt: 0,
            number: 0,
            home: SchemaNo::FIRST,
            hot_schema: false,
            scans: false,
            redo: None,
            update_text: Arc::new(RowContent::new(1, false).update_text()),
        }
    }

    fn pausing(pause_us: u32) -> Op {
        let action = Action::Select(KeyRange { first: 7, blocks: 3 });
        Op { action, schema: SchemaNo::FIRST, pause_us }
    }

    #[test]
    fn the_longest_pause_is_carried_whole() {
        let mut arrays = Arrays::default();
        arrays.fill(&Batch::from(vec![pausing(0), pausing(u32::MAX)]), &plan(), true).unwrap();
        assert_eq!((arrays.pauses.as_slice(), arrays.dues.as_slice()), (&[0, 4_294_967_295][..], &[][..]));
        arrays.fill(&Batch::from(vec![pausing(0); 2]), &plan(), true).unwrap();
        assert!(arrays.pauses.is_empty() && arrays.stamps.is_empty());
    }

    #[test]
    fn what_is_due_is_due_after_the_batch_was_handed_over() {
        let mut arrays = Arrays::default();
        let dues_ns = [900, 1_001, 7_200_000_001_000];
        let mut batch = Batch::due(dues_ns.map(|due_ns| (pausing(0), due_ns)));
        batch.hand_over(1_000);
        arrays.fill(&batch, &plan(), true).unwrap();
        assert_eq!((arrays.pauses.as_slice(), arrays.dues.as_slice()), (&[][..], &[0, 1, 7_200_000_000][..]));
    }
}
