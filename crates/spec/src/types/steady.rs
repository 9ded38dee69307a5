//! When a run that is to become steady has done so.

use serde::Serialize;

/// A run ends when its last windows agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UntilSteady {
    /// Seconds of each window, at least 1.
    pub window_s: u64,
    /// Most by which their rates may differ, in percent of their mean: 1 to 50.
    pub tolerance_percent: u8,
}

impl UntilSteady {
    /// How many windows are compared. Two may agree while the rate turns around.
    pub const WINDOWS: u64 = 3;
}
