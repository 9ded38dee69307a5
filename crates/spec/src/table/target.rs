//! What is tested and how wide.

use super::MAX_SESSIONS;
use crate::kind::Kind;
use crate::param::{Group, Param};

/// The group; its first default comes from the caller, who knows the engines.
pub(super) fn params(default_target: &'static str) -> [Param; 4] {
    [
        Param::new("TARGET", Kind::Url, Group::Target, "the database to test; its scheme names the engine")
            .shipped(default_target)
            .flag("target"),
        Param::new(
            "ENDPOINTS",
            Kind::Text,
            Group::Target,
            "hosts to spread sessions over, round-robin: HOST:PORT,HOST:PORT; unset, those of TARGET",
        )
        .flag("endpoints"),
        Param::new(
            "SCHEMAS",
            Kind::Count { min: 1, max: MAX_SESSIONS },
            Group::Target,
            "schemas to load, or to run on; a run uses all that are loaded unless this is set",
        )
        .aliases(&["NUM_SCHEMAS"])
        .shipped("1")
        .original("an argument of setup.sh and runit.sh; NUM_SCHEMAS in pgio")
        .flag("schemas"),
        Param::new(
            "THREADS_PER_SCHEMA",
            Kind::Count { min: 1, max: MAX_SESSIONS },
            Group::Target,
            "sessions on each schema; SCHEMAS x THREADS_PER_SCHEMA is at most 65535",
        )
        .aliases(&["NUM_THREADS"])
        .shipped("1")
        .if_deleted("1")
        .original("NUM_THREADS in pgio")
        .flag("threads"),
    ]
}
