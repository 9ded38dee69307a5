//! The place of a target's data, for checks before a test.

use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use slob_engine::{Engine, Server};
use slob_host::{CpuTimes, Device, DeviceCounters, free_space};
use slob_observe::HostInterval;
use slob_spec::Observers;

use crate::prepare::check_observers;
use crate::{Hosts, LocalData, RunError, Topology};

#[derive(Debug)]
pub enum Site {
    /// Unknown, or no data.
    Nowhere,
    /// The database is embedded.
    Here(Box<LocalData>),
    Servers(Hosts),
}

#[derive(Debug)]
pub struct Activity {
    pub cpu: Option<CpuTimes>,
    pub hosts: Vec<Option<HostInterval>>,
    pub device: Option<DeviceCounters>,
}

impl Site {
    /// `copy` makes remote observers copies of this program. Fails if `observers` do not fit the target.
    pub fn find(
        engine: &dyn Engine,
        server: &Server,
        observers: &Observers,
        copy: bool,
        stop: &AtomicBool,
    ) -> Result<Self, RunError> {
        if !server.capabilities.stores_data {
            return Ok(Self::Nowhere);
        }
        check_observers(engine, observers)?;
        if server.capabilities.embedded {
            let local = LocalData::find(engine, true);
            return Ok(local.map_or(Self::Nowhere, |local| Self::Here(Box::new(local))));
        }
        Ok(Self::Servers(Hosts::find(engine, observers, copy, stop)))
    }

    /// Empty if no hosts are looked at.
    pub fn topology(&self) -> &Topology {
        const NONE: &Topology = &Topology { hosts: Vec::new(), servers: Vec::new() };
        match self {
            Self::Servers(hosts) => &hosts.topology,
            Self::Here(_) | Self::Nowhere => NONE,
        }
    }

    pub fn free_space(&self) -> Option<(String, u64)> {
        match self {
            Self::Nowhere => None,
            Self::Here(local) => {
                let folder = local.folder();
                Some((folder.display().to_string(), free_space(folder).ok()?))
            }
            Self::Servers(hosts) => {
                let topology = &hosts.topology;
                let server = topology.servers.first()?;
                let host = topology.hosts.get(server.observed_at?.0)?;
                let found = server.found.as_ref().ok()?;
                let on = host.ssh.as_ref().map(|ssh| format!(" on {ssh}")).unwrap_or_default();
                Some((format!("{}{on}", found.path.as_ref()?.display()), found.free_bytes?))
            }
        }
    }

    pub fn watch(&mut self, time: Duration) -> Activity {
        let (cpu, before) = (CpuTimes::read().ok(), self.device_counters());
        let hosts = match self {
            Self::Servers(hosts) => hosts.watch(time),
            Self::Here(_) | Self::Nowhere => {
                sleep(time);
                Vec::new()
            }
        };
        let (after_cpu, after) = (CpuTimes::read().ok(), self.device_counters());
        Activity {
            cpu: cpu.zip(after_cpu).map(|(before, after)| after.since(&before)),
            hosts,
            device: before.zip(after).and_then(|(before, after)| after.since(&before)),
        }
    }

    fn device_counters(&self) -> Option<DeviceCounters> {
        let device: Option<&Device> = match self {
            Self::Here(local) => local.device.as_ref().ok(),
            Self::Servers(_) | Self::Nowhere => None,
        };
        device?.counters().ok().flatten()
    }
}
