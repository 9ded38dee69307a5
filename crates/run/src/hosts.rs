//! The hosts of the servers, and who looks at them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use slob_engine::{Engine, Whereabouts};
use slob_host::HostInfo;
use slob_observe::{Asked, Between, Eye, Found, Hello, Seen};
use slob_spec::{Observe, Observers, SshHost};

use crate::together::HostsSeen;

/// Looks at the hosts of all servers of a target.
#[derive(Debug)]
pub struct Hosts {
    eyes: Vec<Eye>,
    places: Arc<Places>,
}

/// What is known of the hosts and servers once they were looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The hosts that are looked at.
    pub hosts: Vec<HostPlace>,
    /// The servers that were looked for.
    pub servers: Vec<ServerPlace>,
}

/// A host that is looked at.
#[derive(Clone, Debug)]
pub struct HostPlace {
    /// What it says of itself; `None` if it can't be looked at.
    pub hello: Option<Hello>,
    /// Where ssh goes to, if it is not looked at from this process.
    pub ssh: Option<SshHost>,
    /// The same for all that are one host.
    pub(crate) key: String,
    /// Whether it is known to be a host of the database.
    pub(crate) is_databases: bool,
    /// Whether it is this program's.
    pub is_here: bool,
}

impl HostPlace {
    /// What kind of host it is; `None` if it can't be looked at.
    #[must_use]
    pub fn info(&self) -> Option<&HostInfo> {
        self.hello.as_ref().map(|hello| &hello.host)
    }
}

/// A server that was looked for.
#[derive(Clone, Debug)]
pub struct ServerPlace {
    /// The name of its endpoint, where there are several.
    pub endpoint: Option<String>,
    /// How it is seen, as the parameter has it.
    pub by: String,
    /// Which of the hosts is its own, and which of the servers that are looked at there it is; `None` if it is not to be seen.
    pub seen_at: Option<(usize, usize)>,
    /// What was found, or what is lacking.
    pub found: Result<Box<Found>, String>,
}

impl ServerPlace {
    /// CPUs that it may use on its host; `None` if it was not found.
    #[must_use]
    pub fn cpus(&self, host: &HostPlace) -> Option<f64> {
        let found = self.found.as_ref().ok()?;
        let of_host = host.info()?.cpus_online;
        let whole = [of_host, found.cpus_allowed].into_iter().flatten().map(f64::from);
        let quota = found.limits.as_ref().and_then(|limits| limits.cpus);
        whole.chain(quota).reduce(f64::min)
    }
}

/// Where to look for a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Here,
    Far(String),
}

impl Hosts {
    /// Looks for every server, each on the host that `OBSERVE` names for its endpoint. What can't be seen is no error.
    /// `copy` says whether those who look from afar are copies of this program.
    #[must_use]
    pub fn look_for(engine: &dyn Engine, observers: &Observers, copy: bool) -> Self {
        let names = engine.endpoints();
        let mut ways: BTreeMap<Way, Option<SshHost>> = BTreeMap::new();
        let wanted: Vec<(Whereabouts, Observe, Result<Option<Way>, String>)> = engine
            .whereabouts()
            .into_iter()
            .map(|server| {
                let observe = observers.of_endpoint(server.endpoint).clone();
                let way = way(&observe, server.host.as_deref());
                if let Ok(Some((way, ssh))) = &way {
                    ways.insert(way.clone(), ssh.clone());
                }
                (server, observe, way.map(|way| way.map(|(way, _)| way)))
            })
            .collect();
        let (ways, hosts): (Vec<Way>, Vec<Option<SshHost>>) = ways.into_iter().unzip();
        let mut eyes = open(&hosts, copy);
        let mut asked = vec![0; eyes.len()];
        let servers = wanted.into_iter().map(|(server, observe, way)| {
            let find = || {
                let way = way?.ok_or(
                    "it was not to be looked for; name its host (--observe ssh:HOST) and it will be",
                )?;
                let host = ways.iter().position(|one| *one == way).ok_or("there is nobody to look for it")?;
                let mut clues = server.clues.clone();
                // What an engine has by number is this very process.
                if clues.pid.is_some() && eyes[host].is_known_to_be_elsewhere() {
                    return Err("the database is a part of this program, and not on that host".to_owned());
                }
                if let Observe::Pid(pid) = observe {
                    clues.pid = Some(pid);
                }
                let number = asked[host];
                asked[host] += 1;
                Ok::<_, String>(((host, number), eyes[host].find(clues)))
            };
            let (seen_at, found) = match find() {
                Ok((seen_at, found)) => (Some(seen_at), found.map(Box::new)),
                Err(lacking) => (None, Err(lacking)),
            };
            let endpoint = names.get(server.endpoint).cloned();
            ServerPlace { endpoint, by: observe.to_string(), seen_at, found }
        });
        let servers: Vec<ServerPlace> = servers.collect();
        let hosts = eyes.iter().zip(hosts).enumerate().map(|(number, (eye, ssh))| {
            let hello = eye.hello();
            let is_its = |server: &ServerPlace| {
                let is_asked = server.seen_at.is_some_and(|(host, _)| host == number);
                is_asked && (ssh.is_some() || server.found.is_ok())
            };
            HostPlace {
                hello: hello.cloned(),
                key: hello.and_then(|hello| hello.boot.clone()).unwrap_or_else(|| format!("host {number}")),
                is_databases: hello.is_some() && servers.iter().any(is_its),
                is_here: eye.is_here(),
                ssh,
            }
        });
        let places = Arc::new(Places { hosts: hosts.collect(), servers });
        Self { eyes, places }
    }

    /// What is known of them.
    #[must_use]
    pub fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Asks all; does not wait for those that are far.
    pub(crate) fn ask(&mut self, edge: bool) -> Vec<Asked> {
        self.eyes.iter_mut().map(|eye| eye.ask(edge)).collect()
    }

    /// What they answered.
    pub(crate) fn answers(&mut self, asked: Vec<Asked>) -> Vec<Option<Seen>> {
        self.eyes.iter_mut().zip(asked).map(|(eye, asked)| eye.answer(asked)).collect()
    }

    /// What each host and its servers do in that time; a host that does not answer is absent.
    pub fn watch(&mut self, time: Duration) -> Vec<Option<Between>> {
        let begin = self.look();
        thread::sleep(time);
        self.look().since(&begin).hosts
    }

    fn look(&mut self) -> HostsSeen {
        let asked = self.ask(false);
        HostsSeen { places: Arc::clone(&self.places), seen: self.answers(asked) }
    }

    /// What went wrong with those who look.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.eyes.iter().flat_map(Eye::faults).cloned().collect()
    }
}

/// Nothing with `none`.
fn way(observe: &Observe, endpoint: Option<&str>) -> Result<Option<(Way, Option<SshHost>)>, String> {
    match observe {
        Observe::Auto | Observe::Pid(_) => Ok(Some((Way::Here, None))),
        Observe::None => Ok(None),
        Observe::Ssh(host) => {
            let endpoint = endpoint.unwrap_or("localhost");
            let host = host.at(endpoint).map_err(|bad| {
                format!(
                    "the endpoint's host '{}' can't be given to ssh: it must be {}",
                    endpoint.escape_debug(),
                    bad.permitted
                )
            })?;
            Ok(Some((Way::Far(host.to_string()), Some(host))))
        }
    }
}

/// All at the same time: logging in takes a moment each.
fn open(hosts: &[Option<SshHost>], copy: bool) -> Vec<Eye> {
    let open = |host: &Option<SshHost>| host.clone().map_or_else(Eye::here, |host| Eye::far(host, copy));
    thread::scope(|scope| {
        let opening: Vec<_> = hosts.iter().map(|host| scope.spawn(move || open(host))).collect();
        // A thread that panics has said so; its host is then looked at like one that is not there.
        opening.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Eye::here())).collect()
    })
}

impl Places {
    /// The hosts that are known to be the database's, each once.
    pub(crate) fn hosts_of_database(&self) -> impl Iterator<Item = (usize, &HostPlace)> {
        let mut seen: Vec<&str> = Vec::new();
        self.hosts.iter().enumerate().filter(move |(_, host)| {
            let is_new = host.is_databases && !seen.contains(&host.key.as_str());
            if is_new {
                seen.push(&host.key);
            }
            is_new
        })
    }

    /// What people must know of servers that were not found, or not wholly.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |server: &ServerPlace| {
            let of = server.endpoint.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            match &server.found {
                Ok(found) => found.lacking.clone(),
                Err(_) if server.by == Observe::None.to_string() => Vec::new(),
                Err(lacking) => vec![format!(
                    "The server{of} was not seen ({}): {lacking}. Its CPU, and the device behind its data, are not known.",
                    server.by
                )],
            }
        };
        let mut notes: Vec<String> = self.servers.iter().flat_map(note).collect();
        notes.dedup();
        notes
    }
}
