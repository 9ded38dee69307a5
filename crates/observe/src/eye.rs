//! An observer to whoever asks, wherever it is.

use std::path::Path;
use std::time::{Duration, Instant};

use slob_engine::Clues;
use slob_host::{Device, ProbePlan, ProbeResult};
use slob_spec::SshHost;

use crate::message::{Ask, Hello, Told};
use crate::observer::Observer;
use crate::remote::{Remote, Sent};
use crate::{Found, Sight, host_id};

/// An observer of one host: in this process, or at the end of an ssh connection.
#[derive(Debug)]
pub struct Eye {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Here(Box<Observer>, Box<Hello>),
    Far(Box<Remote>),
}

/// A sight, and what is known of the asking.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What was seen.
    pub sight: Sight,
    /// Which observer of this eye saw it: one that ended is followed by another.
    pub observer: u32,
    /// From the question to its answer: the moment of the sight lies between.
    pub round_trip: Duration,
}

/// A question that is under way.
#[derive(Debug)]
#[must_use]
pub struct Asked(Option<Sent>, bool);

impl Eye {
    /// Of this host.
    #[must_use]
    pub fn here() -> Self {
        Self { place: Place::Here(Box::default(), Box::new(Observer::hello())) }
    }

    /// Of a host that is reached through ssh; with `copy` a copy of this program is run there. That it can't be reached is no
    /// error: [`Eye::hello`] is then absent, and [`Eye::blindness`] says why.
    #[must_use]
    pub fn far(host: SshHost, copy: bool) -> Self {
        Self::far_by(Path::new("ssh"), host, copy)
    }

    /// The same by a client that need not be the system's `ssh`, but takes its arguments.
    #[must_use]
    pub fn far_by(client: &Path, host: SshHost, copy: bool) -> Self {
        Self { place: Place::Far(Box::new(Remote::open(client, host, copy))) }
    }

    /// What the observer said first; `None` if there is none.
    #[must_use]
    pub fn hello(&self) -> Option<&Hello> {
        match &self.place {
            Place::Here(_, hello) => Some(hello),
            Place::Far(remote) => remote.hello(),
        }
    }

    /// Why there is no observer; `None` if there is one.
    #[must_use]
    pub fn blindness(&self) -> Option<&str> {
        match &self.place {
            Place::Here(..) => None,
            Place::Far(remote) => remote.blindness(),
        }
    }

    /// Whether it is the host of this process, as far as can be told.
    #[must_use]
    pub fn is_here(&self) -> bool {
        let boot = |hello: &Hello| hello.boot.is_some() && hello.boot == host_id::boot();
        matches!(self.place, Place::Here(..)) || self.hello().is_some_and(boot)
    }

    /// Whether there is an observer, and it does not see this process by its number.
    #[must_use]
    pub fn is_known_to_be_elsewhere(&self) -> bool {
        self.hello().is_some() && !self.numbers_processes_as_here()
    }

    fn numbers_processes_as_here(&self) -> bool {
        let numbering = |hello: &Hello| hello.numbering.is_some() && hello.numbering == host_id::numbering();
        self.is_here() && self.hello().is_some_and(numbering)
    }

    /// Looks for a server, which is looked at from then on: sights have them in the order of these calls, those that were not found
    /// too.
    ///
    /// # Errors
    /// With what is lacking.
    pub fn find(&mut self, clues: Clues) -> Result<Found, String> {
        let asker = self.numbers_processes_as_here().then(std::process::id);
        let told = match &mut self.place {
            Place::Here(observer, _) => Ok(observer.answer(Ask::Find { clues, asker }, &mut |_| true)),
            Place::Far(remote) => remote.find(clues, asker),
        };
        match told? {
            Told::Found(found) => Ok(*found),
            Told::NotFound(lacking) => Err(lacking),
            _ => Err("the observer's answer is none to the question for the server".into()),
        }
    }

    /// Asks how things stand; does not wait for one that is far.
    pub fn ask(&mut self, edge: bool) -> Asked {
        match &mut self.place {
            Place::Here(..) => Asked(None, edge),
            Place::Far(remote) => Asked(remote.send_look(edge), edge),
        }
    }

    /// The answer; `None` if there is none in time, or it can't be believed.
    pub fn answer(&mut self, asked: Asked) -> Option<Seen> {
        let Asked(sent, edge) = asked;
        match &mut self.place {
            Place::Here(observer, _) => {
                let begun = Instant::now();
                let Told::Sight(sight) = observer.answer(Ask::Look { edge }, &mut |_| true) else {
                    return None;
                };
                Some(Seen { sight: *sight, observer: 0, round_trip: begun.elapsed() })
            }
            Place::Far(remote) => remote.look(&sent?),
        }
    }

    /// Measures what the device behind a folder of the host can do; `progress` is told how far it is.
    ///
    /// # Errors
    /// With what was said instead.
    pub fn probe(
        &mut self,
        plan: &ProbePlan,
        progress: &mut dyn FnMut(u64, u64, &str) -> bool,
    ) -> Result<(ProbeResult, Option<Device>), String> {
        let mut tell = |told: Told| match told {
            Told::Progress { done, of, at } => progress(done, of, &at),
            _ => true,
        };
        let told = match &mut self.place {
            Place::Here(observer, _) => Ok(observer.answer(Ask::Probe { plan: plan.clone() }, &mut tell)),
            Place::Far(remote) => remote.probe(plan, &mut tell),
        };
        match told? {
            Told::Probed { result, device } => Ok((*result, device.map(|device| *device))),
            Told::Failed(why) => Err(why),
            _ => Err("the observer's answer is none to the question for a probe".into()),
        }
    }

    /// What went wrong with the observer until now, a sentence each.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        match &self.place {
            Place::Here(..) => &[],
            Place::Far(remote) => remote.faults(),
        }
    }
}
