//! Who looks at a host.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use procfs::Current;
use slob_engine::Clues;
use slob_host::{CpuTimes, Device, EverybodysCpu, HostInfo, MachineSettings, Probe, ProbeEvent, ProbePlan};

use crate::host_id;
use crate::message::{Ask, Hello, PROTOCOL, Told};
use crate::server::Server;
use crate::sight::Sight;

/// Looks at the host that it runs on, and at servers there.
#[derive(Debug, Default)]
pub struct Observer {
    servers: Vec<Option<Server>>,
    askers: BTreeSet<u32>,
    /// As it was at the last edge.
    everybody: Option<EverybodysCpu>,
    others_cpu_s: f64,
}

impl Observer {
    /// What it says first.
    #[must_use]
    pub fn hello() -> Hello {
        Hello {
            slob_observe: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: HostInfo::read(),
            boot: host_id::boot(),
            numbering: host_id::numbering(),
            machine: Some(MachineSettings::read()),
        }
    }

    /// Answers. `progress` hears of a probe's course, and says whether anybody still wants to know.
    pub fn answer(&mut self, ask: Ask, progress: &mut dyn FnMut(Told) -> bool) -> Told {
        match ask {
            Ask::Find { clues, asker } => self.find(clues, asker),
            Ask::Look { edge } => Told::Sight(Box::new(self.look(edge))),
            Ask::Probe { plan } => probe(&plan, progress),
        }
    }

    fn find(&mut self, clues: Clues, asker: Option<u32>) -> Told {
        self.askers.extend(asker);
        match Server::find(clues) {
            Ok((server, found)) => {
                self.servers.push(Some(server));
                Told::Found(Box::new(found))
            }
            Err(lacking) => {
                self.servers.push(None);
                Told::NotFound(lacking)
            }
        }
    }

    fn look(&mut self, edge: bool) -> Sight {
        // What rates are divided by stands beside what they are made of; going through all processes takes far longer.
        let (at_s, cpu) = (since_boot_s(), CpuTimes::read().ok());
        let servers = self.servers.iter_mut().map(|server| server.as_mut()?.look(edge)).collect();
        let others_cpu_s = if edge { self.add_others() } else { None };
        Sight {
            at_s,
            cpu,
            others_cpu_s,
            memory_available_bytes: procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available),
            servers,
        }
    }

    /// From edge to edge. Whose a process is can only be told if all servers were found.
    fn add_others(&mut self) -> Option<f64> {
        let now = EverybodysCpu::read();
        let processes = self.servers.iter().flatten().flat_map(Server::processes);
        let own: BTreeSet<u32> =
            processes.chain(self.askers.iter().copied()).chain([std::process::id()]).collect();
        let since =
            now.as_ref().zip(self.everybody.as_ref()).map(|(now, before)| now.others_since(before, &own));
        self.others_cpu_s += since.unwrap_or_default();
        self.everybody = now;
        let all_known = !self.servers.is_empty() && self.servers.iter().all(Option::is_some);
        (all_known && self.everybody.is_some()).then_some(self.others_cpu_s)
    }
}

/// By a clock that is never set, and goes on while the host sleeps.
fn since_boot_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn probe(plan: &ProbePlan, progress: &mut dyn FnMut(Told) -> bool) -> Told {
    let stop = AtomicBool::new(false);
    let mut tell = |told: Told| stop.store(!progress(told), Ordering::Relaxed);
    let mut on_event = |event: ProbeEvent| match event {
        ProbeEvent::Filling { written_bytes, total_bytes } => {
            tell(Told::Progress {
                done: written_bytes,
                of: total_bytes,
                at: "writing the scratch file".into(),
            });
        }
        ProbeEvent::StepStarted { number, of, .. } => {
            let at = format!("step {number} of {of}");
            tell(Told::Progress { done: number as u64 - 1, of: of as u64, at });
        }
        ProbeEvent::StepFinished(_) => {}
    };
    match Probe::run(plan, &mut on_event, &stop) {
        Ok(result) => {
            let device = Device::behind(&plan.dir).ok().map(Box::new);
            Told::Probed { result: Box::new(result), device }
        }
        Err(error) => Told::Failed(error.to_string()),
    }
}
