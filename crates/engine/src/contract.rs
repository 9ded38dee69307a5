//! The contract itself.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use slob_method::{Batch, RowView, SchemaNo, Table, UpdateText};
use slob_spec::{EngineOptions, Param, RedoStress, StatisticsType, Target};

use crate::{
    EngineError, Layout, Load, LoadProgress, Outcome, SchemaState, Server, ServerReport, Slice, Snapshot,
};

/// One target of one database product.
///
/// Methods may be called from several threads at once.
pub trait Engine: Send + Sync {
    /// Describes the server.
    ///
    /// # Errors
    /// If the server can't be asked.
    fn server(&self) -> Result<Server, EngineError>;

    /// The schemas on the target that carry our marker, in order of their numbers. Schemas without the marker are
    /// not ours, whatever their names.
    ///
    /// # Errors
    /// If the target can't be read.
    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError>;

    /// Makes an empty, marked schema, ready for slices.
    ///
    /// # Errors
    /// If something of that name exists: what is not ours is never touched, and what is ours is not replaced.
    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError>;

    /// Loads a slice that is not there yet, and marks it as loaded, both or neither. Engines without
    /// [`crate::Capabilities::parallel_slices`] are given the slices of a schema one after the other, in order.
    ///
    /// # Errors
    /// With [`crate::ErrorKind::Cancelled`] when `progress` was asked to stop; then the slice is not there.
    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError>;

    /// Completes a schema whose slices are all there: index, statistics, a clean start for the first run. May be
    /// called again after it was cut off. Looks at the result and returns how the rows lie.
    ///
    /// # Errors
    /// If the schema can't be completed.
    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError>;

    /// Removes a schema and everything in it.
    ///
    /// # Errors
    /// If it does not carry our marker, or can't be removed.
    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError>;

    /// Opens a session, connected and ready to execute.
    ///
    /// # Errors
    /// If its schemas are not loaded, or the server refuses.
    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError>;

    /// Reads the cumulative counters, of each server in the order of [`Engine::endpoints`].
    ///
    /// # Errors
    /// If no server can be asked. One of several that can't be asked is absent from the snapshot.
    fn snapshot(&self) -> Result<Snapshot, EngineError>;

    /// Reads back the rows at `positions` of a table, in any order, for verification. Rows that are missing are
    /// not visited.
    ///
    /// # Errors
    /// If the table can't be read.
    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError>;

    /// Called once before the sessions of a run are opened: the place to bring the server to a known state and to
    /// refuse what would spoil the test, such as too few connections or a plan that is not single-block I/O.
    /// Returns sentences for the record, such as what could not be done for lack of rights.
    ///
    /// # Errors
    /// With [`crate::ErrorKind::Usage`] if the run must not start.
    fn before_run(&self, _run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        Ok(Vec::new())
    }

    /// Called once after the sessions of a run have ended: puts back what [`Engine::before_run`] changed on the server.
    /// Returns sentences for the record: what could not be put back, and how to do it.
    fn after_run(&self) -> Vec<String> {
        Vec::new()
    }

    /// Begins the server's own report of that kind, by its first snapshot; `None` where there is no such report. Called only
    /// if the user asked for one, just before the window begins.
    ///
    /// # Errors
    /// If the snapshot can't be taken. The run goes on without the report.
    fn open_server_report(
        &self,
        _kind: StatisticsType,
    ) -> Result<Option<Box<dyn ServerReport>>, EngineError> {
        Ok(None)
    }

    /// The names of the servers that sessions are spread over; empty when the target is one.
    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    /// The processes of the server on this machine, by pid; `None` when it is remote or they can't be known. An
    /// embedded database is this process.
    fn processes(&self) -> Option<Vec<u32>> {
        None
    }
}

/// One connection that executes batches. Each belongs to one thread at a time.
pub trait Session: Send {
    /// Executes the operations of a batch in order, none before it is due ([`Batch::not_before`]), each followed by its
    /// pause, and puts what came of them into `outcome` (cleared first). Before an operation would start at or after `deadline`, the call returns; a
    /// pause or a wait is cut short at the deadline too.
    ///
    /// # Errors
    /// Of the first operation that fails; `outcome` holds the operations before it. The session is not used
    /// again after an error that is not [`crate::ErrorKind::Retryable`].
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError>;

    /// Which of [`Engine::endpoints`] it works on now, counted from 0.
    fn endpoint(&self) -> usize {
        0
    }

    /// A handle that ends a call of [`Session::execute`] from another thread; `None` where
    /// [`crate::Capabilities::cancel`] is false.
    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        None
    }
}

/// Ends a running batch from another thread.
pub trait Cancel: Send + Sync {
    /// Makes the running call of [`Session::execute`], and every later one, return soon with
    /// [`crate::ErrorKind::Cancelled`].
    fn cancel(&self);
}

/// What a run is going to do, as far as a server must be ready for it.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan<'a> {
    /// The schemas that it uses.
    pub schemas: &'a [SchemaNo],
    /// Sessions that it opens.
    pub sessions: u32,
    /// How much of a row its UPDATEs change; `None` if it makes none.
    pub redo: Option<RedoStress>,
    /// Whether it scans.
    pub scans: bool,
    /// Set when the run is to end: what takes long before it then breaks off. `None` where nobody can ask for that.
    pub stop: Option<&'a AtomicBool>,
}

impl RunPlan<'_> {
    /// Whether the run is to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What a run asks of a server beside its sessions' operations.
#[derive(Clone, Copy, Debug)]
pub struct RunExtras {
    /// Whether sessions pause between operations.
    pub pauses: bool,
    /// The server's own report that accompanies it.
    pub server_report: Option<StatisticsType>,
}

/// What a session needs to know to be opened.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Its number, from 0.
    pub number: u32,
    /// How often it has lost its database and been opened again.
    pub attempt: u32,
    /// Its own schema.
    pub home: SchemaNo,
    /// Whether some of its operations go to schema 1.
    pub hot_schema: bool,
    /// Whether it will scan.
    pub scans: bool,
    /// How much of a row its UPDATEs change; `None` if it makes none.
    pub redo: Option<RedoStress>,
    /// What its UPDATEs write.
    pub update_text: Arc<UpdateText>,
}

impl SessionPlan {
    /// Which of so many endpoints it goes to: round-robin, and to the next one when it has lost its own.
    #[must_use]
    pub fn endpoint(&self, endpoints: usize) -> usize {
        (self.number as usize + self.attempt as usize) % endpoints.max(1)
    }
}

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
