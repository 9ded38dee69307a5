//! What an observer saw.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, GroupLimits, GroupUse, ProcessIo};

/// A server that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Its first process, in the host's numbers.
    pub pid: u32,
    /// The name of that process.
    pub name: String,
    /// What it was known by, in words that follow 'found'.
    pub how: String,
    /// What carries the data.
    pub data: Option<Device>,
    /// What carries the log, if that is another device.
    pub log: Option<Device>,
    /// Where the data are to be reached on the host itself.
    pub path: Option<PathBuf>,
    /// What the file system of the data can still take, in bytes.
    #[serde(default)]
    pub free_bytes: Option<u64>,
    /// What its control group may use, if it is in one.
    pub limits: Option<GroupLimits>,
    /// CPUs that it may run on.
    pub cpus_allowed: Option<u32>,
    /// What is not seen of it, a sentence each.
    pub lacking: Vec<String>,
}

/// A host and its servers at one moment. All figures only ever grow, since the boot or since the server was found; what can't be
/// seen is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sight {
    /// When, by the host's own clock that is never set, in seconds.
    pub at_s: f64,
    /// CPU time of the host by mode.
    pub cpu: Option<CpuTimes>,
    /// CPU time, in seconds, of others than the servers and the asker, from edge to edge.
    pub others_cpu_s: Option<f64>,
    /// Memory that could be had without swapping, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Each server that was looked for, in that order; `None` if it is not there.
    pub servers: Vec<Option<ServerSight>>,
}

/// A server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSight {
    /// Its processes.
    pub processes: u32,
    /// How often it was found: after a restart it is another process.
    pub found: u32,
    /// Its figures since then, or since the boot.
    #[serde(flatten)]
    pub figures: ServerFigures,
}

/// What a server, its devices and its control group did: until a moment as in a [`Sight`], or in an interval as in
/// [`Between`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFigures {
    /// CPU time of its processes.
    pub cpu: Option<CpuSplit>,
    /// That of the processes which serve sessions, where there is one for each: those that were not there when it was found.
    pub sessions_cpu: Option<CpuSplit>,
    /// I/O of its processes, from edge to edge.
    pub io: Option<ProcessIo>,
    /// The device behind the data.
    pub data: Option<DeviceCounters>,
    /// The device behind the log, if that is another one.
    pub log: Option<DeviceCounters>,
    /// Its control group.
    pub group: Option<GroupUse>,
}

/// What came to be between two sights of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Between {
    /// The time between them by the host's own clock.
    pub seconds: f64,
    /// CPU time of the host by mode.
    pub cpu: Option<CpuTimes>,
    /// CPU time of others, in seconds.
    pub others_cpu_s: Option<f64>,
    /// Each server, as in [`Sight::servers`].
    pub servers: Vec<Option<ServerFigures>>,
}

impl Sight {
    /// What came to be since an earlier sight of the same host. `same_observer` says whether it is that of the same observer: what
    /// one adds up itself means nothing to the next. `None` if no time has passed.
    #[must_use]
    pub fn since(&self, earlier: &Self, same_observer: bool) -> Option<Between> {
        let seconds = Some(self.at_s - earlier.at_s).filter(|seconds| *seconds > 0.0)?;
        let others = self.others_cpu_s.zip(earlier.others_cpu_s).filter(|_| same_observer);
        let server = |(number, now): (usize, &Option<ServerSight>)| {
            Some(now.as_ref()?.since(earlier.servers.get(number)?.as_ref()?, same_observer))
        };
        Some(Between {
            seconds,
            cpu: self.cpu.zip(earlier.cpu).map(|(later, earlier)| later.since(&earlier)),
            others_cpu_s: others.map(|(later, earlier)| later - earlier).filter(|seconds| *seconds >= 0.0),
            servers: self.servers.iter().enumerate().map(server).collect(),
        })
    }
}

impl ServerSight {
    fn since(&self, earlier: &Self, same_observer: bool) -> ServerFigures {
        let ServerFigures { cpu, sessions_cpu, io, data, log, group } = &self.figures;
        let before = &earlier.figures;
        let same_group = self.found == earlier.found;
        ServerFigures {
            cpu: both(cpu, &before.cpu, same_observer, CpuSplit::since),
            sessions_cpu: both(sessions_cpu, &before.sessions_cpu, same_observer, CpuSplit::since),
            io: both(io, &before.io, same_observer, ProcessIo::since),
            data: both(data, &before.data, true, DeviceCounters::since).flatten(),
            log: both(log, &before.log, true, DeviceCounters::since).flatten(),
            group: both(group, &before.group, same_group, GroupUse::since),
        }
    }
}

/// The interval between two figures, if both are known and `comparable`.
fn both<T, R>(
    later: &Option<T>,
    earlier: &Option<T>,
    comparable: bool,
    since: impl Fn(&T, &T) -> R,
) -> Option<R> {
    later.as_ref().zip(earlier.as_ref()).filter(|_| comparable).map(|(later, earlier)| since(later, earlier))
}
