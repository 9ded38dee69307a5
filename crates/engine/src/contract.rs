//! The contract: database products, targets and sessions.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use slob_method::{Batch, RowView, SchemaNo, UpdateText};
use slob_spec::{EngineOptions, Param, RedoStress, StatisticsType, Target};

use crate::board::BoardKind;
use crate::{
    CapturedAnswer, Debt, EngineError, ErrorKind, Facts, Figures, Layout, Load, LoadProgress, Outcome,
    Result, SchemaState, Server, ServerLocation, ServerReport, ServerTotals, Slice, Snapshot,
};

/// A database product: a line of the registry.
#[derive(Clone, Copy)]
pub struct EngineKind {
    /// Scheme of its URLs.
    pub scheme: &'static str,
    /// Form of a target, for help.
    pub target_form: &'static str,
    /// One line for help.
    pub summary: &'static str,
    /// Its library and version in this build.
    pub library: fn() -> String,
    /// Its own parameters.
    pub params: &'static [Param],
    /// Opens a target without changing anything.
    pub open: fn(&OpenSpec) -> Result<Box<dyn Engine>>,
    /// Statements without a connection; `None` if it can't write them.
    pub scripts: Option<&'static Scripts>,
    /// `None` if its databases can't keep published runs.
    pub board: Option<BoardKind>,
    /// Computes figures from captured answers; `None` if this program counts them.
    pub replay: Option<Replay>,
}

/// Fails if an answer is missing or invalid.
type Replay = fn(&[CapturedAnswer]) -> Result<Figures>;

/// Purpose of opening a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Creates missing parts.
    Load,
    /// Missing parts are an error.
    Use,
}

/// Arguments of opening a target.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// The place to connect to.
    pub target: Target,
    /// The reason for opening it.
    pub purpose: Purpose,
    /// Values of [`EngineKind::params`].
    pub options: EngineOptions,
    /// Place of a load, with [`crate::Capabilities::tablespaces`].
    pub tablespace: Option<String>,
}

impl OpenSpec {
    /// Leaves out the tablespace.
    pub fn new(target: Target, purpose: Purpose, options: EngineOptions) -> Self {
        Self { target, purpose, options, tablespace: None }
    }
}

/// One target, for several threads. All methods fail if the server is unreachable, or refuses; their docs state other errors.
pub trait Engine: Send + Sync {
    /// Describes the server.
    fn server(&self) -> Result<Server>;

    /// Checks rights to load, or to use what is loaded. Changes nothing. Fails with [`crate::ErrorKind::Privilege`] and the remedy.
    fn check_account(&self, _purpose: Purpose) -> Result<()> {
        Ok(())
    }

    /// Schemas with our marker, in order.
    fn schemas(&self) -> Result<Vec<SchemaState>>;

    /// Creates an empty, marked schema. Fails if something has its name: nothing is replaced.
    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()>;

    /// Loads and marks a missing slice, both or neither. [`LoadProgress::stop`] ends it with [`crate::ErrorKind::Cancelled`].
    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()>;

    /// Builds index and statistics, and measures the layout. May be repeated after an interruption.
    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout>;

    /// Removes a schema with all its content. Fails without our marker.
    fn drop_schema(&self, schema: SchemaNo) -> Result<()>;

    /// Locks the target, if it has locks, until the drop or the end of this program. Fails with [`target_in_use`].
    fn lock(&self) -> Result<TargetLock> {
        Ok(Box::new(()))
    }

    /// Opens a session that is ready to execute. Fails if its schemas are not loaded.
    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>>;

    /// Reads each server's counters, in the order of [`Engine::endpoints`]. Fails if no server answers.
    fn snapshot(&self) -> Result<Snapshot>;

    /// Counters for all clients; `None` if it has none. Changes and locks nothing.
    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        Ok(None)
    }

    /// Sizes of the whole server. Changes and locks nothing.
    fn facts(&self) -> Result<Facts> {
        Ok(Facts::default())
    }

    /// Notable work that loads and earlier runs left, for WARMUP=auto, which asks once a second. Changes and locks nothing. Empty
    /// if the engine or the account can't see any.
    fn debts(&self) -> Result<Vec<Debt>> {
        Ok(Vec::new())
    }

    /// Visits the existing rows of a slice, in any order.
    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()>;

    /// Reads blocks past the database's cache; `None` if it reads no single blocks.
    fn block_reader(&self, _schema: SchemaNo) -> Result<Option<BlockReader>> {
        Ok(None)
    }

    /// Brings the server to a known state before sessions open. Fails with [`crate::ErrorKind::Usage`] if something would spoil
    /// the test. Returns notes.
    fn before_run(&self, _run: &RunPlan<'_>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Undoes [`Engine::before_run`] after the sessions. Returns notes on what it could not undo.
    fn after_run(&self) -> Vec<String> {
        Vec::new()
    }

    /// Takes the first snapshot of the server's report; `None` if it has none. A failure does not end the run.
    fn open_server_report(&self, _kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        Ok(None)
    }

    /// Names of the servers that share the sessions; empty for one server.
    fn endpoints(&self) -> Vec<String> {
        Vec::new()
    }

    /// The server's raw answers and refusals. Empty if this program counts.
    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        Ok(Vec::new())
    }

    /// Locations of the servers, in the order of their first endpoints.
    fn locations(&self) -> Vec<ServerLocation> {
        vec![ServerLocation::default()]
    }
}

/// See [`Engine::lock`].
pub type TargetLock = Box<dyn Send>;

/// Another program, `holder`, loads or empties the target.
pub fn target_in_use(target: impl Display, holder: Option<String>) -> EngineError {
    let holder = holder.map_or_else(String::new, |holder| format!(": {holder}"));
    let message = format!("another load or drop is at work there{holder}");
    EngineError::new(ErrorKind::Usage, format!("locking {target}"), message)
        .with_advice("nothing was touched; wait until it ends, or stop it and try again")
}

/// Reads a block at an offset.
pub type ReadBlock = Box<dyn FnMut(&mut [u8], u64) -> io::Result<()> + Send>;

/// Reads past a database's buffer cache.
pub struct BlockReader {
    /// Length of the readable data.
    pub bytes: u64,
    /// Offsets are multiples of the block size.
    pub read: ReadBlock,
}

/// One connection that executes batches, in one thread at a time.
pub trait Session: Send {
    /// Clears `outcome` and executes operations in order, none before it is due ([`Batch::not_before`]), each followed by its
    /// pause. None starts at or after `deadline`, which also ends waits.
    ///
    /// UPDATEs that do not commit ([`slob_method::Op::commits`]) are committed with the next that does, or at the end of the
    /// call.
    ///
    /// Fails with the first operation's error; `outcome` holds those before it. The open transaction is rolled back, though its
    /// UPDATEs may be in `outcome`. The session may be used again after [`crate::ErrorKind::Retryable`] only.
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()>;

    /// Publishes the session's work in the database's counters, when idle and at its end.
    fn publish(&mut self) -> Result<()> {
        Ok(())
    }

    /// An index of [`Engine::endpoints`].
    fn endpoint(&self) -> usize {
        0
    }

    /// Ends a call of [`Session::execute`] from another thread; `None` without [`crate::Capabilities::cancel`].
    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        None
    }
}

/// Ends a running batch from another thread.
pub trait Cancel: Send + Sync {
    /// Makes running and later calls fail soon with [`crate::ErrorKind::Cancelled`].
    fn cancel(&self);
}

/// Facts about a run, for the server.
#[derive(Clone, Copy, Debug)]
pub struct RunPlan<'a> {
    /// Schemas that it uses.
    pub schemas: &'a [SchemaNo],
    /// Their number.
    pub sessions: u32,
    /// Part of a row that UPDATEs change; `None` without UPDATEs.
    pub redo: Option<RedoStress>,
    /// True if it scans.
    pub scans: bool,
    /// Ends the run and long preparations; `None` if it can't be stopped.
    pub stop: Option<&'a AtomicBool>,
}

impl RunPlan<'_> {
    /// True once the run is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Facts about a session, for its engine.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// The first is 0.
    pub number: u32,
    /// Times that it has lost its database.
    pub attempt: u32,
    /// Its own schema.
    pub home: SchemaNo,
    /// True if some operations go to schema 1.
    pub hot_schema: bool,
    /// True if it scans.
    pub scans: bool,
    /// Part of a row that UPDATEs change; `None` without UPDATEs.
    pub redo: Option<RedoStress>,
    /// Values of its UPDATEs.
    pub update_text: Arc<UpdateText>,
}

impl SessionPlan {
    /// Round-robin; the next endpoint after it has lost its own.
    pub fn endpoint(&self, endpoints: usize) -> usize {
        (self.number as usize + self.attempt as usize) % endpoints.max(1)
    }
}

/// Scripts for review, written without a connection.
#[derive(Debug)]
pub struct Scripts {
    /// Statements of a load.
    pub load: fn(&OpenSpec, &PlannedLoad<'_>) -> Result<String>,
    /// Statements of a run and of a session.
    pub run: fn(&OpenSpec, &RunPlan<'_>, &SessionPlan, RunExtras) -> Result<String>,
    /// Prepares a server for so many sessions.
    pub init: fn(&OpenSpec, &PlannedLoad<'_>, u32) -> Result<String>,
}

/// A load before the server is known.
#[derive(Clone, Copy, Debug)]
pub struct PlannedLoad<'a> {
    /// Load of each schema.
    pub load: &'a Load,
    /// Its schemas.
    pub schemas: &'a [SchemaNo],
    /// Expected block size.
    pub block_bytes: u32,
}

/// Demands of a run besides operations.
#[derive(Clone, Copy, Debug)]
pub struct RunExtras {
    /// True if sessions pause.
    pub pauses: bool,
    /// The server's own report.
    pub server_report: Option<StatisticsType>,
}
