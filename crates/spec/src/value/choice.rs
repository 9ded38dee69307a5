//! Parameters that have a few named values.

use serde::Serialize;

/// How much of a row one UPDATE changes, hence how much redo it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RedoStress {
    /// Two columns of 128 characters: c2 and c20.
    Lite,
    /// All nineteen columns, c2 to c20.
    Heavy,
}

impl RedoStress {
    /// The value of `REDO_STRESS` that means this.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lite => "LITE",
            Self::Heavy => "HEAVY",
        }
    }

    pub(crate) fn from_choice(choice: &str) -> Option<Self> {
        [Self::Lite, Self::Heavy].into_iter().find(|value| value.as_str() == choice)
    }
}

/// Which of the server's own statistics reports accompanies a run, on a server that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StatisticsType {
    /// Statspack snapshots; free of licence.
    Statspack,
    /// AWR snapshots, which need a licensed pack: never taken unless asked for.
    Awr,
}

impl StatisticsType {
    /// The value of `DATABASE_STATISTICS_TYPE` that means this.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Statspack => "statspack",
            Self::Awr => "awr",
        }
    }

    pub(crate) fn from_choice(choice: &str) -> Option<Self> {
        [Self::Statspack, Self::Awr].into_iter().find(|value| value.as_str() == choice)
    }
}
