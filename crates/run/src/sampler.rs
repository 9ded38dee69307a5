//! Samples of everything that only ever grows: the database's counters, CPU times, the device.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slob_engine::{Asked, Counter, Engine, Server, Snapshot, Unanswered};
use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, EverybodysCpu, FamilyIo, ProcessIo};
use slob_record::Interval;
use slob_stats::Merge;

/// How long the database may take to answer before a sample goes without its figures: a server that is not heard of any
/// more must not hold up the run's timeline.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes samples of one target and its host.
pub(crate) struct Sampler {
    engine: Arc<dyn Engine>,
    /// The database is in this process, where nothing can come between: it is asked without a thread of its own, for which
    /// there may be no CPU to spare.
    is_embedded: bool,
    device: Option<Device>,
    host_counters: bool,
    /// A question that has not been answered; no other is asked before.
    late: RefCell<Option<Box<dyn Late>>>,
}

/// An answer that was given up, of whatever sort.
trait Late {
    fn has_come(&self) -> bool;
}

impl<T: Send + 'static> Late for Asked<T> {
    fn has_come(&self) -> bool {
        !matches!(self.wait(Duration::ZERO), Err(Unanswered::Silence(_)))
    }
}

/// The cumulative figures of one moment; absent is what can't be known.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) taken: Instant,
    pub(crate) snapshot: Option<Snapshot>,
    /// Why there is no snapshot.
    pub(crate) snapshot_error: Option<String>,
    pub(crate) host_cpu: Option<CpuTimes>,
    /// Of each process of the server.
    pub(crate) db_cpu: Option<BTreeMap<u32, CpuSplit>>,
    /// Of all processes of the server; at the edges of the window only.
    pub(crate) db_io: Option<FamilyIo>,
    /// Of all processes of the host; at the edges of the window only.
    pub(crate) everybodys_cpu: Option<EverybodysCpu>,
    pub(crate) client_cpu: Option<CpuSplit>,
    pub(crate) client_io: Option<ProcessIo>,
    pub(crate) device: Option<DeviceCounters>,
}

impl Sampler {
    /// `device` is the one behind the data; nothing of the host is read without `host_counters`.
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        server: &Server,
        device: Option<Device>,
        host_counters: bool,
    ) -> Self {
        let is_embedded = server.capabilities.embedded;
        Self { engine, is_embedded, device, host_counters, late: RefCell::default() }
    }

    /// Takes a sample now. An error of one source makes its figure absent, not the sample fail.
    pub(crate) fn take(&self) -> Sample {
        self.sample(|_| ())
    }

    /// The same at an edge of the window, with the I/O of the server's processes and the CPU of all, which are of use nowhere
    /// else and take a file or two of each; `on_taken` hears of the moment as soon as the database's counters are read, before the slower rest:
    /// operations are told apart by that moment.
    pub(crate) fn take_edge(&self, on_taken: impl FnOnce(Instant)) -> Sample {
        let mut sample = self.sample(on_taken);
        let pids = sample.db_cpu.as_ref().map(BTreeMap::keys);
        sample.db_io = pids.and_then(|pids| FamilyIo::read(pids.copied()));
        sample.everybodys_cpu = if self.host_counters { EverybodysCpu::read() } else { None };
        sample
    }

    /// The server's processes now, as far as they are known.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        let known = self.host_counters.then(|| self.ask(|engine| engine.processes()).ok().flatten());
        known.flatten().into_iter().flatten().collect()
    }

    fn sample(&self, on_taken: impl FnOnce(Instant)) -> Sample {
        let (snapshot, snapshot_error) = match self.ask(|engine| engine.snapshot()) {
            Ok(Ok(snapshot)) => (Some(snapshot), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(silence) => (None, Some(format!("reading the database's counters: {silence}"))),
        };
        let taken = snapshot.as_ref().map_or_else(Instant::now, |snapshot| snapshot.taken);
        on_taken(taken);
        let mut sample = Sample {
            taken,
            snapshot,
            snapshot_error,
            host_cpu: None,
            db_cpu: None,
            db_io: None,
            everybodys_cpu: None,
            client_cpu: None,
            client_io: None,
            device: None,
        };
        if self.host_counters {
            sample.host_cpu = CpuTimes::read().ok();
            sample.db_cpu = self.ask(|engine| engine.processes()).ok().flatten().map(cpu_of);
            sample.client_cpu = slob_host::own_cpu().ok();
            sample.client_io = slob_host::self_io().ok();
            sample.device = self.device.as_ref().and_then(|device| device.counters().ok()?);
        }
        sample
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Engine) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        if self.is_embedded {
            return Ok(question(self.engine.as_ref()));
        }
        if self.late.borrow().as_ref().is_some_and(|late| !late.has_come()) {
            return Err(Unanswered::Silence(PATIENCE));
        }
        self.late.take();
        let engine = Arc::clone(&self.engine);
        let asked = Asked::begin(move || question(engine.as_ref()))?;
        let answer = asked.wait(PATIENCE);
        if matches!(answer, Err(Unanswered::Silence(_))) {
            self.late.replace(Some(Box::new(asked)));
        }
        answer
    }
}

/// The CPU of the server's processes. One that has just ended can't be read; it is left out.
fn cpu_of(pids: Vec<u32>) -> BTreeMap<u32, CpuSplit> {
    let cpu = |pid| Some((pid, slob_host::process_cpu(pid).ok()?));
    pids.into_iter().filter_map(cpu).collect()
}

fn cpu_since(later: &BTreeMap<u32, CpuSplit>, earlier: &BTreeMap<u32, CpuSplit>) -> CpuSplit {
    let mut sum = CpuSplit::default();
    for (pid, cpu) in later {
        sum.merge(&earlier.get(pid).map_or(*cpu, |before| cpu.since(before)));
    }
    sum
}

impl Sample {
    /// CPU time of the database since an earlier sample: what its processes used, and all that processes used which
    /// are new. What a process that ended in between used after the earlier sample is lost.
    pub(crate) fn db_cpu_since(&self, earlier: &Self) -> Option<CpuSplit> {
        Some(cpu_since(self.db_cpu.as_ref()?, earlier.db_cpu.as_ref()?))
    }

    /// CPU time, since an earlier sample, of those of the database's processes that are not `background`: there are some only
    /// where the server has a process for each session.
    pub(crate) fn sessions_cpu_since(&self, earlier: &Self, background: &BTreeSet<u32>) -> Option<CpuSplit> {
        let of_sessions = |cpu: &BTreeMap<u32, CpuSplit>| -> BTreeMap<u32, CpuSplit> {
            cpu.iter().filter(|(pid, _)| !background.contains(pid)).map(|(pid, cpu)| (*pid, *cpu)).collect()
        };
        let (later, earlier) = (of_sessions(self.db_cpu.as_ref()?), of_sessions(earlier.db_cpu.as_ref()?));
        (!later.is_empty() && !background.is_empty()).then(|| cpu_since(&later, &earlier))
    }

    /// I/O of the database's processes since an earlier sample, as the kernel counted it.
    pub(crate) fn db_io_since(&self, earlier: &Self) -> Option<ProcessIo> {
        self.db_io.as_ref()?.since(earlier.db_io.as_ref()?)
    }

    /// CPU time of this program since an earlier sample.
    pub(crate) fn client_cpu_since(&self, earlier: &Self) -> Option<CpuSplit> {
        Some(self.client_cpu?.since(&earlier.client_cpu?))
    }

    /// CPU time, in seconds, of others than the database and this program since an earlier sample.
    pub(crate) fn others_cpu_s_since(&self, earlier: &Self) -> Option<f64> {
        let database = self.db_cpu.as_ref()?.keys().chain(earlier.db_cpu.as_ref()?.keys());
        let own = database.copied().chain([std::process::id()]).collect();
        Some(self.everybodys_cpu.as_ref()?.others_since(earlier.everybodys_cpu.as_ref()?, &own))
    }

    /// What the device did between two samples.
    pub(crate) fn device_since(&self, earlier: &Self) -> Option<DeviceCounters> {
        self.device?.since(&earlier.device?)
    }

    /// The sampled part of the interval between two samples.
    pub(crate) fn interval_since(&self, earlier: &Self) -> Interval {
        let counters = self.snapshot.as_ref().zip(earlier.snapshot.as_ref());
        let counters = counters.map(|(later, earlier)| later.since(earlier).counters);
        let count = |counter| counters.as_ref().and_then(|counters| counters.get(counter));
        Interval {
            physical_reads: count(Counter::PhysicalReads),
            logical_reads: count(Counter::LogicalReads),
            redo_bytes: count(Counter::RedoBytes),
            sampled_s: Some((self.taken - earlier.taken).as_secs_f64()),
            host_cpu: self.host_cpu.zip(earlier.host_cpu).map(|(later, earlier)| later.since(&earlier)),
            db_cpu: self.db_cpu_since(earlier),
            device: self.device_since(earlier).map(|counters| counters.used),
            ..Interval::default()
        }
    }
}
