//! What happened in the course of a run.

use serde::{Deserialize, Serialize};

/// A time that a session was without its database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossRecord {
    /// The session.
    pub session: u32,
    /// The endpoint that it lost, as an index of [`Record::endpoints`](crate::Record::endpoints), or 0.
    pub endpoint: u32,
    /// When, in seconds after the start of the sessions.
    pub at_s: f64,
    /// The error that it ended with; what was under way failed.
    pub error: String,
    /// When it was connected again; absent if it never was.
    pub back_s: Option<f64>,
    /// Where, if it was.
    pub back_endpoint: Option<u32>,
    /// What the last attempt to connect again was answered that was refused, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A moment that somebody marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// When, in seconds after the start of the sessions; below 0 before it.
    pub at_s: f64,
    /// What was said.
    pub text: String,
}

/// What UNTIL_STEADY asked for, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UntilSteady {
    /// Whether the last windows agreed, which ended the run; if not, RUN_TIME or something else did.
    pub reached: bool,
    /// Most that the last windows may differ by, in percent of their mean.
    pub tolerance_percent: f64,
    /// Seconds of one of these windows.
    pub window_s: u64,
    /// Where the first of the last windows begins, in seconds after the start of the sessions; absent if the run was too
    /// short to hold as many as are compared.
    pub since_s: Option<u64>,
    /// Operations per second of each of the last windows; empty as `since_s` is absent.
    pub operations_per_s: Vec<f64>,
}
