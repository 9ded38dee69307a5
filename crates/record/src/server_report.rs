//! The server's own report of a run's window.

use serde::{Deserialize, Serialize};

/// What the server's own report is, where it lies, and how it compares with what was measured here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerReportRecord {
    /// Its kind, as DATABASE_STATISTICS_TYPE names it.
    pub kind: String,
    /// The server's numbers of the snapshots at both ends of the window.
    pub snapshots: [u64; 2],
    /// Files with the report in the run's folder; empty where only the server's own tools can make it.
    pub files: Vec<String>,
    /// Seconds between these snapshots, as the report has them; absent where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Figures of the run beside those of the report; empty where the report could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<ReportedPair>,
}

/// A figure as it was measured here, and as the server's report has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedPair {
    /// What it is, with its unit.
    pub what: String,
    /// As measured here.
    pub ours: f64,
    /// As reported.
    pub reported: f64,
}

impl ReportedPair {
    /// The report relative to what was measured here, in percent; `None` if that is 0.
    #[must_use]
    pub fn difference_percent(&self) -> Option<f64> {
        (self.ours != 0.0).then(|| 100.0 * (self.reported - self.ours) / self.ours)
    }
}
