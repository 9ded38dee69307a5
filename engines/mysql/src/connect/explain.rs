//! Why a connection could not be made, and what to do.

use std::io;

use mysql::{DriverError, Error};
use slob_engine::{EngineError, ErrorKind};

/// Translates an error of connecting. `step` names the endpoint and the user; `hint` is what is known about the password.
pub(super) fn explain(step: String, error: &Error, hint: Option<&str>) -> EngineError {
    let (kind, message, advice) = match error {
        Error::MySqlError(server) => {
            let (kind, advice) = refused(server.code);
            let code = format!("error {}", server.code);
            let advice = match hint {
                Some(hint) if kind == ErrorKind::Privilege => format!("{advice}; {hint}"),
                _ => advice.to_owned(),
            };
            return EngineError::new(kind, step, server.message.clone()).with_code(code).with_advice(advice);
        }
        Error::TlsError(tls) => (ErrorKind::Connection, format!("{tls:?}"), TLS),
        Error::DriverError(DriverError::TlsNotSupported) => (
            ErrorKind::Connection,
            "the server does not offer TLS".into(),
            "switch TLS on in the server, or use ?ssl-mode=preferred in the target: then the connection is not \
             encrypted, and anyone on the way can read it",
        ),
        Error::DriverError(DriverError::CouldNotConnect(Some((_, why, kind)))) => {
            let advice = if why.contains(NO_SUCH_NAME) { NAME } else { network(*kind) };
            (ErrorKind::Connection, why.clone(), advice)
        }
        Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => {
            (ErrorKind::Connection, "no answer in time".into(), network(io::ErrorKind::TimedOut))
        }
        Error::IoError(error)
            if error.get_ref().is_some_and(|inner| inner.to_string().contains("certificate")) =>
        {
            (ErrorKind::Connection, error.to_string(), TLS)
        }
        Error::IoError(error) => (ErrorKind::Connection, error.to_string(), network(error.kind())),
        // Where TLS wraps the protocol, its errors come through that of the protocol.
        other if other.to_string().contains("certificate") => (ErrorKind::Connection, other.to_string(), TLS),
        other => (ErrorKind::Connection, other.to_string(), "see the server's log"),
    };
    EngineError::new(kind, step, message).with_advice(advice)
}

/// How the standard library begins what the resolver says; its kind of error has no name.
const NO_SUCH_NAME: &str = "failed to lookup address information";
const NAME: &str = "check the host's name in the target, or give its address";
const TLS: &str = "the server's certificate must come from an authority in ssl-ca and, for verify_identity, have the \
                   host as a subject alternative name; ?ssl-mode=required in the target encrypts without verifying \
                   the server";

fn refused(code: u16) -> (ErrorKind, &'static str) {
    match code {
        1045 | 1698 => (
            ErrorKind::Privilege,
            "give the password in MYSQL_PWD, in [client] of ~/.my.cnf (mode 0600) or in the target, and check the user's name and host",
        ),
        1044 => (ErrorKind::Privilege, "GRANT the role rights on that database, or name none in the target"),
        1049 => (ErrorKind::Usage, "name no database in the target: each schema is a database"),
        1040 | 1203 | 1226 => (
            ErrorKind::Usage,
            "raise max_connections (or max_user_connections), or use fewer schemas or threads",
        ),
        1129 | 1130 => (
            ErrorKind::Privilege,
            "the server does not let this host in: see the user's host, and empty performance_schema.host_cache (MariaDB: FLUSH HOSTS)",
        ),
        _ => (ErrorKind::Connection, "see the server's log"),
    }
}

fn network(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => {
            "nothing listens there: check that the server runs, its bind-address, and the port"
        }
        io::ErrorKind::NotFound => {
            "there is no such socket: check that the server runs, and its socket setting"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "check the address and the firewalls, or raise connect-timeout"
        }
        io::ErrorKind::PermissionDenied => "this account may not use the socket",
        _ => "check that a MySQL or MariaDB server listens there, and see its log",
    }
}
