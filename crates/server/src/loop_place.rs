//! A parameter that engines of servers share.

use slob_spec::{EngineOptions, Group, Kind, Param};

const SERVER: &str = "server";
const STATEMENT: &str = "statement";
const CLIENT: &str = "client";

/// Where the loop over the operations of a batch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPlace {
    /// In a procedure of the server, with one statement for SELECTs that follow each other where that costs less.
    Server,
    /// In a procedure of the server, with one statement for each operation.
    Statement,
    /// Here, with prepared statements.
    Client,
}

impl LoopPlace {
    /// The parameter, to stand among those of each engine that has both loops.
    pub const PARAM: Param = Param::new(
        "LOOP",
        Kind::Choice(&[
            (SERVER, "a procedure in the server executes whole batches; consecutive SELECTs are one statement where \
                      that is cheaper"),
            (STATEMENT, "the same with one statement for each operation"),
            (CLIENT, "this program sends operations one by one, for servers without procedures"),
        ]),
        Group::Servers,
    )
    .meaning("where the loop over the operations of a batch runs")
    .shipped(SERVER);

    /// Its value; in the server unless it says otherwise.
    #[must_use]
    pub fn from_options(options: &EngineOptions) -> Self {
        match options.get(Self::PARAM.key) {
            Some(CLIENT) => Self::Client,
            Some(STATEMENT) => Self::Statement,
            _ => Self::Server,
        }
    }

    /// Whether batches run in the server.
    #[must_use]
    pub fn is_in_server(self) -> bool {
        self != Self::Client
    }
}
