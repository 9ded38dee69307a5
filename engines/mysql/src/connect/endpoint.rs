//! The places where servers listen.

use std::fmt;
use std::path::PathBuf;

use slob_engine::EngineError;
use slob_server::network::{host_and_port, is_loopback};
use slob_server::port as server_port;
use slob_spec::Endpoint as Named;

use super::sources::Sources;

/// The server's default port.
const PORT: u16 = 3306;
const PORT_SOURCES: &str = "port= in the query, an option file, or MYSQL_TCP_PORT";
const LOOPBACK: &str = "127.0.0.1";

/// One place where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// A name or address of the network, and a port.
    Network(String, u16),
    /// A unix socket.
    Socket(PathBuf),
}

impl Endpoint {
    /// Whether it is reached without a network. What listens there may pass everything on: a tunnel, a port of a container.
    pub(super) fn is_local(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Network(host, _) => is_loopback(host),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(host, port) => f.write_str(&host_and_port(host, *port)),
            Self::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Where to connect: `named`, the hosts of the URL, of which one that begins with a slash is a unix socket; else the host or
/// the socket of the query, an option file or the environment; else loopback.
///
/// # Errors
/// If a port is not a number.
pub(super) fn endpoints(named: &[Named], sources: &Sources<'_>) -> Result<Vec<Endpoint>, EngineError> {
    let port = sources.get("port").map_or(Ok(PORT), |text| server_port(&text, PORT_SOURCES))?;
    let at = |host: &str, own: Option<u16>| match host.strip_prefix('/') {
        Some(_) => Endpoint::Socket(PathBuf::from(host)),
        None => Endpoint::Network(host.to_owned(), own.unwrap_or(port)),
    };
    if !named.is_empty() {
        return Ok(named.iter().map(|end| at(&end.host, end.port)).collect());
    }
    let hosts = sources.get("host").filter(|_| sources.query("socket").is_none());
    Ok(match (sources.get("socket"), hosts.as_deref()) {
        // Where distributions name a socket for all clients, a host is still a host.
        (Some(socket), None | Some("localhost")) => vec![Endpoint::Socket(PathBuf::from(socket))],
        (_, Some(hosts)) => hosts.split(',').map(|host| at(host.trim(), None)).collect(),
        (None, None) => vec![at(LOOPBACK, None)],
    })
}
