//! What a run needs besides its specification.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slob_engine::Engine;
use slob_record::ConfigEntry;
use slob_spec::RunSpec;

/// What a run needs besides its specification.
pub struct RunContext<'a> {
    /// The engine of the target.
    pub engine: Arc<dyn Engine>,
    /// The specification.
    pub spec: &'a RunSpec,
    /// The effective configuration, for the record.
    pub configuration: Vec<ConfigEntry>,
    /// This program's version, for the record.
    pub slob_version: &'a str,
    /// Set by the user's wish to stop.
    pub stop: &'a AtomicBool,
    /// Where to note what the database says is committed, if that is asked for: a file that is not there yet.
    pub journal: Option<&'a Path>,
}
