use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{Counter, Engine, PendingAnswer, Result, ServerLocation, Snapshot, Unanswered};
use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, HostInfo, ProcessIo};
use slob_measure::KernelTrace;
use slob_observe::{FoundServer, Hello, HostInterval, Observation, Observer, PendingSample, ServerFigures};
use slob_record::Interval;
use slob_spec::{Observe, Observers, SshHost};
use slob_stats::Merge;

/// A silent server must not hold up the timeline: the sample goes without counters.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Sampler {
    engine: Arc<dyn Engine>,
    /// It needs no extra thread, for which there may be no CPU.
    is_embedded: bool,
    pub(crate) hosts: Hosts,
    samples_client: bool,
    /// The next query waits for this answer.
    late: Option<PendingAnswer<Result<Snapshot>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) taken: Instant,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) snapshot_error: Option<String>,
    pub(crate) hosts: HostsSample,
    pub(crate) client_host_cpu: Option<CpuTimes>,
    pub(crate) client_cpu: Option<CpuSplit>,
    pub(crate) client_io: Option<ProcessIo>,
}

impl Sampler {
    /// Without `hosts`, only the database's counters are read.
    pub(crate) fn new(engine: Arc<dyn Engine>, is_embedded: bool, hosts: Option<Hosts>) -> Self {
        let samples_client = hosts.is_some();
        Self { engine, is_embedded, hosts: hosts.unwrap_or_default(), samples_client, late: None }
    }

    /// Errors make figures absent. An `edge` of the window adds I/O of the server's processes and CPU time of all, a file or two
    /// for each process. `on_taken` gets the moment that decides which operations are in the window.
    pub(crate) fn sample(&mut self, edge: bool, on_taken: impl FnOnce(Instant)) -> Sample {
        // Remote observers and the database work at the same time.
        let asked = self.hosts.ask(edge);
        let (snapshot, snapshot_error) = match self.snapshot() {
            Ok(Ok(snapshot)) => (Some(snapshot), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(silence) => (None, Some(format!("reading the database's counters: {silence}"))),
        };
        let taken = snapshot.as_ref().map_or_else(Instant::now, |snapshot| snapshot.taken);
        on_taken(taken);
        let hosts = self.hosts.answers(asked);
        let client = self.samples_client;
        Sample {
            taken,
            snapshot,
            snapshot_error,
            hosts,
            client_host_cpu: client.then(|| CpuTimes::read().ok()).flatten(),
            client_cpu: client.then(|| slob_host::own_cpu().ok()).flatten(),
            client_io: client.then(|| slob_host::self_io().ok()).flatten(),
        }
    }

    fn snapshot(&mut self) -> Result<Result<Snapshot>, Unanswered> {
        if self.is_embedded {
            return Ok(self.engine.snapshot());
        }
        if let Some(late) = self.late.take()
            && matches!(late.wait(Duration::ZERO), Err(Unanswered::Silence(_)))
        {
            self.late = Some(late);
            return Err(Unanswered::Silence(PATIENCE));
        }
        let engine = Arc::clone(&self.engine);
        let asked = PendingAnswer::begin(move || engine.snapshot())?;
        let answer = asked.wait(PATIENCE);
        if matches!(answer, Err(Unanswered::Silence(_))) {
            self.late = Some(asked);
        }
        answer
    }
}

impl Sample {
    pub(crate) fn interval_since(&self, earlier: &Self) -> Interval {
        let counters = self.snapshot.as_ref().zip(earlier.snapshot.as_ref());
        let counters = counters.map(|(later, earlier)| later.since(earlier).counters);
        let count = |counter| counters.as_ref().and_then(|counters| counters.get(counter));
        let hosts = self.hosts.since(&earlier.hosts);
        Interval {
            physical_reads: count(Counter::PhysicalReads),
            logical_reads: count(Counter::LogicalReads),
            redo_bytes: count(Counter::RedoBytes),
            sampled_s: Some((self.taken - earlier.taken).as_secs_f64()),
            observed_s: hosts.seconds(),
            host_cpu: hosts.host_cpu(),
            db_cpu: hosts.sum_of_servers(|server| server.cpu),
            device: hosts.device().map(|counters| counters.used),
            ..Interval::default()
        }
    }
}

#[derive(Debug, Default)]
pub struct Hosts {
    observers: Vec<Observer>,
    pub topology: Arc<Topology>,
}

#[derive(Clone, Debug, Default)]
pub struct Topology {
    pub hosts: Vec<ObservedHost>,
    pub servers: Vec<ObservedServer>,
}

#[derive(Clone, Debug)]
pub struct ObservedHost {
    /// `None` if the host can't be observed.
    pub hello: Option<Hello>,
    /// `None` if this process observes the host.
    pub ssh: Option<SshHost>,
    /// Equal for all observers of one host.
    key: String,
    /// It runs a server of the target.
    is_databases: bool,
    /// This program runs there.
    pub is_here: bool,
}

impl ObservedHost {
    pub fn info(&self) -> Option<&HostInfo> {
        self.hello.as_ref().map(|hello| &hello.host)
    }
}

#[derive(Clone, Debug)]
pub struct ObservedServer {
    /// `None` for a single endpoint.
    pub endpoint: Option<String>,
    /// The value of OBSERVE.
    pub by: String,
    /// Index of its host, and its number there; `None` if it is not observed.
    pub observed_at: Option<(usize, usize)>,
    pub found: Result<Box<FoundServer>, String>,
}

impl ObservedServer {
    pub fn cpus(&self, host: &ObservedHost) -> Option<f64> {
        let found = self.found.as_ref().ok()?;
        let of_host = host.info()?.cpus_online;
        let whole = [of_host, found.cpus_allowed].into_iter().flatten().map(f64::from);
        let quota = found.limits.as_ref().and_then(|limits| limits.cpus);
        whole.chain(quota).reduce(f64::min)
    }
}

impl Hosts {
    /// A missing server is no error. `copy` makes remote observers copies of this program. A set `stop` ends all waits.
    pub fn find(engine: &dyn Engine, observers: &Observers, copy: bool, stop: &AtomicBool) -> Self {
        let wanted: Vec<(ServerLocation, Observe, Result<Option<SshHost>, String>)> = engine
            .locations()
            .into_iter()
            .map(|server| {
                let observe = observers.of_endpoint(server.endpoint).clone();
                let host = host_to_observe(&observe, server.host.as_deref());
                (server, observe, host)
            })
            .collect();
        let asked_at = Instant::now();
        let mut hosts: Vec<_> = wanted.iter().filter_map(|(.., host)| host.clone().ok()).collect();
        hosts.sort_by_key(|ssh| ssh.as_ref().map(ToString::to_string));
        hosts.dedup();
        let mut observers = connect(&hosts, copy, stop);
        let names = engine.endpoints();
        let mut asked = vec![0; hosts.len()];
        let servers = wanted.into_iter().map(|(server, observe, ssh)| {
            let find = || {
                let ssh = ssh?;
                let host =
                    hosts.iter().position(|host| *host == ssh).ok_or("there is nobody to look for it")?;
                // Connecting to hosts under load takes a while.
                let mut clues = server.clues.after(asked_at.elapsed());
                // Engines give a process number only for this very process.
                if clues.pid.is_some() && observers[host].is_known_to_be_elsewhere() {
                    return Err("the database is a part of this program, and not on that host".to_owned());
                }
                if let Observe::Pid(pid) = observe {
                    clues.pid = Some(pid);
                }
                let number = asked[host];
                asked[host] += 1;
                Ok::<_, String>(((host, number), observers[host].find(clues, stop)))
            };
            let by = observe.to_string();
            let (observed_at, found) = match find() {
                Ok((at, found)) => (Some(at), found.map(Box::new)),
                Err(missing) => (None, Err(missing)),
            };
            ObservedServer { endpoint: names.get(server.endpoint).cloned(), by, observed_at, found }
        });
        let servers: Vec<ObservedServer> = servers.collect();
        let hosts = observers.iter().zip(hosts).enumerate().map(|(number, (observer, ssh))| {
            let hello = observer.hello().ok();
            let is_its = |server: &ObservedServer| {
                let is_asked = server.observed_at.is_some_and(|(host, _)| host == number);
                is_asked && (ssh.is_some() || server.found.is_ok())
            };
            ObservedHost {
                hello: hello.cloned(),
                key: hello.and_then(|hello| hello.boot.clone()).unwrap_or_else(|| format!("host {number}")),
                is_databases: hello.is_some() && servers.iter().any(is_its),
                is_here: observer.is_this_host(),
                ssh,
            }
        });
        let hosts = hosts.collect();
        Self { observers, topology: Arc::new(Topology { hosts, servers }) }
    }

    /// Does not wait for remote observers.
    pub(crate) fn ask(&mut self, edge: bool) -> Vec<PendingSample> {
        self.observers.iter_mut().map(|observer| observer.request_sample(edge)).collect()
    }

    pub(crate) fn answers(&mut self, asked: Vec<PendingSample>) -> HostsSample {
        let seen = self
            .observers
            .iter_mut()
            .zip(asked)
            .map(|(observer, asked)| observer.receive_sample(asked))
            .collect();
        HostsSample { topology: Arc::clone(&self.topology), seen }
    }

    /// `None` for a silent host.
    pub fn watch(&mut self, time: Duration) -> Vec<Option<HostInterval>> {
        let asked = self.ask(false);
        let begin = self.answers(asked);
        thread::sleep(time);
        let asked = self.ask(false);
        self.answers(asked).since(&begin).hosts
    }

    /// Returns a note for each host that can't be traced.
    pub fn trace(&mut self, block_bytes: u32, stop: &AtomicBool) -> Vec<String> {
        let traced = self.observers.iter_mut().zip(&self.topology.hosts);
        let failed =
            traced.filter_map(|(observer, host)| Some((observer.trace(block_bytes, stop).err()?, host)));
        let note = |(why, host): (String, &ObservedHost)| {
            let on = host.ssh.as_ref().map(|ssh| format!(" on {ssh}")).unwrap_or_default();
            format!("Reads and writes{on} were not traced: {why}.")
        };
        let notes: Vec<String> = failed.map(note).collect();
        match self.observers.is_empty() {
            true => vec!["Reads and writes were not traced: this target has no server of its own.".into()],
            false => notes,
        }
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.observers.iter().flat_map(Observer::faults).cloned().collect()
    }
}

/// `None` for this host.
fn host_to_observe(observe: &Observe, endpoint: Option<&str>) -> Result<Option<SshHost>, String> {
    match observe {
        Observe::Auto | Observe::Pid(_) => Ok(None),
        Observe::None => {
            Err("it was not to be looked for; name its host (--observe ssh:HOST) and it will be".into())
        }
        Observe::Ssh(host) => {
            let endpoint = endpoint.unwrap_or("localhost");
            host.at(endpoint).map(Some).map_err(|bad| {
                format!(
                    "the endpoint's host '{}' can't be given to ssh: it must be {}",
                    endpoint.escape_debug(),
                    bad.permitted
                )
            })
        }
    }
}

/// Opens all at once: each login takes a moment.
fn connect(hosts: &[Option<SshHost>], copy: bool, stop: &AtomicBool) -> Vec<Observer> {
    let open = |host: &Option<SshHost>| {
        host.clone().map_or_else(Observer::local, |host| Observer::remote(host, copy, stop))
    };
    thread::scope(|scope| {
        let opening: Vec<_> = hosts.iter().map(|host| scope.spawn(move || open(host))).collect();
        // This host replaces the one of a panicked thread.
        opening.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Observer::local())).collect()
    })
}

impl Topology {
    pub(crate) fn hosts_of_database(&self) -> impl Iterator<Item = (usize, &ObservedHost)> {
        let mut seen = BTreeSet::new();
        let hosts = self.hosts.iter().enumerate();
        hosts.filter(move |(_, host)| host.is_databases && seen.insert(host.key.as_str()))
    }

    pub(crate) fn device(&self) -> Option<&Device> {
        self.servers.iter().find_map(|server| server.found.as_ref().ok()?.data.as_ref())
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |server: &ObservedServer| {
            let of = server.endpoint.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            match &server.found {
                Ok(found) => found.lacking.clone(),
                Err(_) if server.by == Observe::None.to_string() => Vec::new(),
                Err(missing) => vec![format!(
                    "The server{of} was not seen ({}): {missing}. Its CPU, and the device behind its data, are not known.",
                    server.by
                )],
            }
        };
        let mut notes: Vec<String> = self.servers.iter().flat_map(note).collect();
        notes.dedup();
        notes
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct HostsSample {
    topology: Arc<Topology>,
    seen: Vec<Option<Observation>>,
}

impl HostsSample {
    pub(crate) fn since(&self, earlier: &Self) -> HostsInterval {
        let between = |(later, earlier): (&Option<Observation>, &Option<Observation>)| {
            let (later, earlier) = (later.as_ref()?, earlier.as_ref()?);
            later.sample.since(&earlier.sample, later.observer == earlier.observer)
        };
        let hosts = self.seen.iter().zip(&earlier.seen).map(between).collect();
        HostsInterval { topology: Arc::clone(&self.topology), hosts }
    }

    pub(crate) fn of_server(&self, server: usize) -> Option<&Observation> {
        let (host, _) = self.topology.servers.get(server)?.observed_at?;
        self.seen.get(host)?.as_ref()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct HostsInterval {
    topology: Arc<Topology>,
    hosts: Vec<Option<HostInterval>>,
}

impl HostsInterval {
    pub(crate) fn host_of(&self, server: usize) -> Option<&HostInterval> {
        let (host, _) = self.topology.servers.get(server)?.observed_at?;
        self.hosts.get(host)?.as_ref()
    }

    pub(crate) fn server(&self, server: usize) -> Option<&ServerFigures> {
        let (_, number) = self.topology.servers.get(server)?.observed_at?;
        self.host_of(server)?.servers.get(number)?.as_ref()
    }

    /// `None` if one is unknown: a part would pass for the whole.
    pub(crate) fn sum_of_servers<T: Merge>(&self, figure: impl Fn(&ServerFigures) -> Option<T>) -> Option<T> {
        sum((0..self.topology.servers.len()).map(|server| figure(self.server(server)?)))
    }

    /// This host stands in for unknown ones.
    fn of_database(&self) -> Vec<Option<&HostInterval>> {
        let of = |host: usize| self.hosts.get(host).and_then(Option::as_ref);
        let known: Vec<_> = self.topology.hosts_of_database().map(|(host, _)| of(host)).collect();
        if known.is_empty() && !self.hosts.is_empty() { vec![of(0)] } else { known }
    }

    /// The mean of the hosts' own clocks.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let hosts = self.of_database();
        let sum: Option<f64> = hosts.iter().map(|host| Some(host.as_ref()?.seconds)).sum();
        sum.filter(|_| !hosts.is_empty()).map(|sum| sum / hosts.len() as f64)
    }

    pub(crate) fn host_cpu(&self) -> Option<CpuTimes> {
        sum(self.of_database().into_iter().map(|host| host?.cpu))
    }

    /// `None` if one is missing.
    pub(crate) fn trace(&self) -> Option<KernelTrace> {
        let mut sum: Option<KernelTrace> = None;
        for host in self.of_database() {
            sum.get_or_insert_default().add(host?.trace.as_ref()?);
        }
        sum
    }

    pub(crate) fn load_1m(&self) -> Option<f64> {
        let hosts = self.of_database();
        hosts.iter().map(|host| host.as_ref()?.load_1m).sum::<Option<f64>>().filter(|_| !hosts.is_empty())
    }

    pub(crate) fn others_cpu_s(&self) -> Option<f64> {
        let mut hosts = self.topology.hosts_of_database().peekable();
        hosts.peek()?;
        hosts
            .map(|(host, observed)| {
                let others_s = self.hosts.get(host)?.as_ref()?.others_cpu_s?;
                Some((others_s - self.servers_of_other_observers_s(host, observed)?).max(0.0))
            })
            .sum()
    }

    /// To this observer, the run's servers of other observers are other processes.
    fn servers_of_other_observers_s(&self, host: usize, observed: &ObservedHost) -> Option<f64> {
        let hosts = &self.topology.hosts;
        let is_beside = |server: &ObservedServer| {
            let other = server.observed_at.map(|(other, _)| other).filter(|other| *other != host);
            other.is_some_and(|other| hosts[other].key == observed.key)
        };
        let beside = self.topology.servers.iter().enumerate().filter(|(_, server)| is_beside(server));
        beside.map(|(number, _)| Some(self.server(number)?.cpu?.total_s())).sum()
    }

    /// They are busy as long as the busiest one.
    pub(crate) fn device(&self) -> Option<DeviceCounters> {
        let mut known = BTreeSet::new();
        let mut sum: Option<DeviceCounters> = None;
        for (number, server) in self.topology.servers.iter().enumerate() {
            let device = server.found.as_ref().ok()?.data.as_ref()?;
            let (host, _) = server.observed_at?;
            if known.insert((&self.topology.hosts.get(host)?.key, &device.stack)) {
                let counters = self.server(number)?.data?;
                sum = Some(sum.map_or(counters, |sum| add_device(sum, counters)));
            }
        }
        sum
    }
}

fn add_device(mut sum: DeviceCounters, more: DeviceCounters) -> DeviceCounters {
    let busy_ms = sum.used.busy_ms.max(more.used.busy_ms);
    sum.used.merge(&more.used);
    sum.used.busy_ms = busy_ms;
    let add = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    sum.discards = add(sum.discards, more.discards);
    sum.flushes = add(sum.flushes, more.flushes);
    sum.disk_read_bytes = add(sum.disk_read_bytes, more.disk_read_bytes);
    sum.in_flight += more.in_flight;
    sum
}

/// `None` if one value is unknown, or there is none.
fn sum<T: Merge>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.try_fold(first, |mut sum, value| {
        sum.merge(&value?);
        Some(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_observe::{HostSample, ServerSample};

    fn host() -> ObservedHost {
        ObservedHost { hello: None, ssh: None, key: "one boot".into(), is_databases: true, is_here: true }
    }

    /// Server 0 or 1, each with an observer of its own.
    fn server(observer: usize) -> ObservedServer {
        let (by, found) = ("auto".to_owned(), Err("not needed here".to_owned()));
        ObservedServer { endpoint: None, by, observed_at: Some((observer, 0)), found }
    }

    /// An observer's sample, with the CPU time of others by its own count, and of its server.
    fn seen(at_s: f64, others_s: f64, server_s: Option<f64>) -> Option<Observation> {
        let cpu = server_s.map(|user_s| CpuSplit { user_s, system_s: 0.0 });
        let figures = ServerFigures { cpu, ..ServerFigures::default() };
        let servers = vec![Some(ServerSample { processes: 1, found: 1, figures })];
        let sample = HostSample { at_s, others_cpu_s: Some(others_s), servers, ..HostSample::default() };
        Some(Observation { sample, observer: 0, round_trip: Duration::ZERO })
    }

    fn others_s(of_second_s: Option<f64>) -> Option<f64> {
        let topology =
            Arc::new(Topology { hosts: vec![host(), host()], servers: vec![server(0), server(1)] });
        let at = |seen| HostsSample { topology: Arc::clone(&topology), seen };
        let begin = at(vec![seen(100.0, 0.0, Some(0.0)), seen(100.0, 0.0, Some(0.0))]);
        let end = at(vec![seen(110.0, 10.0, Some(3.0)), seen(110.0, 9.0, of_second_s)]);
        end.since(&begin).others_cpu_s()
    }

    #[test]
    fn two_observers_of_one_host_do_not_count_each_others_servers() {
        assert_eq!(others_s(Some(4.0)), Some(6.0));
        assert_eq!(others_s(None), None, "unknown without the CPU time of one server");
    }
}
