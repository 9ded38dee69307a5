//! An observer on another host. It may die, hang or lie: that costs figures, and it is started again.

mod copy;
mod link;
mod pipe;
mod ssh;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::Clues;
use slob_host::ProbePlan;
use slob_spec::SshHost;

use crate::eye::Seen;
use crate::message::{Ask, Hello, Told};
use link::Link;
use trust::Trust;

/// How long a sight may take before the observer is held to hang: a run must not wait for it.
const LOOK_PATIENCE: Duration = Duration::from_secs(3);
/// Looking for a server goes through all processes and their sockets.
const FIND_PATIENCE: Duration = Duration::from_secs(30);
/// Between two words of a probe lies at most a step, or a part of its scratch file.
const PROBE_PATIENCE: Duration = Duration::from_secs(3600);
/// It is started again so often, then no more.
const MOST_STARTS: u32 = 5;

/// An observer at the end of an ssh connection.
#[derive(Debug)]
pub(crate) struct Remote {
    client: PathBuf,
    host: SshHost,
    copy: bool,
    state: State,
    /// What was looked for, to be looked for again by its successor.
    clues: Vec<LookedFor>,
    /// Observers that were started.
    starts: u32,
    opened: Instant,
    faults: Vec<String>,
}

/// What an observer was told of a server, and when.
#[derive(Clone, Debug)]
struct LookedFor {
    at: Instant,
    clues: Clues,
    asker: Option<u32>,
}

#[derive(Debug)]
enum State {
    Up(Box<Link>, Trust),
    /// Another one is being started.
    Starting(Receiver<Result<Link, String>>),
    /// There is none, for this reason.
    Down(String),
}

/// A question that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    number: u64,
    at: Instant,
    observer: u32,
}

impl Remote {
    pub(crate) fn open(client: &Path, host: SshHost, copy: bool) -> Self {
        let client = client.to_path_buf();
        let state = match Link::open(&client, &host, copy) {
            Ok(link) => State::Up(Box::new(link), Trust::default()),
            Err(fault) => State::Down(fault),
        };
        Self {
            client,
            host,
            copy,
            state,
            clues: Vec::new(),
            starts: 1,
            opened: Instant::now(),
            faults: Vec::new(),
        }
    }

    /// Why there is no observer.
    pub(crate) fn blindness(&self) -> Option<&str> {
        match &self.state {
            State::Up(..) => None,
            State::Starting(_) => Some("it is being started again"),
            State::Down(why) => Some(why),
        }
    }

    pub(crate) fn hello(&self) -> Option<&Hello> {
        match &self.state {
            State::Up(link, _) => Some(&link.hello),
            State::Starting(_) | State::Down(_) => None,
        }
    }

    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// # Errors
    /// If the observer does not answer.
    pub(crate) fn find(&mut self, clues: Clues, asker: Option<u32>) -> Result<Told, String> {
        self.clues.push(LookedFor { at: Instant::now(), clues: clues.clone(), asker });
        let State::Up(link, _) = &mut self.state else { return Err(self.why()) };
        let told = link.ask(Ask::Find { clues, asker }, FIND_PATIENCE);
        told.inspect_err(|fault| self.lose(fault))
    }

    /// # Errors
    /// If the observer does not answer.
    pub(crate) fn probe(
        &mut self,
        plan: &ProbePlan,
        progress: &mut dyn FnMut(Told) -> bool,
    ) -> Result<Told, String> {
        let State::Up(link, _) = &mut self.state else { return Err(self.why()) };
        let number = link.pipe.send(Ask::Probe { plan: plan.clone() })?;
        loop {
            match link.pipe.wait(number, Instant::now() + PROBE_PATIENCE)?.1 {
                told @ Told::Progress { .. } => {
                    if !progress(told) {
                        // It ends with the connection.
                        self.state = State::Down("interrupted".into());
                        return Err("interrupted".into());
                    }
                }
                told => return Ok(told),
            }
        }
    }

    /// Asks how things stand; `None` while there is no observer.
    pub(crate) fn send_look(&mut self, edge: bool) -> Option<Sent> {
        self.take_in_successor();
        let State::Up(link, _) = &mut self.state else { return None };
        let at = Instant::now();
        match link.pipe.send(Ask::Look { edge }) {
            Ok(number) => Some(Sent { number, at, observer: self.starts }),
            Err(fault) => {
                self.lose(&fault);
                None
            }
        }
    }

    /// The answer, if it comes in time and can be.
    pub(crate) fn look(&mut self, sent: &Sent) -> Option<Seen> {
        let Sent { number, at, observer } = *sent;
        let State::Up(link, trust) = &mut self.state else { return None };
        let cpus = link.hello.host.cpus_online;
        let answer = link.pipe.wait(number, at + LOOK_PATIENCE).and_then(|(came, told)| match told {
            Told::Sight(sight) => {
                trust.check(&sight, at, came, cpus)?;
                Ok((came, *sight))
            }
            _ => Err("its answer is none to the question".into()),
        });
        match answer {
            Ok((came, sight)) => Some(Seen { sight, observer, round_trip: came.duration_since(at) }),
            Err(fault) => {
                self.lose(&fault);
                None
            }
        }
    }

    /// Gives up this one and starts another, without waiting for it.
    fn lose(&mut self, fault: &str) {
        let host = &self.host;
        let after_s = self.opened.elapsed().as_secs_f64();
        let again = self.starts < MOST_STARTS;
        let then = if again { "it is started again" } else { "it is not started again" };
        self.faults.push(format!("The observer of ssh:{host} failed after {after_s:.1} s: {fault}; {then}, and figures of the time between are missing."));
        // Ends the old one first.
        self.state = State::Down(fault.to_owned());
        if again {
            self.starts += 1;
            self.start();
        }
    }

    fn start(&mut self) {
        let (sender, receiver) = sync_channel(1);
        let (client, host) = (self.client.clone(), self.host.clone());
        let (copy, clues) = (self.copy, self.clues.clone());
        let start = move || {
            // Nobody may want it any more.
            let _ = sender.send(Link::open(&client, &host, copy).and_then(|link| found_again(link, clues)));
        };
        if thread::Builder::new().name("observer".into()).spawn(start).is_ok() {
            self.state = State::Starting(receiver);
        }
    }

    fn take_in_successor(&mut self) {
        let State::Starting(receiver) = &self.state else { return };
        match receiver.try_recv() {
            Ok(Ok(link)) => self.state = State::Up(Box::new(link), Trust::default()),
            Ok(Err(fault)) => {
                self.state = State::Down(fault.clone());
                self.faults
                    .push(format!("The observer of ssh:{} could not be started again: {fault}.", self.host));
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                self.state = State::Down("the thread that started it ended".into());
            }
        }
    }

    fn why(&self) -> String {
        self.blindness().unwrap_or_default().to_owned()
    }
}

/// Has a new observer look for what its predecessor looked at.
fn found_again(mut link: Link, looked_for: Vec<LookedFor>) -> Result<Link, String> {
    for LookedFor { at, clues, asker } in looked_for {
        let age_s = clues.age_s.map(|age_s| age_s + at.elapsed().as_secs_f64());
        // One that is not found any more is absent from the sights.
        link.ask(Ask::Find { clues: Clues { age_s, ..clues }, asker }, FIND_PATIENCE)?;
    }
    Ok(link)
}

#[cfg(test)]
mod tests;
