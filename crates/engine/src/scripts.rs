//! What an engine would execute, written down.

use slob_method::SchemaNo;
use slob_spec::StatisticsType;

use crate::{EngineError, Load, OpenSpec, RunPlan, SessionPlan};

/// What a run asks of a server beside its sessions' operations.
#[derive(Clone, Copy, Debug)]
pub struct RunExtras {
    /// Whether sessions pause between operations.
    pub pauses: bool,
    /// The server's own report that accompanies it.
    pub server_report: Option<StatisticsType>,
}

/// A load as it is planned, before anything is known of the server.
#[derive(Clone, Copy, Debug)]
pub struct PlannedLoad<'a> {
    /// What each schema is loaded with.
    pub load: &'a Load,
    /// The schemas.
    pub schemas: &'a [SchemaNo],
    /// The block size that is counted on, in bytes: the server's own is not known yet.
    pub block_bytes: u32,
}

/// What an engine would execute, written down for somebody's review before it may connect; nothing is connected to.
#[derive(Debug)]
pub struct Scripts {
    /// All statements of a load of these schemas.
    pub load: ScriptOfLoad,
    /// All statements of a run: those before it, and those of a session like this one.
    pub run: ScriptOfRun,
    /// What prepares a server for tests: parameters, room, and the server's own calibration.
    pub init: ScriptOfServer,
}

/// See [`Scripts::load`].
pub type ScriptOfLoad = fn(&OpenSpec, &PlannedLoad<'_>) -> Result<String, EngineError>;
/// See [`Scripts::run`].
pub type ScriptOfRun = fn(&OpenSpec, &RunPlan<'_>, &SessionPlan, RunExtras) -> Result<String, EngineError>;
/// See [`Scripts::init`]: the load, and how many sessions are going to work at once.
pub type ScriptOfServer = fn(&OpenSpec, &PlannedLoad<'_>, u32) -> Result<String, EngineError>;
