//! What to do next, where the same goes wrong on every server.

use slob_engine::EngineError;

/// There is no room for data.
pub const NO_ROOM: &str = "make room on the server, or load a smaller SCALE";
/// Stored data are damaged.
pub const DAMAGED: &str = "the data are damaged: drop the schema with `slob drop` and load it again";
/// The server says that it ends a session.
pub const STOPPED: &str = "see the server's log: it was stopped, or ended this session";
/// A connection is gone without a word.
pub const LOST: &str = "see the server's log: it was restarted, or ended this connection";
/// Nothing can be written there.
pub const READ_ONLY: &str = "this server or database is read-only: name the primary";
/// A procedure can't be called.
pub const NO_PROCEDURE: &str = "drop the schema and load it again, or set LOOP=client";
/// A procedure answers what ours does not.
pub const FOREIGN_PROCEDURE: &str = "the procedure is not slob's: drop the schema and load it again";

/// An error with the advice that there is for it, if there is any.
#[must_use]
pub fn advised(error: EngineError, advice: Option<&str>) -> EngineError {
    match advice {
        Some(advice) => error.with_advice(advice),
        None => error,
    }
}
