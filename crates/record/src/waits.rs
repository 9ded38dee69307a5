//! What the database waited for.

use serde::{Deserialize, Serialize};

/// A wait event within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The database's name for it.
    pub name: String,
    /// The database's class for it.
    pub class: String,
    /// How often.
    pub waits: Option<u64>,
    /// For how long altogether, in microseconds.
    pub time_us: u64,
    /// Whether it is one of the server's own processes, and no part of DB time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// Waits that were counted and timed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTotal {
    /// How many.
    pub waits: u64,
    /// For how long altogether, in microseconds.
    pub time_us: u64,
}
