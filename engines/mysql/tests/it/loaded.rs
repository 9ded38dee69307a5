//! A server with one schema, and the engine of a documented account.

use slob_engine::{Engine, Result};
use slob_engine_mysql::KIND;
use slob_testing::jobs;
use slob_testing::mariadb::{MariaDb, Product};
use slob_testing::work;

pub(crate) type Loaded = jobs::Loaded<MariaDb>;

pub(crate) fn open(target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>> {
    work::open(&KIND, target, flags)
}

pub(crate) fn loaded(settings: &[&str], flags: &[(&str, &str)]) -> Option<Loaded> {
    Some(Loaded::new(MariaDb::start_or_skip(settings)?, KIND, flags))
}

pub(crate) fn loaded_on(product: Product, settings: &[&str]) -> Option<Loaded> {
    Some(Loaded::new(MariaDb::start_product_or_skip(product, settings)?, KIND, &[]))
}

pub(crate) fn as_administrator(server: &MariaDb) -> Box<dyn Engine> {
    open(&server.target("root"), &[]).expect("it opens")
}

pub(crate) fn found(engine: &dyn Engine) -> Result<slob_observe::FoundServer, String> {
    slob_observe::Observer::local().find(engine.locations().remove(0).clues, &slob_observe::NEVER)
}
