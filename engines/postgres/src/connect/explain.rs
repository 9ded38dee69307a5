//! Why a connection could not be made, and what to do.

use std::error::Error;
use std::io;
use std::iter;

use slob_engine::{EngineError, ErrorKind};

/// Translates an error of connecting. `step` names the endpoint, the user and the database; `hint` is what is known
/// about the password.
pub(super) fn explain(step: String, error: &postgres::Error, hint: Option<&str>) -> EngineError {
    let Some(db) = error.as_db_error() else { return of_client(step, error, hint) };
    let code = db.code().code();
    let (kind, advice) = match code {
        "28P01" => (ErrorKind::Privilege, PASSWORD),
        "28000" => {
            (ErrorKind::Privilege, "check the user's name, and pg_hba.conf for this host, user and database")
        }
        "3D000" => {
            (ErrorKind::Usage, "create the database with CREATE DATABASE, or name another one in the target")
        }
        "42501" => (ErrorKind::Privilege, "GRANT CONNECT ON DATABASE to the role"),
        "53300" => (ErrorKind::Usage, "raise max_connections, or use fewer schemas or threads"),
        "57P03" => (ErrorKind::Connection, "the server is starting or stopping: wait, then try again"),
        _ => (ErrorKind::Connection, "see the server's log"),
    };
    let advice = match hint {
        Some(hint) if kind == ErrorKind::Privilege => format!("{advice}; {hint}"),
        _ => advice.to_owned(),
    };
    EngineError::new(kind, step, db.message()).with_code(format!("SQLSTATE {code}")).with_advice(advice)
}

const PASSWORD: &str =
    "give the password in PGPASSWORD, ~/.pgpass (mode 0600) or the target, and check the user's name";

/// An error that is not the server's: of the network, of TLS, or of what the client has.
fn of_client(step: String, error: &postgres::Error, hint: Option<&str>) -> EngineError {
    let message = chain(error);
    let (kind, advice) = if causes(error).any(|cause| cause.is::<rustls::Error>() || tls_inside(cause)) {
        (ErrorKind::Connection, TLS)
    } else if message.contains("does not support TLS") {
        (ErrorKind::Connection, NO_TLS)
    } else if message.contains("password missing") {
        (ErrorKind::Privilege, PASSWORD)
    } else {
        (ErrorKind::Connection, network(error))
    };
    let advice = match hint {
        Some(hint) if kind == ErrorKind::Privilege => format!("{advice}; {hint}"),
        _ => advice.to_owned(),
    };
    EngineError::new(kind, step, message).with_advice(advice)
}

const TLS: &str = "the server's certificate must come from an authority in sslrootcert (or the system's store) and, \
                   for verify-full, have the host as a subject alternative name; ?sslmode=require in the target (or \
                   PGSSLMODE) encrypts without verifying the server";
const NO_TLS: &str = "enable ssl in the server, or use ?sslmode=prefer in the target (or PGSSLMODE): then the \
                      connection is not encrypted, and anyone on the way can read it";

fn network(error: &postgres::Error) -> &'static str {
    let kind = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => {
            "nothing listens there: check that the server runs, its listen_addresses, and the port"
        }
        Some(io::ErrorKind::NotFound) => {
            "there is no such socket: check that the server runs, its unix_socket_directories, and the port"
        }
        Some(io::ErrorKind::TimedOut) => "check the address and the firewalls, or raise connect_timeout",
        Some(io::ErrorKind::PermissionDenied) => {
            "this account may not use the socket: see unix_socket_permissions"
        }
        _ => "check that a PostgreSQL server listens there, and see its log",
    }
}

/// A TLS error travels inside an I/O error, which does not name it as its cause.
fn tls_inside(cause: &(dyn Error + 'static)) -> bool {
    let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<rustls::Error>())
}

fn causes<'a>(error: &'a postgres::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

/// The error and its causes, each said once.
fn chain(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
