//! Making connections to the servers of a target.

use slob_engine::{EngineError, ErrorKind};

/// Makes connections to the endpoints of a target, by a client library.
pub trait Connector: Send + Sync + 'static {
    /// What the library calls a connection.
    type Connection: Send + 'static;

    /// How many endpoints there are, at least one.
    fn endpoints(&self) -> usize;

    /// Where one is, as people write it; numbers go round, so that the number of a session will do.
    fn endpoint(&self, endpoint: usize) -> String;

    /// The name or address of the host of one; `None` for a unix socket.
    fn host(&self, endpoint: usize) -> Option<String>;

    /// Connects to an endpoint; numbers go round here too.
    ///
    /// # Errors
    /// If the name is unknown, nothing answers in time, or the server refuses.
    fn connect(&self, endpoint: usize) -> Result<Self::Connection, EngineError>;

    /// Whether a connection that lay idle still serves.
    fn is_sound(connection: &mut Self::Connection) -> bool;

    /// The names of all endpoints, in order.
    fn names(&self) -> Vec<String> {
        (0..self.endpoints()).map(|endpoint| self.endpoint(endpoint)).collect()
    }
}

/// Connects to the first endpoint that can be reached: all have the same data.
///
/// # Errors
/// That of the first one, if none can be reached; at once if one that can be refuses.
pub fn reach_any<C: Connector>(connector: &C) -> Result<C::Connection, EngineError> {
    let first = match connector.connect(0) {
        Err(error) if error.kind() == ErrorKind::Connection => error,
        other => return other,
    };
    let others = (1..connector.endpoints()).map(|endpoint| connector.connect(endpoint));
    others.into_iter().find_map(Result::ok).ok_or(first)
}

/// What a connection that is not a session's is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errand {
    /// Making, loading and removing schemas.
    Load,
    /// Looking at data and plans, with the settings of sessions.
    Look,
    /// Watching the server of an endpoint.
    Watch(usize),
}
