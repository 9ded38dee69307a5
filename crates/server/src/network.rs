//! Reaching servers: how long to wait, and what is near.

use std::net::IpAddr;
use std::time::Duration;

use slob_engine::{EngineError, ErrorKind, Unanswered};

/// How long to wait for a server to take a connection, unless a parameter says otherwise.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may take, beyond that, to let a connection in that it has taken.
pub const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);
/// A peer that is gone without a word is noticed after half a minute, whether an answer is awaited from it (keepalive:
/// 10 + 4 * 5 s) or something that was sent to it is not acknowledged ([`USER_TIMEOUT`]).
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// See [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// See [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_PROBES: u32 = 4;
/// The user timeout of RFC 5482.
pub const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a host's name or address leads back to this machine. What listens there may pass everything on: a tunnel, a port of
/// a container.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A host and a port as people write them.
#[must_use]
pub fn host_and_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The error of a server that takes the connection and then says nothing.
#[must_use]
pub fn unanswered(step: String, silence: &Unanswered) -> EngineError {
    EngineError::new(ErrorKind::Connection, step, silence.to_string()).with_advice(
        "the connection was accepted, then nothing came: check whether the server is stopped or overloaded, and the \
         network",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_by_name_or_address() {
        assert!(["localhost", "127.0.0.1", "127.9.9.9", "::1"].into_iter().all(is_loopback));
        assert!(!["db1", "0.0.0.0", "192.168.0.1", "localhost.example"].into_iter().any(is_loopback));
        assert_eq!((host_and_port("::1", 1), host_and_port("db", 2)), ("[::1]:1".into(), "db:2".into()));
    }
}
