//! What a target is opened with.

use slob_spec::{EngineOptions, Target};

/// What a target is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Loading: what is missing may be created.
    Load,
    /// Anything else: what is missing is an error.
    Use,
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// The target.
    pub target: Target,
    /// What for.
    pub purpose: Purpose,
    /// The values of the engine's own parameters ([`crate::EngineKind::params`]).
    pub options: EngineOptions,
    /// Where a load puts its tables, for engines with [`crate::Capabilities::tablespaces`].
    pub tablespace: Option<String>,
}

impl OpenSpec {
    /// What is needed to open a target in most cases.
    #[must_use]
    pub fn new(target: Target, purpose: Purpose, options: EngineOptions) -> Self {
        Self { target, purpose, options, tablespace: None }
    }
}
