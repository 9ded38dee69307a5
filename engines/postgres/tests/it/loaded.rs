//! The role may do nothing but own its database.

use slob_engine::{Engine, Result};
use slob_engine_postgres::KIND;
use slob_testing::jobs;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::work;

pub(crate) type Loaded = jobs::Loaded<Cluster>;

pub(crate) fn open(target: &str, flags: &[(&str, &str)]) -> Result<Box<dyn Engine>> {
    work::open(&KIND, target, flags)
}

pub(crate) fn loaded(version: Version, settings: &[(&str, &str)], flags: &[(&str, &str)]) -> Option<Loaded> {
    Some(Loaded::new(Cluster::start_or_skip(version, settings)?, KIND, flags))
}

pub(crate) fn as_superuser(target: &str) -> Box<dyn Engine> {
    open(&target.replace("plain@", "postgres@"), &[]).expect("it opens")
}

pub(crate) fn found(engine: &dyn Engine) -> Result<slob_observe::FoundServer, String> {
    slob_observe::Observer::local().find(engine.locations().remove(0).clues, &slob_observe::NEVER)
}
