//! A server with one schema, and the engine of a role that may do nothing but own its database.

use slob_engine::{Engine, EngineError};
use slob_engine_postgres::KIND;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::work::{self, FIRST, LOAD, load_schema};

/// Opens a target for loading, with options as flags give them.
pub(crate) fn open(target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>, EngineError> {
    work::open(&KIND, target, flags)
}

/// A database of a role that may do nothing but own it.
pub(crate) fn plain_target(cluster: &Cluster) -> String {
    cluster.sql("CREATE ROLE plain LOGIN");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    format!("postgres://plain@127.0.0.1:{}/slob", cluster.port())
}

/// A connection of the superuser to that database, which does not use the code under test.
pub(crate) fn admin(cluster: &Cluster) -> postgres::Client {
    let parameters = format!("host=127.0.0.1 port={} user=postgres dbname=slob", cluster.port());
    postgres::Client::connect(&parameters, postgres::NoTls).expect("the superuser connects")
}

pub(crate) struct Loaded {
    pub(crate) cluster: Cluster,
    pub(crate) target: String,
    pub(crate) engine: Box<dyn Engine>,
}

pub(crate) fn loaded(version: Version, settings: &[(&str, &str)], flags: &[(&str, &str)]) -> Option<Loaded> {
    let cluster = Cluster::start_or_skip(version, settings)?;
    let target = plain_target(&cluster);
    let engine = open(&target, flags).expect("it opens");
    load_schema(engine.as_ref(), &LOAD, FIRST);
    Some(Loaded { cluster, target, engine })
}

impl Loaded {
    pub(crate) fn admin(&self) -> postgres::Client {
        admin(&self.cluster)
    }

    pub(crate) fn sql(&self, statements: &str) {
        self.admin().batch_execute(statements).expect("the superuser's statements");
    }

    /// The same database, as its superuser.
    pub(crate) fn as_superuser(&self) -> Box<dyn Engine> {
        open(&self.target.replace("plain@", "postgres@"), &[]).expect("it opens")
    }
}

/// Looks for the server of an engine on this host.
pub(crate) fn found(engine: &dyn Engine) -> Result<slob_observe::FoundServer, String> {
    slob_observe::Observer::local().find(engine.locations().remove(0).clues)
}
