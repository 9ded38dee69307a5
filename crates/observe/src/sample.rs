//! Samples of a host and its servers, and intervals between them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, GroupLimits, GroupUse, ProcessIo};
use slob_measure::KernelTrace;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundServer {
    pub pid: u32,
    pub name: String,
    /// The words follow 'found'.
    pub how: String,
    pub data: Option<Device>,
    /// `None` if it is that of the data.
    pub log: Option<Device>,
    pub path: Option<PathBuf>,
    pub free_bytes: Option<u64>,
    pub limits: Option<GroupLimits>,
    pub cpus_allowed: Option<u32>,
    /// Sentences on facts that this account can't read, with advice.
    pub lacking: Vec<String>,
}

/// Figures grow from boot, or from the moment when the server was found. Unreadable ones are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// The host's monotonic clock since boot.
    pub at_s: f64,
    pub cpu: Option<CpuTimes>,
    /// Servers and client are excluded. It grows at edges only.
    pub others_cpu_s: Option<f64>,
    pub load_1m: Option<f64>,
    pub memory_available_bytes: Option<u64>,
    /// Edges have it, once the trace has begun.
    pub trace: Option<KernelTrace>,
    /// The order is that of the searches; `None` if one is not running.
    pub servers: Vec<Option<ServerSample>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSample {
    pub processes: u32,
    /// A restart makes it another process.
    pub found: u32,
    #[serde(flatten)]
    pub figures: ServerFigures,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFigures {
    pub cpu: Option<CpuSplit>,
    /// These processes started after the server was found.
    pub sessions_cpu: Option<CpuSplit>,
    /// It grows at edges only.
    pub io: Option<ProcessIo>,
    pub data: Option<DeviceCounters>,
    pub log: Option<DeviceCounters>,
    pub group: Option<GroupUse>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostInterval {
    /// The host's own clock.
    pub seconds: f64,
    pub cpu: Option<CpuTimes>,
    pub others_cpu_s: Option<f64>,
    pub load_1m: Option<f64>,
    pub trace: Option<KernelTrace>,
    /// The order is that of [`HostSample::servers`].
    pub servers: Vec<Option<ServerFigures>>,
}

impl HostSample {
    /// `None` if no time has passed.
    ///
    /// Another observer starts its own sums, so those need `same_observer`.
    pub fn since(&self, earlier: &Self, same_observer: bool) -> Option<HostInterval> {
        let seconds = Some(self.at_s - earlier.at_s).filter(|seconds| *seconds > 0.0)?;
        let others = self.others_cpu_s.zip(earlier.others_cpu_s).filter(|_| same_observer);
        let server = |(number, now): (usize, &Option<ServerSample>)| {
            Some(now.as_ref()?.since(earlier.servers.get(number)?.as_ref()?, same_observer))
        };
        Some(HostInterval {
            seconds,
            cpu: self.cpu.zip(earlier.cpu).map(|(later, earlier)| later.since(&earlier)),
            others_cpu_s: others.map(|(later, earlier)| later - earlier).filter(|seconds| *seconds >= 0.0),
            load_1m: self.load_1m,
            trace: both(&self.trace, &earlier.trace, KernelTrace::since).filter(|_| same_observer),
            servers: self.servers.iter().enumerate().map(server).collect(),
        })
    }

    pub(crate) fn is_plausible(&self) -> bool {
        /// A hundred years.
        const LONGEST_S: f64 = 100.0 * 365.25 * 86_400.0;
        // The largest hosts have fewer CPUs.
        let is_cpu_time = |seconds: f64| (0.0..=LONGEST_S * 1e5).contains(&seconds);
        let of_servers = self.servers.iter().flatten().flat_map(|server| {
            let ServerFigures { cpu, sessions_cpu, group, .. } = &server.figures;
            let cpus = cpu.iter().chain(sessions_cpu).flat_map(|cpu| [cpu.user_s, cpu.system_s]);
            cpus.chain(group.iter().flat_map(|group| [group.cpu_s, group.throttled_s]).flatten())
        });
        let of_host = self.cpu.iter().flat_map(CpuTimes::modes).chain(self.others_cpu_s);
        // Each task in the load has its memory.
        let is_load = self.load_1m.is_none_or(|load| (0.0..=1e7).contains(&load));
        is_load && (0.0..=LONGEST_S).contains(&self.at_s) && of_host.chain(of_servers).all(is_cpu_time)
    }
}

impl ServerSample {
    fn since(&self, earlier: &Self, same_observer: bool) -> ServerFigures {
        let ServerFigures { cpu, sessions_cpu, io, data, log, group } = &self.figures;
        let before = &earlier.figures;
        ServerFigures {
            cpu: both(cpu, &before.cpu, CpuSplit::since).filter(|_| same_observer),
            sessions_cpu: both(sessions_cpu, &before.sessions_cpu, CpuSplit::since).filter(|_| same_observer),
            io: both(io, &before.io, ProcessIo::since).filter(|_| same_observer),
            data: both(data, &before.data, DeviceCounters::since).flatten(),
            log: both(log, &before.log, DeviceCounters::since).flatten(),
            group: both(group, &before.group, GroupUse::since).filter(|_| self.found == earlier.found),
        }
    }
}

fn both<T, R>(later: &Option<T>, earlier: &Option<T>, since: impl Fn(&T, &T) -> R) -> Option<R> {
    Some(since(later.as_ref()?, earlier.as_ref()?))
}
