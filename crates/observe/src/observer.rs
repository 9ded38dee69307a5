//! An observer of one host, local or remote.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use slob_engine::Clues;
use slob_host::{Device, ProbePlan, ProbeResult};
use slob_spec::SshHost;

use crate::local::{self, LocalObserver};
use crate::protocol::{Hello, Reply, Request};
use crate::remote::{RemoteObserver, SentRequest};
use crate::{FoundServer, HostSample};

/// The wish to stop of a caller whose user can't have one.
pub static NEVER: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub struct Observer(Kind);

#[derive(Debug)]
enum Kind {
    Local(Box<LocalObserver>, Box<Hello>),
    Remote(Box<RemoteObserver>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub sample: HostSample,
    /// Number of the observer's process: one that ended has a successor.
    pub observer: u32,
    /// Time from request to reply. The sample was taken in between.
    pub round_trip: Duration,
}

#[derive(Debug)]
#[must_use]
pub struct PendingSample {
    sent: Option<SentRequest>,
    edge: bool,
}

impl Observer {
    pub fn local() -> Self {
        Self(Kind::Local(Box::default(), Box::new(LocalObserver::hello())))
    }

    /// An observer of a host that is reached through ssh; with `copy` the host runs a copy of this program.
    ///
    /// An unreachable host is no error: [`Observer::hello`] then gives the reason. This and all requests end soon after `stop` is set.
    pub fn remote(host: SshHost, copy: bool, stop: &AtomicBool) -> Self {
        Self::remote_by(Path::new("ssh"), host, copy, stop)
    }

    /// The same by another client that takes the arguments of `ssh`.
    pub fn remote_by(client: &Path, host: SshHost, copy: bool, stop: &AtomicBool) -> Self {
        Self(Kind::Remote(Box::new(RemoteObserver::open(client, host, copy, stop))))
    }

    pub fn hello(&self) -> Result<&Hello, &str> {
        match &self.0 {
            Kind::Local(_, hello) => Ok(hello),
            Kind::Remote(remote) => remote.hello(),
        }
    }

    pub fn is_this_host(&self) -> bool {
        matches!(self.0, Kind::Local(..)) || self.agrees(|hello| &hello.boot, local::boot)
    }

    /// True if the observer exists, and numbers processes in another way than this one.
    pub fn is_known_to_be_elsewhere(&self) -> bool {
        self.hello().is_ok() && !self.shares_pids()
    }

    fn shares_pids(&self) -> bool {
        self.is_this_host() && self.agrees(|hello| &hello.numbering, local::pid_namespace)
    }

    /// True if the hello has a value, and this process has the same.
    fn agrees(&self, theirs: fn(&Hello) -> &Option<String>, own: fn() -> Option<String>) -> bool {
        self.hello().is_ok_and(|hello| theirs(hello).is_some() && *theirs(hello) == own())
    }

    /// Finds a server, which later samples include. They list all searches in order, failed ones too.
    pub fn find(&mut self, clues: Clues, stop: &AtomicBool) -> Result<FoundServer, String> {
        let asker = self.shares_pids().then(std::process::id);
        match self.request(Request::Find { clues, asker }, &mut |_| true, stop)? {
            Reply::Found(found) => Ok(*found),
            Reply::NotFound(lacking) => Err(lacking),
            _ => Err("the observer's answer is none to the question for the server".into()),
        }
    }

    /// Measures the device behind a folder of the host, for as long as `progress` returns true. It gets the work done, the
    /// total, and the name of the step.
    pub fn probe(
        &mut self,
        plan: &ProbePlan,
        progress: &mut dyn FnMut(u64, u64, &str) -> bool,
        stop: &AtomicBool,
    ) -> Result<(ProbeResult, Option<Device>), String> {
        let mut on_reply = |reply: Reply| match reply {
            Reply::Progress { done, of, at } => progress(done, of, &at),
            _ => true,
        };
        match self.request(Request::Probe { plan: plan.clone() }, &mut on_reply, stop)? {
            Reply::Probed { result, device } => Ok((*result, device.map(|device| *device))),
            Reply::Failed(why) => Err(why),
            _ => Err("the observer's answer is none to the question for a probe".into()),
        }
    }

    /// Traces the servers that were found, for all samples at edges from now on. Fails with a clause on the obstacle.
    pub fn trace(&mut self, block_bytes: u32, stop: &AtomicBool) -> Result<(), String> {
        self.hello()?;
        match self.request(Request::Trace { block_bytes }, &mut |_| true, stop)? {
            Reply::Tracing => Ok(()),
            Reply::Failed(why) => Err(why),
            _ => Err("the observer's answer is none to the question for a trace".into()),
        }
    }

    fn request(
        &mut self,
        request: Request,
        progress: &mut dyn FnMut(Reply) -> bool,
        stop: &AtomicBool,
    ) -> Result<Reply, String> {
        match &mut self.0 {
            Kind::Local(observer, _) => Ok(observer.answer(request, progress)),
            Kind::Remote(remote) => remote.request(request, progress, stop),
        }
    }

    /// Asks for a sample, without waiting for a remote one. At an `edge` of the window it includes all figures.
    pub fn request_sample(&mut self, edge: bool) -> PendingSample {
        let sent = match &mut self.0 {
            Kind::Local(..) => None,
            Kind::Remote(remote) => remote.request_sample(edge),
        };
        PendingSample { sent, edge }
    }

    /// The sample; `None` if it does not come in time, or is implausible.
    pub fn receive_sample(&mut self, pending: PendingSample) -> Option<Observation> {
        let PendingSample { sent, edge } = pending;
        match &mut self.0 {
            Kind::Local(observer, _) => {
                let begun = Instant::now();
                let sample = observer.sample(edge);
                Some(Observation { sample, observer: 0, round_trip: begun.elapsed() })
            }
            Kind::Remote(remote) => {
                let sent = sent?;
                let (sample, round_trip) = remote.receive_sample(&sent)?;
                Some(Observation { sample, observer: sent.observer, round_trip })
            }
        }
    }

    /// A sentence for each failure of a remote observer.
    pub fn faults(&self) -> &[String] {
        match &self.0 {
            Kind::Local(..) => &[],
            Kind::Remote(remote) => remote.faults(),
        }
    }
}
