//! A database product.

use slob_spec::Param;

use crate::{Engine, EngineError, OpenSpec, Replay, Scripts};

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
    /// What makes figures of a server's own words; `None` where figures are counted in this program.
    pub replay: Option<Replay>,
}
