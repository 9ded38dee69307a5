//! What happened in one interval of a run's series.

use serde::{Deserialize, Serialize};
use slob_stats::{Histogram, Merge};

/// Operations completed, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// SELECTs.
    pub selects: u64,
    /// UPDATEs with their commits.
    pub updates: u64,
    /// Short scans.
    pub scans: u64,
}

impl OpCounts {
    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.selects.saturating_add(self.updates).saturating_add(self.scans)
    }
}

/// CPU time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSplit {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuSplit {
    /// User and system together.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// What a block device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time spent on these reads, in milliseconds, summed over requests.
    pub read_time_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time spent on these writes, in milliseconds, summed over requests.
    pub write_time_ms: u64,
    /// Time during which at least one request was in flight, in milliseconds.
    pub busy_ms: u64,
    /// Requests in flight times the time they were, in milliseconds: divided by the elapsed time it is the mean
    /// queue length.
    pub weighted_ms: u64,
}

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
    /// CPU time of the whole host by mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<slob_host::CpuTimes>,
    /// CPU time of the database's processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_cpu: Option<CpuSplit>,
    /// What the block device did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
}

impl Merge for Interval {
    fn merge(&mut self, later: &Self) {
        self.ops.selects = self.ops.selects.saturating_add(later.ops.selects);
        self.ops.updates = self.ops.updates.saturating_add(later.ops.updates);
        self.ops.scans = self.ops.scans.saturating_add(later.ops.scans);
        self.rows = self.rows.saturating_add(later.rows);
        self.latency.merge(&later.latency);
        self.response.merge(&later.response);
        merge_option(&mut self.physical_reads, &later.physical_reads, |a, b| *a = a.saturating_add(*b));
        merge_option(&mut self.logical_reads, &later.logical_reads, |a, b| *a = a.saturating_add(*b));
        merge_option(&mut self.redo_bytes, &later.redo_bytes, |a, b| *a = a.saturating_add(*b));
        merge_option(&mut self.sampled_s, &later.sampled_s, |a, b| *a += b);
        merge_option(&mut self.db_cpu, &later.db_cpu, |a, b| {
            a.user_s += b.user_s;
            a.system_s += b.system_s;
        });
        merge_option(&mut self.host_cpu, &later.host_cpu, add_host_cpu);
        merge_option(&mut self.device, &later.device, add_device);
    }
}

/// Adds what is known on both sides, keeps what is known on one: a sample lies in one interval only.
fn merge_option<T: Clone>(into: &mut Option<T>, from: &Option<T>, add: impl FnOnce(&mut T, &T)) {
    match (into.as_mut(), from) {
        (Some(a), Some(b)) => add(a, b),
        (None, Some(b)) => *into = Some(b.clone()),
        (_, None) => {}
    }
}

fn add_host_cpu(a: &mut slob_host::CpuTimes, b: &slob_host::CpuTimes) {
    a.user_s += b.user_s;
    a.nice_s += b.nice_s;
    a.system_s += b.system_s;
    a.idle_s += b.idle_s;
    a.iowait_s += b.iowait_s;
    a.irq_s += b.irq_s;
    a.softirq_s += b.softirq_s;
    a.steal_s += b.steal_s;
}

fn add_device(a: &mut DeviceUse, b: &DeviceUse) {
    a.reads = a.reads.saturating_add(b.reads);
    a.read_bytes = a.read_bytes.saturating_add(b.read_bytes);
    a.read_time_ms = a.read_time_ms.saturating_add(b.read_time_ms);
    a.writes = a.writes.saturating_add(b.writes);
    a.write_bytes = a.write_bytes.saturating_add(b.write_bytes);
    a.write_time_ms = a.write_time_ms.saturating_add(b.write_time_ms);
    a.busy_ms = a.busy_ms.saturating_add(b.busy_ms);
    a.weighted_ms = a.weighted_ms.saturating_add(b.weighted_ms);
}
