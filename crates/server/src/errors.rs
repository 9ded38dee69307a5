//! Advice and errors of all servers.

use slob_engine::{EngineError, ErrorKind, Unanswered};

pub const NO_ROOM: &str = "make room on the server, or load a smaller SCALE";
pub const DAMAGED: &str = "the data are damaged: drop the schema with `slob drop` and load it again";
/// The server ended a session with a message.
pub const STOPPED: &str = "see the server's log: it was stopped, or ended this session";
/// A connection ended without a message.
pub const LOST: &str = "see the server's log: it was restarted, or ended this connection";
pub const READ_ONLY: &str = "this server or database is read-only: name the primary";
pub const NO_PROCEDURE: &str = "drop the schema and load it again, or set LOOP=client";
/// A procedure's answer is not ours.
pub const FOREIGN_PROCEDURE: &str = "the procedure is not slob's: drop the schema and load it again";

/// The server accepts the connection and then is silent.
pub fn unanswered(step: String, silence: &Unanswered) -> EngineError {
    EngineError::new(ErrorKind::Connection, step, silence.to_string()).with_advice(
        "the connection was accepted, then nothing came: check whether the server is stopped or overloaded, and the \
         network",
    )
}

/// `hint` says what is known about the password.
pub fn refused(
    (kind, advice): (ErrorKind, &str),
    step: String,
    message: String,
    hint: Option<&str>,
) -> EngineError {
    let advice = match hint {
        Some(hint) if kind == ErrorKind::Privilege => format!("{advice}; {hint}"),
        _ => advice.to_owned(),
    };
    EngineError::new(kind, step, message).with_advice(advice)
}
