//! The observer of its own host.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use procfs::Current;
use slob_engine::Clues;
use slob_host::{
    AllProcessesCpu, CpuTimes, Device, HostInfo, MachineSettings, ProbeEvent, ProbePlan, run_probe,
};

use slob_trace::Tracer;

use crate::protocol::{Hello, PROTOCOL, Reply, Request};
use crate::sample::HostSample;
use crate::server::Server;

#[derive(Debug, Default)]
pub(crate) struct LocalObserver {
    servers: Vec<Option<Server>>,
    clients: BTreeSet<u32>,
    processes_cpu: Option<AllProcessesCpu>,
    others_cpu_s: f64,
    tracer: Option<Tracer>,
}

impl LocalObserver {
    pub(crate) fn hello() -> Hello {
        Hello {
            slob_observe: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: HostInfo::read(),
            boot: boot(),
            numbering: pid_namespace(),
            machine: Some(MachineSettings::read()),
        }
    }

    /// `progress` gets that of a probe, and returns false to interrupt it.
    pub(crate) fn answer(&mut self, request: Request, progress: &mut dyn FnMut(Reply) -> bool) -> Reply {
        match request {
            Request::Find { clues, asker } => self.find(clues, asker),
            Request::Sample { edge } => Reply::Sample(Box::new(self.sample(edge))),
            Request::Probe { plan } => probe(&plan, progress),
            Request::Trace { block_bytes } => match self.trace(block_bytes) {
                Ok(()) => Reply::Tracing,
                Err(why) => Reply::Failed(why),
            },
        }
    }

    fn find(&mut self, clues: Clues, client: Option<u32>) -> Reply {
        self.clients.extend(client);
        let (server, reply) = match Server::find(clues) {
            Ok(server) => {
                let found = Box::new(server.found.clone());
                (Some(server), Reply::Found(found))
            }
            Err(lacking) => (None, Reply::NotFound(lacking)),
        };
        self.servers.push(server);
        reply
    }

    fn trace(&mut self, block_bytes: u32) -> Result<(), String> {
        if self.servers.iter().all(Option::is_none) {
            return Err(
                "the server was not found on its host; name its process or its host (--observe)".into()
            );
        }
        let tracer = Tracer::start(block_bytes).map_err(|why| why.to_string())?;
        let found = self.servers.iter().flatten().map(|server| &server.found);
        let devices =
            found.flat_map(|found| found.data.iter().chain(&found.log)).flat_map(Device::competitors);
        tracer.count_neighbours(devices).map_err(|error| error.to_string())?;
        self.tracer = Some(tracer);
        self.watch();
        Ok(())
    }

    /// New processes are among them.
    fn watch(&self) {
        if let Some(tracer) = &self.tracer {
            // Processes beyond the kernel's table are not traced.
            let _ = tracer.watch(self.servers.iter().flatten().flat_map(Server::processes));
            let _ = tracer.watch_logs(self.servers.iter().flatten().flat_map(Server::log_files));
        }
    }

    pub(crate) fn sample(&mut self, edge: bool) -> HostSample {
        // Rates divide the CPU time by the clock, so both are read at once.
        let (at_s, cpu) = (since_boot_s(), CpuTimes::read().ok());
        self.watch();
        let tracer = self.tracer.as_ref().filter(|_| edge);
        HostSample {
            at_s,
            cpu,
            servers: self.servers.iter_mut().map(|server| server.as_mut()?.sample(edge)).collect(),
            trace: tracer.and_then(|tracer| tracer.counts().ok()),
            others_cpu_s: if edge { self.add_others() } else { None },
            load_1m: procfs::LoadAverage::current().ok().map(|load| f64::from(load.one)),
            memory_available_bytes: procfs::Meminfo::current().ok().and_then(|memory| memory.mem_available),
        }
    }

    /// If a server is missing, its time would pass for others'.
    fn add_others(&mut self) -> Option<f64> {
        let now = AllProcessesCpu::read();
        let processes = self.servers.iter().flatten().flat_map(Server::processes);
        let own: BTreeSet<u32> =
            processes.chain(self.clients.iter().copied()).chain([std::process::id()]).collect();
        let both = now.as_ref().zip(self.processes_cpu.as_ref());
        self.others_cpu_s += both.map(|(now, before)| now.others_since(before, &own)).unwrap_or_default();
        self.processes_cpu = now;
        let all_known = !self.servers.is_empty() && self.servers.iter().all(Option::is_some);
        (all_known && self.processes_cpu.is_some()).then_some(self.others_cpu_s)
    }
}

pub(crate) fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

pub(crate) fn pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// The clock is never set, and goes on while the host sleeps.
fn since_boot_s() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn probe(plan: &ProbePlan, progress: &mut dyn FnMut(Reply) -> bool) -> Reply {
    let stop = AtomicBool::new(false);
    let mut on_event = |event: ProbeEvent| {
        if let Some((done, of, at)) = event.progress() {
            stop.store(!progress(Reply::Progress { done, of, at }), Ordering::Relaxed);
        }
    };
    match run_probe(plan, &mut on_event, &stop) {
        Ok(result) => {
            let device = Device::behind(&plan.dir).ok().map(Box::new);
            Reply::Probed { result: Box::new(result), device }
        }
        Err(error) => Reply::Failed(error.to_string()),
    }
}
