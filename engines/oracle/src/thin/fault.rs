//! From the driver's errors to ours: with the numbers that Oracle's client library has for the same, and so its advice.

use oracledb::{Error, ErrorKind};

use super::guard::Panicked;
use super::{GONE, TIMED_OUT};
use crate::client::Fault;

/// 'TNS: could not resolve the connect identifier specified'.
const NO_SUCH_NAME: i32 = 12154;
const NO_SUCH_SID: i32 = 12505;
const NO_SUCH_SERVICE: i32 = 12514;
/// 'TNS: connection closed'.
const CLOSED: i32 = 12537;
/// 'TNS: no listener'.
const NO_LISTENER: i32 = 12541;
/// 'TNS: Connect failed because target host or object does not exist'.
const NO_HOST: i32 = 12545;
/// 'TNS: connection refused'.
const REFUSED: i32 = 12564;
/// 'OCI call timed out'.
const CALL_TIMED_OUT: i32 = 3156;

/// Of an error.
pub(super) fn fault_of(error: &Error) -> Fault {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::DbError(error) => Fault::new(i32::try_from(error.code()).ok(), error.message()),
        ErrorKind::InvalidServiceName(..) => Fault::new(NO_SUCH_SERVICE, message),
        ErrorKind::InvalidSid(..) => Fault::new(NO_SUCH_SID, message),
        ErrorKind::ListenerRefusedConnection(_, _, _, code) => Fault::new(i32::try_from(*code).ok(), message),
        ErrorKind::UnexpectedRefuse(_) => Fault::new(REFUSED, message),
        ErrorKind::TnsAliasNotFound(..) | ErrorKind::NoConfigDir | ErrorKind::InvalidConnectString(..) => {
            Fault::new(NO_SUCH_NAME, message)
        }
        ErrorKind::StreamOperation => of_stream(&message),
        ErrorKind::CallTimeoutExceeded => {
            Fault::new(CALL_TIMED_OUT, "no answer within the time that a call may take")
        }
        ErrorKind::DeadConnection => Fault::new(CLOSED, message),
        ErrorKind::UnableToRecover | ErrorKind::NotConnected | ErrorKind::LockPoisoned => {
            Fault::new(GONE, message)
        }
        ErrorKind::ServerVersionNotSupported => Fault::new(None, message)
            .with_remedy("the thin driver reaches servers from 19c on: install Oracle's client library"),
        _ => Fault::new(None, format!("the thin driver says: {message}")),
    }
}

/// Of an error of the operating system, which the driver keeps as its words alone.
fn of_stream(message: &str) -> Fault {
    let words = message.strip_prefix("stream operation failed: ").unwrap_or(message);
    let code = match words {
        _ if words.starts_with("Connection refused") => NO_LISTENER,
        _ if words.starts_with("failed to lookup address") => NO_HOST,
        _ if words.contains("timed out") => TIMED_OUT,
        _ => CLOSED,
    };
    // Within a sentence.
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    Fault::new(code, first.into_iter().chain(letters).collect::<String>())
}

/// Of a panic.
pub(super) fn of_panic(panicked: &Panicked) -> Fault {
    let Panicked { place, words } = panicked;
    let told = |what: &str| Fault::new(None, format!("the thin driver gave up ({place}: {words}): {what}"));
    if place.starts_with("messages/connect.rs") {
        return told("the server demands native network encryption, or what answers is no listener of Oracle's").with_remedy(
            "look at the port; or set SQLNET.ENCRYPTION_SERVER and SQLNET.CRYPTO_CHECKSUM_SERVER to ACCEPTED on the server, or \
             use TLS (a net service name with PROTOCOL=TCPS), or install Oracle's client library, which can encrypt so",
        );
    }
    if place.starts_with("messages/auth.rs") {
        return told("the account has only a password verifier of 11g, or what answers is no database of Oracle's").with_remedy(
            "set the account's password again where SQLNET.ALLOWED_LOGON_VERSION_SERVER is 12 or more, or install Oracle's client \
             library",
        );
    }
    told("it did not expect what the server said").with_remedy(
        "install Oracle's client library, and report this line to us, with the release of the server",
    )
}
