//! Operations of a plan, and the batches of engines.

use std::fmt;
use std::num::NonZeroU16;
use std::time::Duration;

use crate::stamp::Stamp;

/// The first number is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaNo(NonZeroU16);

impl SchemaNo {
    /// The hot schema.
    pub const FIRST: Self = Self(NonZeroU16::MIN);

    /// `None` for 0.
    pub fn new(number: u16) -> Option<Self> {
        NonZeroU16::new(number).map(Self)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0.get()
    }

    /// Numbers `1..=count`.
    pub fn up_to(count: u16) -> impl Iterator<Item = Self> + Clone {
        (1..=count).filter_map(Self::new)
    }
}

impl fmt::Display for SchemaNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Consecutive keys: `first..first + blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lowest key.
    pub first: u64,
    /// Keys, hence blocks.
    pub blocks: u16,
}

impl KeyRange {
    /// The key after the last one.
    pub fn end(self) -> u64 {
        self.first + u64::from(self.blocks)
    }
}

/// Work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Counts c2 over keys.
    Select(KeyRange),
    /// Changes keys, and commits if [`Op::commits`].
    Update(KeyRange, Stamp),
    /// Counts c2 over the scan table.
    Scan,
}

/// One operation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The work.
    pub action: Action,
    /// The schema.
    pub schema: SchemaNo,
    /// Microseconds; 0 is none.
    pub pause_us: u32,
    /// False if the transaction of an UPDATE goes on.
    pub commits: bool,
}

impl Op {
    /// `None` for a scan, whose rows depend on the load.
    pub fn rows(&self) -> Option<u64> {
        match self.action {
            Action::Select(range) | Action::Update(range, _) => Some(u64::from(range.blocks)),
            Action::Scan => None,
        }
    }
}

impl fmt::Display for Op {
    /// Errors say 'UPDATE of keys 24889 to 24952 in schema 1'.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.action {
            Action::Select(range) => write!(f, "SELECT of {range}"),
            Action::Update(range, _) => write!(f, "UPDATE of {range}"),
            Action::Scan => f.write_str("full scan"),
        }?;
        write!(f, " in schema {}", self.schema)
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.blocks {
            1 => write!(f, "key {}", self.first),
            _ => write!(f, "keys {} to {}", self.first, self.end() - 1),
        }
    }
}

/// Operations for one call, in order. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    ops: Vec<Op>,
    /// Nanoseconds after the start of the run; empty in a closed loop.
    dues_ns: Vec<u64>,
    done: usize,
    handed_over_ns: u64,
}

impl Batch {
    /// Has memory for `capacity` operations.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { ops: Vec::with_capacity(capacity), ..Self::default() }
    }

    /// Due times are nanoseconds after the start of the run.
    pub fn due(ops: impl IntoIterator<Item = (Op, u64)>) -> Self {
        let (ops, dues_ns) = ops.into_iter().unzip();
        Self { ops, dues_ns, ..Self::default() }
    }

    /// Operations still to execute.
    pub fn ops(&self) -> &[Op] {
        &self.ops[self.done..]
    }

    /// Due times of [`Batch::ops`] in nanoseconds after the start of the run; `None` in a closed loop.
    pub fn dues_ns(&self) -> Option<&[u64]> {
        (!self.dues_ns.is_empty()).then(|| &self.dues_ns[self.done..])
    }

    /// The engine gets the batch at `ns` after the start of the run.
    pub fn hand_over(&mut self, ns: u64) {
        self.handed_over_ns = ns;
    }

    /// Wait from [`Batch::hand_over`] until the operation is due; `None` in a closed loop.
    pub fn not_before(&self, index: usize) -> Option<Duration> {
        let due_ns = self.dues_ns()?.get(index)?;
        Some(Duration::from_nanos(due_ns.saturating_sub(self.handed_over_ns)))
    }

    /// Removes `count` operations as done. An interrupted batch goes on with the rest.
    pub fn advance(&mut self, count: usize) {
        self.done = self.ops.len().min(self.done + count);
    }

    /// Sets the think time after the last operation, in microseconds, and returns what it was.
    pub fn replace_last_pause(&mut self, pause_us: u32) -> u32 {
        self.ops.last_mut().map_or(0, |last| std::mem::replace(&mut last.pause_us, pause_us))
    }

    /// Think time of the operations still to execute.
    pub fn pauses(&self) -> Duration {
        Duration::from_micros(self.ops().iter().map(|op| u64::from(op.pause_us)).sum())
    }

    /// Number of `done` operations that a rollback keeps.
    pub fn committed(&self, done: usize) -> usize {
        let done = &self.ops()[..done.min(self.ops().len())];
        done.iter().rposition(|op| op.commits).map_or(0, |last| last + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_words() {
        let op = |action| Op { action, schema: SchemaNo::FIRST, pause_us: 0, commits: true };
        let range = |blocks| KeyRange { first: 24_889, blocks };
        let update = Action::Update(range(64), Stamp::new(1, 1, 1));
        assert_eq!(op(update).to_string(), "UPDATE of keys 24889 to 24952 in schema 1");
        assert_eq!(op(Action::Select(range(1))).to_string(), "SELECT of key 24889 in schema 1");
        assert_eq!(op(Action::Scan).to_string(), "full scan in schema 1");
    }
}
