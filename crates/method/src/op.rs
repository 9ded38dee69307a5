//! The operations of a plan.

use std::fmt;

use crate::schema_no::SchemaNo;
use crate::stamp::Stamp;

/// Consecutive keys: `first..first + blocks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lowest key.
    pub first: u64,
    /// How many keys, hence how many blocks.
    pub blocks: u16,
}

impl KeyRange {
    /// The key after the last one.
    #[must_use]
    pub fn end(self) -> u64 {
        self.first + u64::from(self.blocks)
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Counts c2 over a range of keys of the main table.
    Select(KeyRange),
    /// Changes a range of keys and commits.
    Update(KeyRange, Stamp),
    /// Counts c2 over the whole scan table.
    Scan,
}

/// One operation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub action: Action,
    /// In which schema.
    pub schema: SchemaNo,
    /// How long to pause afterwards, in microseconds; 0 for no pause.
    pub pause_us: u32,
}

impl Op {
    /// The rows that the operation must see or change; a scan's depend on the load.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        match self.action {
            Action::Select(range) | Action::Update(range, _) => Some(u64::from(range.blocks)),
            Action::Scan => None,
        }
    }
}

/// In words, as for an error: 'UPDATE of keys 24889 to 24952 in schema 1'.
impl fmt::Display for Op {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_words() {
        let op = |action| Op { action, schema: SchemaNo::FIRST, pause_us: 0 };
        let range = |blocks| KeyRange { first: 24_889, blocks };
        let update = Action::Update(range(64), Stamp::new(1, 1, 1));
        assert_eq!(op(update).to_string(), "UPDATE of keys 24889 to 24952 in schema 1");
        assert_eq!(op(Action::Select(range(1))).to_string(), "SELECT of key 24889 in schema 1");
        assert_eq!(op(Action::Scan).to_string(), "full scan in schema 1");
    }
}
