//! The places where servers listen.

use std::fmt;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use slob_engine::{EngineError, ErrorKind};
use slob_server::network::{host_and_port, is_loopback};
use slob_server::{port, unusable};
use slob_spec::Endpoint as Named;

use super::sources::Sources;

/// The server's default port.
const PORT: u16 = 5432;
const PORT_SOURCES: &str = "port= in the query, the service file, or PGPORT";
/// Where packages of distributions put the unix socket, and where a server built from source does.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// One place where a server listens.
pub(super) struct Endpoint {
    pub(super) place: Place,
    pub(super) port: u16,
    /// What the name service said, asked once for all sessions.
    addresses: OnceLock<Vec<IpAddr>>,
}

/// A name or address of the network, or the folder of a unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Network(String),
    Socket(PathBuf),
}

impl Endpoint {
    fn new(host: &str, port: u16) -> Self {
        let place = if host.starts_with('/') {
            Place::Socket(PathBuf::from(host))
        } else {
            Place::Network(host.to_owned())
        };
        Self { place, port, addresses: OnceLock::new() }
    }

    /// Whether it is reached without a network. What listens there may pass everything on: a tunnel, a port of a container.
    pub(super) fn is_local(&self) -> bool {
        match &self.place {
            Place::Socket(_) => true,
            Place::Network(host) => is_loopback(host),
        }
    }

    /// The name that a password file knows it by.
    pub(super) fn passfile_host(&self) -> String {
        match &self.place {
            Place::Network(host) => host.clone(),
            Place::Socket(folder) if SOCKET_FOLDERS.iter().any(|default| folder == Path::new(default)) => {
                "localhost".to_owned()
            }
            Place::Socket(folder) => folder.display().to_string(),
        }
    }

    /// The addresses of a name; none for a unix socket.
    ///
    /// # Errors
    /// If the name is unknown. That is not remembered: the next call asks again.
    pub(super) fn addresses(&self) -> Result<&[IpAddr], EngineError> {
        let Place::Network(host) = &self.place else { return Ok(&[]) };
        if let Some(known) = self.addresses.get() {
            return Ok(known);
        }
        let found = (host.as_str(), self.port).to_socket_addrs().map_err(|error| {
            EngineError::new(
                ErrorKind::Connection,
                format!("looking up the host '{host}'"),
                error.to_string(),
            )
            .with_advice("check the host's name in the target, or give its address")
        })?;
        Ok(self.addresses.get_or_init(|| found.map(|address| address.ip()).collect()))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Network(host) => f.write_str(&host_and_port(host, self.port)),
            Place::Socket(folder) => write!(f, "{}:{}", folder.display(), self.port),
        }
    }
}

/// Where to connect: `named`, the hosts of the URL, else `host` of the query, a service or the environment, else the unix
/// socket in its default folder. A host without a port takes the one of `port`; of a list, the one at its place.
///
/// # Errors
/// If a port is not a number, or the numbers of hosts and ports differ.
pub(super) fn endpoints(named: &[Named], sources: &Sources<'_>) -> Result<Vec<Endpoint>, EngineError> {
    let hosts: Vec<(String, Option<u16>)> = match (named, sources.get("host")) {
        ([], Some(text)) => text.split(',').map(|host| (host.trim().to_owned(), None)).collect(),
        ([], None) => vec![(default_folder().to_owned(), None)],
        _ => named.iter().map(|end| (end.host.clone(), end.port)).collect(),
    };
    let ports = match sources.get("port") {
        Some(text) => text.split(',').map(|text| port(text, PORT_SOURCES)).collect::<Result<_, _>>()?,
        None => vec![PORT],
    };
    if ports.len() != 1 && ports.len() != hosts.len() {
        let message = format!("there are {} ports for {} hosts", ports.len(), hosts.len());
        return Err(
            unusable(message).with_advice("give one port for all hosts or one for each, in port= or PGPORT")
        );
    }
    let ports = ports.iter().cycle();
    Ok(hosts.iter().zip(ports).map(|((host, own), port)| Endpoint::new(host, own.unwrap_or(*port))).collect())
}

fn default_folder() -> &'static str {
    SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).is_dir()).unwrap_or(SOCKET_FOLDERS[0])
}
