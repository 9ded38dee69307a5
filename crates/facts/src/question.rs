//! What is asked of each run, and how an answer is graded.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Did the physical reads reach the device?
    Physical,
    /// Do independent counters agree?
    Accounted,
    /// Was the CPU the limit instead of the storage?
    CpuBound,
    /// Was the load even over the window, and alone on the host?
    Steady,
    /// Did everything run as planned, on sound data?
    Complete,
}

impl Question {
    pub const ALL: [Self; 5] =
        [Self::Physical, Self::Accounted, Self::CpuBound, Self::Steady, Self::Complete];

    pub fn title(self) -> &'static str {
        match self {
            Self::Physical => "Physical?",
            Self::Accounted => "Accounted?",
            Self::CpuBound => "CPU-bound?",
            Self::Steady => "Steady?",
            Self::Complete => "Complete?",
        }
    }
}

/// The meaning of a verdict for the run's figures, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Grade {
    /// They can be relied on.
    Good,
    /// The deciding quantities were not measured.
    Unknown,
    /// They need a second look.
    Doubt,
    /// They do not show what they seem to show.
    Bad,
}

impl Grade {
    pub fn word(self) -> &'static str {
        self.into()
    }
}
