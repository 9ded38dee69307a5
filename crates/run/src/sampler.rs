//! Samples of everything that only ever grows: the database's counters, CPU times, the device.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slob_engine::{Asked, Counter, Engine, Server, Snapshot, Unanswered};
use slob_host::{CpuSplit, CpuTimes, ProcessIo};
use slob_record::Interval;

use crate::hosts::{Hosts, Places};
use crate::together::{HostsSeen, Together};

/// How long the database may take to answer before a sample goes without its figures: a server that is not heard of any
/// more must not hold up the run's timeline.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes samples of one target and its host.
pub(crate) struct Sampler {
    engine: Arc<dyn Engine>,
    /// The database is in this process, where nothing can come between: it is asked without a thread of its own, for which
    /// there may be no CPU to spare.
    is_embedded: bool,
    /// `None` if nothing of hosts is to be read.
    hosts: Option<RefCell<Hosts>>,
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
    /// Of the hosts of the database.
    pub(crate) hosts: HostsSeen,
    /// Of this program's host.
    pub(crate) client_host_cpu: Option<CpuTimes>,
    pub(crate) client_cpu: Option<CpuSplit>,
    pub(crate) client_io: Option<ProcessIo>,
}

impl Sampler {
    /// Nothing of hosts is read without `hosts`.
    pub(crate) fn new(engine: Arc<dyn Engine>, server: &Server, hosts: Option<Hosts>) -> Self {
        let is_embedded = server.capabilities.embedded;
        Self { engine, is_embedded, hosts: hosts.map(RefCell::new), late: RefCell::default() }
    }

    /// What is known of hosts and servers.
    pub(crate) fn places(&self) -> Arc<Places> {
        self.hosts.as_ref().map(|hosts| Arc::clone(hosts.borrow().places())).unwrap_or_default()
    }

    /// What went wrong with those who look at the hosts.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.hosts.as_ref().map(|hosts| hosts.borrow().faults()).unwrap_or_default()
    }

    /// Takes a sample now. An error of one source makes its figure absent, not the sample fail.
    pub(crate) fn take(&self) -> Sample {
        self.sample(false, |_| ())
    }

    /// The same at an edge of the window, with the I/O of the server's processes and the CPU of all, which are of use nowhere
    /// else and take a file or two of each; `on_taken` hears of the moment as soon as the database's counters are read, before the slower rest:
    /// operations are told apart by that moment.
    pub(crate) fn take_edge(&self, on_taken: impl FnOnce(Instant)) -> Sample {
        self.sample(true, on_taken)
    }

    fn sample(&self, edge: bool, on_taken: impl FnOnce(Instant)) -> Sample {
        // Who is far looks while the database is asked.
        let asked = self.hosts.as_ref().map(|hosts| hosts.borrow_mut().ask(edge));
        let (snapshot, snapshot_error) = match self.ask(|engine| engine.snapshot()) {
            Ok(Ok(snapshot)) => (Some(snapshot), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(silence) => (None, Some(format!("reading the database's counters: {silence}"))),
        };
        let taken = snapshot.as_ref().map_or_else(Instant::now, |snapshot| snapshot.taken);
        on_taken(taken);
        let wanted = self.hosts.as_ref();
        let seen = wanted.zip(asked).map(|(hosts, asked)| hosts.borrow_mut().answers(asked));
        Sample {
            taken,
            snapshot,
            snapshot_error,
            hosts: HostsSeen { places: self.places(), seen: seen.unwrap_or_default() },
            client_host_cpu: wanted.and_then(|_| CpuTimes::read().ok()),
            client_cpu: wanted.and_then(|_| slob_host::own_cpu().ok()),
            client_io: wanted.and_then(|_| slob_host::self_io().ok()),
        }
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

impl Sample {
    /// What came to be on the hosts since an earlier sample.
    pub(crate) fn hosts_since(&self, earlier: &Self) -> Together {
        self.hosts.since(&earlier.hosts)
    }

    /// CPU time of this program's host since an earlier sample.
    pub(crate) fn client_host_cpu_since(&self, earlier: &Self) -> Option<CpuTimes> {
        Some(self.client_host_cpu?.since(&earlier.client_host_cpu?))
    }

    /// CPU time of this program since an earlier sample.
    pub(crate) fn client_cpu_since(&self, earlier: &Self) -> Option<CpuSplit> {
        Some(self.client_cpu?.since(&earlier.client_cpu?))
    }

    /// The sampled part of the interval between two samples.
    pub(crate) fn interval_since(&self, earlier: &Self) -> Interval {
        let counters = self.snapshot.as_ref().zip(earlier.snapshot.as_ref());
        let counters = counters.map(|(later, earlier)| later.since(earlier).counters);
        let count = |counter| counters.as_ref().and_then(|counters| counters.get(counter));
        let hosts = self.hosts_since(earlier);
        Interval {
            physical_reads: count(Counter::PhysicalReads),
            logical_reads: count(Counter::LogicalReads),
            redo_bytes: count(Counter::RedoBytes),
            sampled_s: Some((self.taken - earlier.taken).as_secs_f64()),
            observed_s: hosts.seconds(),
            host_cpu: hosts.host_cpu(),
            db_cpu: hosts.db_cpu(),
            device: hosts.device().map(|counters| counters.used),
            ..Interval::default()
        }
    }
}
