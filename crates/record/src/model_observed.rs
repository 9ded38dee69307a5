//! The hosts of the database, and how they were seen.

use serde::{Deserialize, Serialize};
use slob_host::{CpuSplit, CpuTimes, GroupLimits, GroupUse, ProcessIo};

use crate::model::DeviceRecord;

/// A server on its host, within the window. What is that of all servers together stands elsewhere in the record, and here only
/// where there are several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedRecord {
    /// The endpoint's name; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// How it was to be seen, as OBSERVE has it.
    pub by: String,
    /// The name of its host; absent where that could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The server's first process, in the host's numbers; absent where it was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// What it was known by, or what was lacking.
    pub found: String,
    /// The window by the host's own clock, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The longer of both round trips at the window's edges, in seconds: the host was looked at within them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_s: Option<f64>,
    /// CPUs that the server may use: the least of its host's, its affinity's and its control group's quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// What its control group may use; absent where it is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<GroupLimits>,
    /// What its control group used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupUse>,
    /// Memory of its host that could be had at the end without swapping, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// CPU time of its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuSplit>,
    /// I/O of its processes, where there are several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<ProcessIo>,
    /// CPU time of its host, where there are several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<CpuTimes>,
    /// CPUs of its host, where there are several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_cpus: Option<u32>,
    /// The device behind its data, where there are several servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceRecord>,
    /// The device behind its log, where that is not the one behind its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_device: Option<DeviceRecord>,
}

/// This program's own host within the window, where it is none of the database's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientHostRecord {
    /// Its name.
    pub hostname: String,
    /// Its CPUs.
    pub cpus_online: Option<u32>,
    /// Its CPU time by mode.
    pub cpu: Option<CpuTimes>,
}
