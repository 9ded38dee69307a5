//! Parameters of this engine.

use slob_engine::OpenSpec;
use slob_spec::{Group, Kind, Param};

use crate::engine::SCHEME;

const GROUP: Group = Group::Engine(SCHEME);
const SERVER: &str = "server";
const CLIENT: &str = "client";
const PREWARM_NONE: &str = "none";
const PREWARM_CACHE: &str = "cache";

const LOOP: Param = Param::new(
    "LOOP",
    Kind::Choice(&[
        (SERVER, "a procedure in the server executes whole batches"),
        (CLIENT, "this program sends operation by operation, for servers without procedures"),
    ]),
    GROUP,
    "where the loop over the operations of a batch runs",
)
.shipped(SERVER)
.flag("loop");
const TABLESPACE: Param = Param::new(
    "PG_TABLESPACE",
    Kind::Text,
    GROUP,
    "tablespace that setup puts tables and indexes into; unset means the database's default",
)
.flag("pg-tablespace");

/// Read by [`crate::connect`].
const ENDPOINTS: Param = Param::new(
    "ENDPOINTS",
    Kind::Text,
    GROUP,
    "hosts that sessions are spread over, round-robin: HOST:PORT,HOST:PORT; unset means those of TARGET",
)
.flag("endpoints");

const PREWARM: Param = Param::new(
    "PREWARM",
    Kind::Choice(&[
        (PREWARM_NONE, "the buffer cache is left as it is"),
        (PREWARM_CACHE, "every block of the main tables is read through the buffer cache"),
    ]),
    GROUP,
    "what is brought into the server's buffer cache before a run",
)
.shipped(PREWARM_NONE)
.flag("prewarm");

/// All of them.
pub(crate) const PARAMS: &[Param] = &[LOOP, TABLESPACE, ENDPOINTS, PREWARM];

/// Where the loop over the operations of a batch runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopPlace {
    /// In a procedure of the server.
    Server,
    /// Here, with prepared statements.
    Client,
}

/// The values of the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where the loop runs.
    pub(crate) loop_place: LoopPlace,
    /// Where to load, if not into the database's default tablespace.
    pub(crate) tablespace: Option<String>,
    /// Whether to read all blocks before a run.
    pub(crate) prewarm: bool,
}

impl Options {
    /// Takes them out of what a target is opened with.
    pub(crate) fn from_spec(spec: &OpenSpec) -> Self {
        let loop_place = match spec.options.choice(LOOP.key) {
            Some(CLIENT) => LoopPlace::Client,
            _ => LoopPlace::Server,
        };
        let tablespace = spec.options.text(TABLESPACE.key).filter(|name| !name.is_empty());
        let prewarm = spec.options.choice(PREWARM.key) == Some(PREWARM_CACHE);
        Self { loop_place, tablespace: tablespace.map(str::to_owned), prewarm }
    }
}
