//! Observation of the database's hosts.

use std::fmt;
use std::str::FromStr;

use crate::target::{read_port, split_port};
use crate::types::{BadValue, whole};

#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum Observe {
    /// Looks on this host.
    #[display("auto")]
    Auto,
    /// The server's first process on this host.
    #[display("pid:{_0}")]
    Pid(u32),
    /// Starts an observer there through ssh.
    #[display("ssh:{_0}")]
    Ssh(SshHost),
    #[display("none")]
    None,
}

/// No part can be taken for an option or for shell syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

const ENDPOINT: &str = "%h";

impl SshHost {
    /// `None` is ssh's default.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// `None` is ssh's default.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The endpoint's host replaces `%h`. Fails if the result is no name for ssh.
    pub fn at(&self, endpoint: &str) -> Result<Self, BadValue> {
        let host = self.host.replace(ENDPOINT, endpoint);
        if is_host(&host) { Ok(Self { host, ..self.clone() }) } else { Err(BadValue::expected(HOST)) }
    }

    pub fn command(&self) -> String {
        let port = self.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("ssh {port}{user}{}", self.host)
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for SshHost {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected(Observe::PERMITTED);
        let (user, place) = text.rsplit_once('@').map_or((None, text), |(user, place)| (Some(user), place));
        let (host, port) = split_port(place).ok_or_else(bad)?;
        let port = port.map(|port| read_port(port).ok_or_else(bad)).transpose()?;
        let is_sound = user.is_none_or(is_name) && is_host(&host.replace(ENDPOINT, "h"));
        if !is_sound {
            return Err(bad());
        }
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port })
    }
}

const HOST: &str = "a host's name or address, of letters, digits, '.', '-', '_' and ':'";

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(allowed)
}

fn is_host(text: &str) -> bool {
    text.split(':').all(|part| part.is_empty() || is_name(part)) && !text.is_empty() && !text.starts_with('-')
}

impl Observe {
    pub(crate) const PERMITTED: &str =
        "auto, pid:N, ssh:[USER@]HOST[:PORT] or none, or one of these for each endpoint, with commas between";
}

impl FromStr for Observe {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected(Self::PERMITTED);
        match text.split_once(':') {
            None if text.eq_ignore_ascii_case("auto") => Ok(Self::Auto),
            None if text.eq_ignore_ascii_case("none") => Ok(Self::None),
            Some(("pid", number)) => {
                let pid = whole(number).and_then(|pid| u32::try_from(pid).ok());
                pid.filter(|pid| *pid > 0).map(Self::Pid).ok_or_else(bad)
            }
            Some(("ssh", host)) => host.parse().map(Self::Ssh),
            _ => Err(bad()),
        }
    }
}

/// One way for all endpoints, or one for each in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observers(Vec<Observe>);

impl Observers {
    /// The first endpoint is 0.
    pub fn of_endpoint(&self, endpoint: usize) -> &Observe {
        self.0.get(endpoint).or(self.0.first()).unwrap_or(&Observe::Auto)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Observe> {
        self.0.iter()
    }
}

impl Default for Observers {
    fn default() -> Self {
        Self(vec![Observe::Auto])
    }
}

impl fmt::Display for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways: Vec<String> = self.0.iter().map(Observe::to_string).collect();
        f.write_str(&ways.join(","))
    }
}

impl FromStr for Observers {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        text.split(',').map(|part| part.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_and_shown() {
        let all = "auto|none|pid:4711|ssh:db1|ssh:joe@db1.example.com:2222|ssh:[2001:db8::1]:22|ssh:[::1]|\
            ssh:joe@%h|auto,ssh:db1,none";
        for text in all.split('|') {
            assert_eq!(text.parse::<Observers>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_ways_are_refused() {
        let all = "|here|pid:|pid:0|pid:+1|ssh:|ssh:-oProxyCommand=x|ssh:joe@-oProxyCommand=x|ssh:-l@db1|\
            ssh:db1;reboot|ssh:db 1|ssh:$(reboot)|ssh:db1:0|ssh:db1:port|ssh:db1:+22|ssh:db1/x|auto,";
        for text in all.split('|') {
            assert!(text.parse::<Observers>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_host_of_an_endpoint_replaces_its_placeholder() {
        let Observe::Ssh(host) = "ssh:joe@%h:22".parse().unwrap() else { panic!() };
        assert_eq!(host.at("db2").unwrap().to_string(), "joe@db2:22");
        assert_eq!(host.at("db2").unwrap().command(), "ssh -p 22 joe@db2");
        assert_eq!(host.at("::1").unwrap().to_string(), "joe@[::1]:22");
        for bad in ["-oProxyCommand=x", "a b", "$(x)", "", "/run/postgresql"] {
            assert!(host.at(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_way_is_for_all_endpoints() {
        let all: Observers = "none".parse().unwrap();
        assert_eq!(all.of_endpoint(5), &Observe::None);
        let each: Observers = "auto,none".parse().unwrap();
        assert_eq!((each.of_endpoint(0), each.of_endpoint(1)), (&Observe::Auto, &Observe::None));
    }
}
