//! What came of a batch.

/// What came of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpOutcome {
    /// When it began, in nanoseconds after the batch was handed over; measured, or put together from durations
    /// and pauses where only those are known.
    pub start_ns: u64,
    /// How long the operation took, commit included, pause excluded, in nanoseconds.
    pub duration_ns: u64,
    /// Rows counted or changed.
    pub rows: u64,
}

/// What came of the operations of a batch that were carried out, in order. Its memory is reused: once it has held
/// a batch of some size, filling it again allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    ops: Vec<OpOutcome>,
}

impl Outcome {
    /// An outcome of no operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the operations, keeps the memory. Engines call this first.
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// Adds the next operation.
    #[inline]
    pub fn push(&mut self, op: OpOutcome) {
        self.ops.push(op);
    }

    /// Moves the starts of the operations from `first` on by `ns`: where a call's work lies within the call is known at its end.
    pub fn shift_from(&mut self, first: usize, ns: u64) {
        for op in &mut self.ops[first..] {
            op.start_ns += ns;
        }
    }

    /// The operations carried out: a prefix of the batch's.
    #[must_use]
    pub fn ops(&self) -> &[OpOutcome] {
        &self.ops
    }
}
