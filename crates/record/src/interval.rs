//! What happened in one interval of a run's series.

use serde::{Deserialize, Serialize};
use slob_host::{CpuSplit, CpuTimes, DeviceUse};
use slob_measure::OpCounts;
use slob_stats::{Histogram, Merge};

/// One interval of the series. What was not sampled is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Operations that ended in the interval.
    #[serde(default)]
    pub ops: OpCounts,
    /// Their rows.
    #[serde(default)]
    pub rows: u64,
    /// Durations of these operations, all kinds together.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latency: Histogram,
    /// In an open loop, their response times: from the intended start to the end.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    /// Physical reads, from the database's counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_reads: Option<u64>,
    /// Logical reads, from the database's counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_reads: Option<u64>,
    /// Log bytes, from the database's counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo_bytes: Option<u64>,
    /// Seconds between the two samples that the sampled figures of this interval lie between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_s: Option<f64>,
    /// The same by the clock of the database's host, which the figures of the host are to be divided by. Absent where none was seen,
    /// and in records of releases that looked at this program's host alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_s: Option<f64>,
    /// CPU time of the whole host by mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<CpuTimes>,
    /// CPU time of the database's processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_cpu: Option<CpuSplit>,
    /// What the block device did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
}

/// A sample lies in one interval only: what was not sampled in one of both is that of the other.
impl Merge for Interval {
    fn merge(&mut self, later: &Self) {
        self.ops.merge(&later.ops);
        self.rows.merge(&later.rows);
        self.latency.merge(&later.latency);
        self.response.merge(&later.response);
        self.physical_reads.merge(&later.physical_reads);
        self.logical_reads.merge(&later.logical_reads);
        self.redo_bytes.merge(&later.redo_bytes);
        self.sampled_s.merge(&later.sampled_s);
        self.observed_s.merge(&later.observed_s);
        self.host_cpu.merge(&later.host_cpu);
        self.db_cpu.merge(&later.db_cpu);
        self.device.merge(&later.device);
    }
}
