//! The operations that a session hands to its engine at once.

use std::time::Duration;

use crate::op::Op;

/// Operations in order; in an open loop each with the moment at which it is due. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    ops: Vec<Op>,
    /// As many as operations, or none: in nanoseconds after the start of the run.
    dues_ns: Vec<u64>,
    done: usize,
    handed_over_ns: u64,
}

impl Batch {
    /// An empty batch that will never have to grow for up to `capacity` operations.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { ops: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Operations that are due at moments of their own, in nanoseconds after the start of the run.
    #[must_use]
    pub fn due(ops: impl IntoIterator<Item = (Op, u64)>) -> Self {
        let (ops, dues_ns) = ops.into_iter().unzip();
        Self { ops, dues_ns, ..Self::default() }
    }

    /// The operations that are to be done, in order.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops[self.done..]
    }

    /// When each of [`Batch::ops`] is due, in nanoseconds after the start of the run; `None` in a closed loop, where
    /// one follows the other.
    #[must_use]
    pub fn dues_ns(&self) -> Option<&[u64]> {
        (!self.dues_ns.is_empty()).then(|| &self.dues_ns[self.done..])
    }

    /// Says when the batch is handed to the engine, in nanoseconds after the start of the run: what
    /// [`Batch::not_before`] is told from.
    pub fn hand_over(&mut self, ns: u64) {
        self.handed_over_ns = ns;
    }

    /// How long after the batch was handed over the operation at `index` of [`Batch::ops`] is due; zero when it is late
    /// already, `None` in a closed loop.
    #[must_use]
    pub fn not_before(&self, index: usize) -> Option<Duration> {
        let due_ns = self.dues_ns()?.get(index)?;
        Some(Duration::from_nanos(due_ns.saturating_sub(self.handed_over_ns)))
    }

    /// Takes the first `count` operations away as done: a batch that was cut short goes on with the rest, so that
    /// no operation of a plan is lost or done twice.
    pub fn advance(&mut self, count: usize) {
        self.done = self.ops.len().min(self.done + count);
    }

    /// The think time planned within this batch.
    #[must_use]
    pub fn pauses(&self) -> Duration {
        Duration::from_micros(self.ops().iter().map(|op| u64::from(op.pause_us)).sum())
    }

    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.dues_ns.clear();
        self.done = 0;
    }

    pub(crate) fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub(crate) fn push_due(&mut self, op: Op, due_ns: u64) {
        self.ops.push(op);
        self.dues_ns.push(due_ns);
    }
}

impl From<Vec<Op>> for Batch {
    fn from(ops: Vec<Op>) -> Self {
        Self { ops, ..Self::default() }
    }
}
