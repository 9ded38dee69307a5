//! A parameter that engines of servers share.

use slob_spec::{EngineOptions, Group, Kind, Param};

const SERVER: &str = "server";
const CLIENT: &str = "client";

/// Where the loop over the operations of a batch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPlace {
    /// In a procedure of the server.
    Server,
    /// Here, with prepared statements.
    Client,
}

impl LoopPlace {
    /// The parameter, to stand among those of each engine that has both loops.
    pub const PARAM: Param = Param::new(
        "LOOP",
        Kind::Choice(&[
            (SERVER, "a procedure in the server executes whole batches"),
            (CLIENT, "this program sends operation by operation, for servers without procedures"),
        ]),
        Group::Servers,
        "where the loop over the operations of a batch runs",
    )
    .shipped(SERVER)
    .flag("loop");

    /// Its value; in the server unless it says otherwise.
    #[must_use]
    pub fn from_options(options: &EngineOptions) -> Self {
        match options.choice(Self::PARAM.key) {
            Some(CLIENT) => Self::Client,
            _ => Self::Server,
        }
    }
}
