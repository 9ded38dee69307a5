//! A server with one schema, and the engine of an account that has what the documentation asks for.

use slob_engine::{Engine, EngineError};
use slob_engine_mysql::KIND;
use slob_testing::mariadb::MariaDb;
use slob_testing::work::{self, FIRST, LOAD, load_schema};

/// Opens a target for loading, with options as flags give them.
pub(crate) fn open(target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>, EngineError> {
    work::open(&KIND, target, flags)
}

pub(crate) struct Loaded {
    pub(crate) server: MariaDb,
    pub(crate) target: String,
    pub(crate) engine: Box<dyn Engine>,
}

pub(crate) fn loaded(settings: &[&str], flags: &[(&str, &str)]) -> Option<Loaded> {
    loaded_on(MariaDb::start_or_skip(settings)?, flags)
}

pub(crate) fn loaded_on(server: MariaDb, flags: &[(&str, &str)]) -> Option<Loaded> {
    let target = server.plain_target();
    let engine = open(&target, flags).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    Some(Loaded { server, target, engine })
}

impl Loaded {
    pub(crate) fn as_administrator(&self) -> Box<dyn Engine> {
        open(&self.server.target("root"), &[]).expect("it opens")
    }
}

/// Looks for the server of an engine on this host.
pub(crate) fn found(engine: &dyn Engine) -> Result<slob_observe::FoundServer, String> {
    slob_observe::Observer::local().find(engine.locations().remove(0).clues)
}
