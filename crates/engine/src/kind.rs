//! A database product, and how one of its targets is opened.

use slob_spec::{EngineOptions, Param, Target};

use crate::{Engine, EngineError, Scripts};

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
    /// The values of the engine's own parameters ([`EngineKind::params`]).
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

/// A database product that targets can name: one line of the registry.
#[derive(Clone, Copy)]
pub struct EngineKind {
    /// The scheme of its targets' URLs.
    pub scheme: &'static str,
    /// The form of a target, for help texts.
    pub target_form: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// What of the database's own code is in this build, with its version, or how the engine speaks to it.
    pub library: fn() -> String,
    /// Parameters of its own.
    pub params: &'static [Param],
    /// Opens a target: checks it as far as possible without changing anything.
    pub open: fn(&OpenSpec) -> Result<Box<dyn Engine>, EngineError>,
    /// What it can write down without a connection; `None` if it can't.
    pub scripts: Option<&'static Scripts>,
}
