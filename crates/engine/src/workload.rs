//! What everybody does to a server, for whoever wants to know what a test should be like.

use slob_measure::Counters;

/// The cumulative counters of a whole server, whoever was at work.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// What it counts, of all its databases and sessions.
    pub counters: Counters,
    /// Seconds since it was started, where it tells.
    pub uptime_s: Option<u64>,
    /// Product and version.
    pub version: Option<String>,
    /// Bytes of a block.
    pub block_bytes: Option<u32>,
}
