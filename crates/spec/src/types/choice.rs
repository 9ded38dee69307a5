//! Parameters that have a few named values.

use std::num::NonZeroU32;

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

/// What becomes of a run when a session loses its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionLoss {
    /// The run ends as failed.
    Fail,
    /// The session connects again, to a server that answers, and goes on.
    Reconnect,
    /// The session ends, the others go on.
    Drop,
}

impl SessionLoss {
    /// The value of `TOLERATE_SESSION_LOSS` that means this.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Reconnect => "reconnect",
            Self::Drop => "drop",
        }
    }

    pub(crate) fn from_choice(choice: &str) -> Option<Self> {
        [Self::Fail, Self::Reconnect, Self::Drop].into_iter().find(|value| value.as_str() == choice)
    }
}

/// How the gaps between the intended starts of operations are distributed, in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalProcess {
    /// All gaps are the same.
    Steady,
    /// Gaps are exponential, as of many users who know nothing of each other.
    Poisson,
}

impl ArrivalProcess {
    /// The value of `ARRIVALS` that means this.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Poisson => "poisson",
        }
    }

    pub(crate) fn from_choice(choice: &str) -> Option<Self> {
        [Self::Steady, Self::Poisson].into_iter().find(|value| value.as_str() == choice)
    }
}

/// The rate of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Operations per second of all sessions together.
    pub per_second: NonZeroU32,
    /// How they arrive.
    pub process: ArrivalProcess,
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
