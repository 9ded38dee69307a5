//! Parameters, endpoints, users and time limits of connections.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, Result};
use slob_spec::Target;

/// The default.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);
// Keepalive (10 + 4 * 5 s) or the user timeout of RFC 5482 notices a lost peer after half a minute.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const KEEPALIVE_PROBES: u32 = 4;
pub const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Tests supply their own.
pub struct Environment<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Environment<'_> {
    pub fn process() -> Environment<'static> {
        Environment(&|name| std::env::var(name).ok())
    }

    /// Empty counts as unset.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }

    fn account(&self) -> Option<String> {
        let uid = std::fs::metadata("/proc/self").ok()?.uid().to_string();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let mut accounts = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let own = accounts.find(|fields| fields.get(2) == Some(&uid.as_str()));
        // Accounts of a directory service are not in the file.
        own.map(|fields| fields[0].to_owned()).or_else(|| self.variable("USER"))
    }
}

#[derive(Clone, Copy)]
pub struct Keywords {
    pub names: &'static str,
    /// Brings a name of a target's query into the client's spelling.
    pub spelling: fn(&str) -> String,
}

impl Keywords {
    fn all(&self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        let with_variable = |(name, variable)| (name, Some(variable));
        self.names.split(' ').map(move |word| word.split_once('=').map_or((word, None), with_variable))
    }
}

pub struct Parameters<'a> {
    keywords: Keywords,
    target: &'a Target,
    pub environment: &'a Environment<'a>,
    pub file: BTreeMap<String, String>,
}

impl<'a> Parameters<'a> {
    /// Knows no file yet. An unknown parameter of the query is an error of [`ErrorKind::Usage`].
    pub fn new(keywords: Keywords, target: &'a Target, environment: &'a Environment<'a>) -> Result<Self> {
        let known: Vec<&str> = keywords.all().map(|(name, _)| name).collect();
        let is_unknown = |name: &str| !known.contains(&(keywords.spelling)(name).as_str());
        if let Some((name, _)) = target.query().iter().find(|(name, _)| is_unknown(name)) {
            return Err(unusable(format!("'{name}' in its query is not a parameter of a connection"))
                .with_advice(format!("known are {}", known.join(", "))));
        }
        Ok(Self { keywords, target, environment, file: BTreeMap::new() })
    }

    pub fn get(&self, name: &str) -> Option<String> {
        let query = self.query(name).map(str::to_owned);
        let variable = || {
            let (_, variable) = self.keywords.all().find(|(known, _)| *known == name)?;
            self.environment.variable(variable?)
        };
        let value = query.or_else(|| self.file.get(name).cloned()).or_else(variable);
        value.filter(|value| !value.is_empty())
    }

    /// The last one counts.
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut query = self.target.query().iter().rev();
        query.find(|(key, _)| (self.keywords.spelling)(key) == name).map(|(_, value)| value.as_str())
    }

    /// The account's name is the last resort, as for the servers' own clients. `example` shows how to write a user.
    pub fn user(&self, example: &str) -> Result<String> {
        let user = self.target.user().map(str::to_owned).or_else(|| self.get("user"));
        user.or_else(|| self.environment.account()).ok_or_else(|| {
            unusable("it names no user, and this account has no name").with_advice(format!("write {example}"))
        })
    }
}

pub fn unusable(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Usage, "reading the target", message)
}

/// `sources` says where a port may come from.
pub fn port(text: &str, sources: &str) -> Result<u16> {
    text.trim().parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        unusable(format!("the port '{text}' is not a number from 1 to 65535"))
            .with_advice(format!("it comes from {sources}"))
    })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub host: Host,
    /// 0 for a unix socket whose name holds no port.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Network(String),
    /// A folder may stand for its socket.
    Socket(PathBuf),
}

impl Endpoint {
    /// A leading slash means a unix socket.
    pub fn new(host: &str, port: u16) -> Self {
        let host = match host.starts_with('/') {
            true => Host::Socket(PathBuf::from(host)),
            false => Host::Network(host.to_owned()),
        };
        Self { host, port }
    }

    /// A tunnel or a container's port may still lead elsewhere.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Socket(_) => true,
            Host::Network(host) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Network(host) => f.write_str(&host_and_port(host, self.port)),
            Host::Socket(path) if self.port == 0 => write!(f, "{}", path.display()),
            Host::Socket(path) => write!(f, "{}:{}", path.display(), self.port),
        }
    }
}

/// Brackets an IPv6 address.
pub fn host_and_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: Keywords =
        Keywords { names: "port=DBPORT ssl-mode", spelling: |name| name.replace('_', "-") };

    #[test]
    fn an_unknown_parameter_is_named_with_the_known_ones() {
        let environment = Environment(&|_| None);
        let check =
            |target: &str| Parameters::new(KEYWORDS, &target.parse().unwrap(), &environment).map(drop);
        assert!(check("db://h/?port=1&ssl_mode=x").is_ok());
        let error = check("db://h/?prot=1").unwrap_err().to_string();
        assert!(error.contains("'prot'") && error.contains("port, ssl-mode"), "{error}");
    }

    #[test]
    fn an_empty_variable_is_unset() {
        let port = |value: &'static str| {
            let variables = move |name: &str| (name == "DBPORT").then(|| value.to_owned());
            let (environment, target) = (Environment(&variables), "db://h".parse().unwrap());
            Parameters::new(KEYWORDS, &target, &environment).unwrap().get("port")
        };
        assert_eq!((port("7"), port("")), (Some("7".into()), None));
    }

    #[test]
    fn a_port_is_a_number_that_is_not_zero() {
        assert_eq!(port(" 5432 ", "port=").unwrap(), 5432);
        for text in ["0", "65536", "x", ""] {
            assert!(port(text, "port=").unwrap_err().to_string().contains("port="), "{text}");
        }
    }

    #[test]
    fn local_endpoints_are_known_by_name_or_address() {
        let is_local = |host| Endpoint::new(host, 1).is_local();
        assert!(["localhost", "127.0.0.1", "127.9.9.9", "::1", "/run/s"].into_iter().all(is_local));
        assert!(!["db1", "0.0.0.0", "192.168.0.1", "localhost.example"].into_iter().any(is_local));
        let shown = [("::1", 1), ("db", 1), ("/run", 1), ("/run/s", 0)]
            .map(|(host, port)| Endpoint::new(host, port).to_string());
        assert_eq!(shown, ["[::1]:1", "db:1", "/run:1", "/run/s"]);
    }
}
