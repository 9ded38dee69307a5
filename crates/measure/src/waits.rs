//! What the sessions of a database waited for.

use serde::{Deserialize, Serialize};

/// A wait event of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitEvent {
    /// The database's own name.
    pub name: String,
    /// The database's own class.
    pub class: String,
    /// How often, if it is counted.
    pub waits: Option<u64>,
    /// For how long altogether, in microseconds.
    pub time_us: u64,
    /// Whether it is one of the server's own processes, on nobody's time but theirs: no part of DB time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

impl WaitEvent {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.class == other.class && self.background == other.background
    }

    /// `None` if nothing was waited for, or the event went backwards.
    pub(crate) fn since(&self, earlier: &[Self]) -> Option<Self> {
        let (waits, time_us) = earlier
            .iter()
            .find(|event| event.is_same(self))
            .map_or((Some(0), 0), |event| (event.waits, event.time_us));
        let delta = Self {
            waits: self.waits.and_then(|count| count.checked_sub(waits?)),
            time_us: self.time_us.checked_sub(time_us)?,
            ..self.clone()
        };
        (delta.time_us > 0 || delta.waits.is_some_and(|waits| waits > 0)).then_some(delta)
    }

    /// Adds the same event of another server.
    pub(crate) fn add(&mut self, other: &Self) {
        self.time_us += other.time_us;
        self.waits = self.waits.zip(other.waits).map(|(ours, theirs)| ours + theirs);
    }
}

/// How many waits there were and how long they took altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTotal {
    /// How many.
    pub waits: u64,
    /// For how long altogether, in microseconds.
    pub time_us: u64,
}

impl WaitTotal {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            waits: self.waits.saturating_sub(earlier.waits),
            time_us: self.time_us.saturating_sub(earlier.time_us),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { waits: self.waits + other.waits, time_us: self.time_us + other.time_us }
    }
}
