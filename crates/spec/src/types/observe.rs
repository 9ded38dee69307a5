//! How the host of the database is seen.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::BadValue;

/// How one host is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observe {
    /// It is this one, if the server is found here.
    Auto,
    /// It is this one, and this is the server's first process.
    Pid(u32),
    /// By an observer that is started there through ssh.
    Ssh(SshHost),
    /// Not at all.
    None,
}

/// Where ssh goes to. No part of it can be taken for an option, and none means anything to a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SshHost {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

/// Stands for the host of the endpoint.
const ENDPOINT: &str = "%h";

impl SshHost {
    /// The account, if it is not the one that ssh takes by itself.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host's name or address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if it is not the one that ssh takes by itself.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The same with the host of an endpoint in the place of `%h`.
    ///
    /// # Errors
    /// If that is no name that ssh could be given.
    pub fn at(&self, endpoint: &str) -> Result<Self, BadValue> {
        let host = self.host.replace(ENDPOINT, endpoint);
        if is_host(&host) { Ok(Self { host, ..self.clone() }) } else { Err(BadValue::expected(HOST)) }
    }

    /// What a person types to get there.
    #[must_use]
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
        match (self.host.contains(':'), self.port) {
            (true, _) => write!(f, "[{}]", self.host)?,
            (false, _) => f.write_str(&self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for SshHost {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected(Observe::PERMITTED);
        let (user, place) = text.rsplit_once('@').map_or((None, text), |(user, place)| (Some(user), place));
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or_else(bad)?)),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port =
            port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(bad)).transpose()?;
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
    const PERMITTED: &str =
        "auto, pid:N, ssh:[USER@]HOST[:PORT] or none, or one of these for each endpoint, with commas between";
}

impl fmt::Display for Observe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Pid(pid) => write!(f, "pid:{pid}"),
            Self::Ssh(host) => write!(f, "ssh:{host}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for Observe {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::expected(Self::PERMITTED);
        match text.split_once(':') {
            None if text.eq_ignore_ascii_case("auto") => Ok(Self::Auto),
            None if text.eq_ignore_ascii_case("none") => Ok(Self::None),
            Some(("pid", number)) => {
                let digits = number.bytes().all(|byte| byte.is_ascii_digit());
                number.parse().ok().filter(|pid| digits && *pid > 0).map(Self::Pid).ok_or_else(bad)
            }
            Some(("ssh", host)) => host.parse().map(Self::Ssh),
            _ => Err(bad()),
        }
    }
}

/// How the hosts of all endpoints are seen: one way for all, or one for each in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Observers(Vec<Observe>);

impl Observers {
    pub(crate) const PERMITTED: &str = Observe::PERMITTED;

    /// That of an endpoint, counted from 0.
    #[must_use]
    pub fn of_endpoint(&self, endpoint: usize) -> &Observe {
        // There is at least one.
        self.0.get(endpoint).or(self.0.first()).unwrap_or(&Observe::Auto)
    }

    /// How many there are; one is for all endpoints.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Every one.
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
        for (number, observe) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            observe.fmt(f)?;
        }
        Ok(())
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
    use rstest::rstest;

    #[rstest]
    #[case("auto")]
    #[case("none")]
    #[case("pid:4711")]
    #[case("ssh:db1")]
    #[case("ssh:joe@db1.example.com:2222")]
    #[case("ssh:[2001:db8::1]:22")]
    #[case("ssh:[::1]")]
    #[case("ssh:joe@%h")]
    #[case("auto,ssh:db1,none")]
    fn reads_and_shows(#[case] text: &str) {
        assert_eq!(text.parse::<Observers>().unwrap().to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("here")]
    #[case("pid:")]
    #[case("pid:0")]
    #[case("pid:+1")]
    #[case("ssh:")]
    #[case("ssh:-oProxyCommand=x")]
    #[case("ssh:joe@-oProxyCommand=x")]
    #[case("ssh:-l@db1")]
    #[case("ssh:db1;reboot")]
    #[case("ssh:db 1")]
    #[case("ssh:$(reboot)")]
    #[case("ssh:db1:0")]
    #[case("ssh:db1:port")]
    #[case("ssh:db1/x")]
    #[case("auto,")]
    fn refuses(#[case] text: &str) {
        assert!(text.parse::<Observers>().is_err(), "{text}");
    }

    #[test]
    fn the_host_of_an_endpoint_takes_its_place_and_must_be_one() {
        let Observe::Ssh(host) = "ssh:joe@%h:22".parse().unwrap() else { panic!() };
        assert_eq!(host.at("db2").unwrap().to_string(), "joe@db2:22");
        assert_eq!(host.at("db2").unwrap().command(), "ssh -p 22 joe@db2");
        assert_eq!(host.at("::1").unwrap().to_string(), "joe@[::1]:22");
        for bad in ["-oProxyCommand=x", "a b", "$(x)", "", "/run/postgresql"] {
            assert!(host.at(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_is_for_all_endpoints() {
        let all: Observers = "none".parse().unwrap();
        assert_eq!(all.of_endpoint(5), &Observe::None);
        let each: Observers = "auto,none".parse().unwrap();
        assert_eq!((each.of_endpoint(0), each.of_endpoint(1)), (&Observe::Auto, &Observe::None));
    }
}
