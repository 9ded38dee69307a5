//! The contract: database products, targets, sessions, and the plans that they are given.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use slob_method::{Batch, RowView, SchemaNo, UpdateText};
use slob_spec::{EngineOptions, Param, RedoStress, StatisticsType, Target};

use crate::{
    CapturedAnswer, EngineError, ErrorKind, Facts, Figures, Layout, Load, LoadProgress, Outcome, Result,
    SchemaState, Server, ServerLocation, ServerReport, ServerTotals, Slice, Snapshot,
};

/// A database product that targets can name: one line of the registry.
#[derive(Clone, Copy)]
pub struct EngineKind {
    /// The scheme of its targets' URLs.
    pub scheme: &'static str,
    /// The form of a target, for help texts.
    pub target_form: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The client library or embedded database in this build, with its version.
    pub library: fn() -> String,
    /// Parameters of its own.
    pub params: &'static [Param],
    /// Opens a target: checks it as far as possible without changing anything.
    pub open: fn(&OpenSpec) -> Result<Box<dyn Engine>>,
    /// The statements that it can write down without a connection; `None` if it can't.
    pub scripts: Option<&'static Scripts>,
    /// Computes figures from captured answers; `None` if this program counts them.
    pub replay: Option<Replay>,
}

/// Fails if an answer that it needs is missing or invalid.
type Replay = fn(&[CapturedAnswer]) -> Result<Figures>;

/// Purpose of opening a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Loading, which may create missing parts.
    Load,
    /// Anything else: missing parts are an error.
    Use,
}

/// Arguments of opening a target.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// The target.
    pub target: Target,
    /// The purpose.
    pub purpose: Purpose,
    /// Values of the engine's own parameters ([`EngineKind::params`]).
    pub options: EngineOptions,
    /// Tablespace of a load, for engines with [`crate::Capabilities::tablespaces`].
    pub tablespace: Option<String>,
}

impl OpenSpec {
    /// Arguments without a tablespace.
    pub fn new(target: Target, purpose: Purpose, options: EngineOptions) -> Self {
        Self { target, purpose, options, tablespace: None }
    }
}

/// One target of one database product. Several threads may call methods at once.
///
/// All methods fail if the server is unreachable, or refuses. Their docs state other errors.
pub trait Engine: Send + Sync {
    /// Describes the server.
    fn server(&self) -> Result<Server>;

    /// Checks that the account may load, without changing anything.
    /// Fails with [`crate::ErrorKind::Privilege`] and the statements that an administrator runs.
    fn check_account(&self) -> Result<()> {
        Ok(())
    }

    /// The schemas on the target that carry our marker, in order of their numbers. Schemas without the marker are not
    /// ours, even with our names.
    fn schemas(&self) -> Result<Vec<SchemaState>>;

    /// Creates an empty, marked schema, ready for slices.
    /// Fails if something of that name exists, ours or not: nothing is replaced.
    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()>;

    /// Loads a missing slice and marks it as loaded, both or neither. Without
    /// [`crate::Capabilities::parallel_slices`], the slices of a schema come one after the other, in order.
    /// Fails with [`crate::ErrorKind::Cancelled`] after [`LoadProgress::stop`]; the slice is then missing.
    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()>;

    /// Completes a schema with all its slices: index, statistics, a clean start for the first run. Returns the measured
    /// layout. It may be called again after an interruption.
    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout>;

    /// Removes a schema and everything in it.
    /// Fails if it does not carry our marker.
    fn drop_schema(&self, schema: SchemaNo) -> Result<()>;

    /// Locks the target for a load or a removal until the value is dropped or this program ends. It changes nothing
    /// that stays. Without locks in the database, or in the file system, nothing is locked.
    /// Fails with [`target_in_use`] if another program holds the lock.
    fn lock(&self) -> Result<TargetLock> {
        Ok(Box::new(()))
    }

    /// Opens a session, connected and ready to execute.
    /// Fails if its schemas are not loaded.
    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>>;

    /// Reads the cumulative counters of each server, in the order of [`Engine::endpoints`].
    /// Fails if all servers are unreachable. One of several unreachable ones is absent from the snapshot.
    fn snapshot(&self) -> Result<Snapshot>;

    /// Reads the counters of the whole server, for all its clients, through one connection and without changing or locking
    /// anything; `None` if it has none. [`Engine::snapshot`] may count a part of it.
    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        Ok(None)
    }

    /// Sizes of the whole server, through one connection and without changing or locking anything.
    fn facts(&self) -> Result<Facts> {
        Ok(Facts::default())
    }

    /// Reads the rows of a slice, in any order, for verification. It does not visit missing rows.
    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()>;

    /// Opens a reader of the blocks of a schema, as the database reads them, past its buffer cache; `None` if it has no such
    /// reads of single blocks.
    fn block_reader(&self, _schema: SchemaNo) -> Result<Option<BlockReader>> {
        Ok(None)
    }

    /// Called once before the sessions of a run are opened. It brings the server to a known state, and refuses what would
    /// spoil the test, such as too few connections or a plan without single-block I/O. Returns sentences for the record,
    /// such as steps that lacked rights.
    /// Fails with [`crate::ErrorKind::Usage`] if the run must not start.
    fn before_run(&self, _run: &RunPlan<'_>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Called once after the sessions of a run have ended. It undoes the changes of [`Engine::before_run`]. Returns
    /// sentences for the record: changes that it could not undo, with the remedy.
    fn after_run(&self) -> Vec<String> {
        Vec::new()
    }

    /// Begins the server's own report by its first snapshot; `None` if it has no such report. Called just before the
    /// window begins, if the user wants a report. After an error the run goes on without it.
    fn open_server_report(&self, _kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        Ok(None)
    }

    /// Names of the servers that share the sessions; empty for a target of one server.
    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Captures the server's raw answers: version, settings, all views with counters, and the plans of the operations if
    /// schemas are loaded. Refusals are among the answers. Empty if this program counts the figures.
    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        Ok(Vec::new())
    }

    /// Locations of the servers, in the order of their first endpoints. An unreachable server has fewer clues.
    fn locations(&self) -> Vec<ServerLocation> {
        vec![ServerLocation::default()]
    }
}

/// A lock of a target: see [`Engine::lock`].
pub type TargetLock = Box<dyn Send>;

/// The error of a target that another program loads or empties. `holder` names it.
pub fn target_in_use(target: impl Display, holder: Option<String>) -> EngineError {
    let holder = holder.map_or_else(String::new, |holder| format!(": {holder}"));
    let message = format!("another load or drop is at work there{holder}");
    EngineError::new(ErrorKind::Usage, format!("locking {target}"), message)
        .with_advice("nothing was touched; wait until it ends, or stop it and try again")
}

/// Reads a block at an offset.
pub type ReadBlock = Box<dyn FnMut(&mut [u8], u64) -> io::Result<()> + Send>;

/// Reads of single blocks past a database's buffer cache.
pub struct BlockReader {
    /// Length of what can be read.
    pub bytes: u64,
    /// Reads one block at an offset, a multiple of its size.
    pub read: ReadBlock,
}

/// One connection that executes batches. It belongs to one thread at a time.
pub trait Session: Send {
    /// Executes the operations of a batch in order, none before it is due ([`Batch::not_before`]), each followed by its
    /// pause, and clears and fills `outcome`. No operation starts at or after `deadline`, which also cuts a pause or a
    /// wait short. UPDATEs that do not commit ([`slob_method::Op::commits`]) are committed with the one that does, or when
    /// the call ends: no transaction is left open.
    /// Fails with the error of the first operation that fails; `outcome` holds those before it. An open transaction is rolled
    /// back; its UPDATEs may be in `outcome` nevertheless. The session is not used again unless
    /// the error is [`crate::ErrorKind::Retryable`].
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()>;

    /// Makes the database's counters include all work of the session. Called when it becomes idle, and when it ends.
    fn publish(&mut self) -> Result<()> {
        Ok(())
    }

    /// Its current server: an index of [`Engine::endpoints`].
    fn endpoint(&self) -> usize {
        0
    }

    /// A handle that ends a call of [`Session::execute`] from another thread; `None` without
    /// [`crate::Capabilities::cancel`].
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

/// The facts about a run that a server must be ready for.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan<'a> {
    /// The schemas that it uses.
    pub schemas: &'a [SchemaNo],
    /// Number of its sessions.
    pub sessions: u32,
    /// Part of a row that its UPDATEs change; `None` without UPDATEs.
    pub redo: Option<RedoStress>,
    /// True if it scans.
    pub scans: bool,
    /// Set to end the run, and long preparations with it; `None` if the run can't be stopped.
    pub stop: Option<&'a AtomicBool>,
}

impl RunPlan<'_> {
    /// True once the run is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// The facts about a session that it is opened with.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Its number, from 0.
    pub number: u32,
    /// Number of times that it lost its database and was opened again.
    pub attempt: u32,
    /// Its own schema.
    pub home: SchemaNo,
    /// True if some of its operations go to schema 1.
    pub hot_schema: bool,
    /// True if it scans.
    pub scans: bool,
    /// Part of a row that its UPDATEs change; `None` without UPDATEs.
    pub redo: Option<RedoStress>,
    /// Text that its UPDATEs write.
    pub update_text: Arc<UpdateText>,
}

impl SessionPlan {
    /// The endpoint that it uses: round-robin, and the next one after it has lost its own.
    pub fn endpoint(&self, endpoints: usize) -> usize {
        (self.number as usize + self.attempt as usize) % endpoints.max(1)
    }
}

/// Scripts of an engine's statements, for review. Writing them connects to nothing.
#[derive(Debug)]
pub struct Scripts {
    /// All statements of a load.
    pub load: fn(&OpenSpec, &PlannedLoad<'_>) -> Result<String>,
    /// All statements of a run: those before it, and those of a session like this one.
    pub run: fn(&OpenSpec, &RunPlan<'_>, &SessionPlan, RunExtras) -> Result<String>,
    /// Preparation of a server for tests with so many concurrent sessions: parameters, space, and the server's own
    /// calibration.
    pub init: fn(&OpenSpec, &PlannedLoad<'_>, u32) -> Result<String>,
}

/// A load as it is planned, without knowledge of the server.
#[derive(Clone, Copy, Debug)]
pub struct PlannedLoad<'a> {
    /// The load of each schema.
    pub load: &'a Load,
    /// The schemas.
    pub schemas: &'a [SchemaNo],
    /// The expected block size in bytes.
    pub block_bytes: u32,
}

/// Demands of a run besides its operations.
#[derive(Clone, Copy, Debug)]
pub struct RunExtras {
    /// True if sessions pause between operations.
    pub pauses: bool,
    /// The server's own report of the run.
    pub server_report: Option<StatisticsType>,
}
