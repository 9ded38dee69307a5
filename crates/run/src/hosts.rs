//! The hosts of the servers, and who looks at them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use slob_engine::{Engine, Whereabouts};
use slob_host::HostInfo;
use slob_observe::{Asked, Eye, Found, Seen};
use slob_spec::{Observe, RunSpec, SshHost};

/// Looks at the hosts of all servers of a target.
#[derive(Debug)]
pub(crate) struct Hosts {
    eyes: Vec<Eye>,
    places: Arc<Places>,
}

/// What is known of the hosts and servers once they were looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) hosts: Vec<HostPlace>,
    pub(crate) servers: Vec<ServerPlace>,
}

/// A host that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct HostPlace {
    /// What it says of itself; `None` if it can't be looked at.
    pub(crate) info: Option<HostInfo>,
    /// The same for all that are one host.
    pub(crate) key: String,
    /// Whether it is known to be a host of the database.
    pub(crate) is_databases: bool,
    /// Whether it is this program's.
    pub(crate) is_here: bool,
}

/// A server that was looked for.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlace {
    /// The name of its endpoint, where there are several.
    pub(crate) endpoint: Option<String>,
    /// How it is seen, as the parameter has it.
    pub(crate) by: String,
    /// Which of the hosts is its own, and which of the servers that are looked at there it is; `None` if it is not to be seen.
    pub(crate) seen_at: Option<(usize, usize)>,
    /// What was found, or what is lacking.
    pub(crate) found: Result<Box<Found>, String>,
}

/// Where to look for a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Here,
    Far(String),
}

impl Hosts {
    /// Looks for every server, each on the host that `OBSERVE` names for its endpoint. What can't be seen is no error.
    pub(crate) fn look_for(engine: &dyn Engine, spec: &RunSpec) -> Self {
        let names = engine.endpoints();
        let mut ways: BTreeMap<Way, Option<SshHost>> = BTreeMap::new();
        let wanted: Vec<(Whereabouts, Observe, Result<Option<Way>, String>)> = engine
            .whereabouts()
            .into_iter()
            .map(|server| {
                let observe = spec.observe.of_endpoint(server.endpoint).clone();
                let way = way(&observe, server.host.as_deref());
                if let Ok(Some((way, ssh))) = &way {
                    ways.insert(way.clone(), ssh.clone());
                }
                (server, observe, way.map(|way| way.map(|(way, _)| way)))
            })
            .collect();
        let (ways, hosts): (Vec<Way>, Vec<Option<SshHost>>) = ways.into_iter().unzip();
        let mut eyes = open(hosts, spec.observe_copy);
        let mut asked = vec![0; eyes.len()];
        let servers = wanted.into_iter().map(|(server, observe, way)| {
            let find = || {
                let way = way?.ok_or(
                    "it was not to be looked for; name its host (--observe ssh:HOST) and it will be",
                )?;
                let host = ways.iter().position(|one| *one == way).ok_or("there is nobody to look for it")?;
                let mut clues = server.clues.clone();
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
        let hosts = eyes.iter().zip(&ways).enumerate().map(|(number, (eye, way))| {
            let hello = eye.hello();
            let found = |server: &ServerPlace| {
                server.found.is_ok() && server.seen_at.is_some_and(|(host, _)| host == number)
            };
            HostPlace {
                info: hello.map(|hello| hello.host.clone()),
                key: hello.and_then(|hello| hello.boot.clone()).unwrap_or_else(|| format!("host {number}")),
                is_databases: hello.is_some() && (matches!(way, Way::Far(_)) || servers.iter().any(found)),
                is_here: eye.is_here(),
            }
        });
        let places = Arc::new(Places { hosts: hosts.collect(), servers });
        Self { eyes, places }
    }

    pub(crate) fn places(&self) -> &Arc<Places> {
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
fn open(hosts: Vec<Option<SshHost>>, copy: bool) -> Vec<Eye> {
    let open = |host: Option<SshHost>| host.map_or_else(Eye::here, |host| Eye::far(host, copy));
    thread::scope(|scope| {
        let opening: Vec<_> = hosts.into_iter().map(|host| scope.spawn(move || open(host))).collect();
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
