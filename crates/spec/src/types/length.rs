//! How long a run lasts.

use std::time::Duration;

use serde::Serialize;

use super::seconds;

/// What ends the measured window of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// The window lasts this long, counted from the end of the warm-up.
    #[serde(rename = "time_s", serialize_with = "seconds::serialize")]
    Time(Duration),
    /// Every session does this many operations, at least one; there is no warm-up.
    Operations(u64),
}
