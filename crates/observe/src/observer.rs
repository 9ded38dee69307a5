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
    /// A successor has another number.
    pub observer: u32,
    /// The sample was taken in between.
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

    /// `copy` makes the host run a copy of this program.
    ///
    /// All requests end soon after `stop` is set.
    pub fn remote(host: SshHost, copy: bool, stop: &AtomicBool) -> Self {
        Self::remote_by(Path::new("ssh"), host, copy, stop)
    }

    /// `client` takes the arguments of `ssh`.
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

    /// It exists, and numbers processes in another way than this one.
    pub fn is_known_to_be_elsewhere(&self) -> bool {
        self.hello().is_ok() && !self.shares_pids()
    }

    fn shares_pids(&self) -> bool {
        self.is_this_host() && self.agrees(|hello| &hello.numbering, local::pid_namespace)
    }

    /// A missing value agrees with none.
    fn agrees(&self, theirs: fn(&Hello) -> &Option<String>, own: fn() -> Option<String>) -> bool {
        self.hello().is_ok_and(|hello| theirs(hello).is_some() && *theirs(hello) == own())
    }

    /// Later samples include the server. They list failed searches too.
    pub fn find(&mut self, clues: Clues, stop: &AtomicBool) -> Result<FoundServer, String> {
        let asker = self.shares_pids().then(std::process::id);
        match self.request(Request::Find { clues, asker }, &mut |_| true, stop)? {
            Reply::Found(found) => Ok(*found),
            Reply::NotFound(lacking) => Err(lacking),
            _ => Err("the observer's answer is none to the question for the server".into()),
        }
    }

    /// `progress` gets the work done, the total, and the name of the step. False ends the probe.
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

    /// Samples at edges then have a trace. The error is a clause.
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

    /// An `edge` of the window includes all figures.
    pub fn request_sample(&mut self, edge: bool) -> PendingSample {
        let sent = match &mut self.0 {
            Kind::Local(..) => None,
            Kind::Remote(remote) => remote.request_sample(edge),
        };
        PendingSample { sent, edge }
    }

    /// `None` if it is late or implausible.
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

    /// Failures of a remote observer.
    pub fn faults(&self) -> &[String] {
        match &self.0 {
            Kind::Local(..) => &[],
            Kind::Remote(remote) => remote.faults(),
        }
    }
}
