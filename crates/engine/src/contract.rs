//! The contract itself.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use slob_method::{Batch, RowView, SchemaNo, Table};
use slob_spec::StatisticsType;

use crate::{
    EngineError, Layout, Load, LoadProgress, Outcome, RunPlan, Said, SchemaState, Server, ServerReport,
    SessionPlan, Slice, Snapshot, Whereabouts, Workload,
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

    /// Reads what the whole server counts, whoever is at work, without changing or locking anything and through one
    /// connection; `None` where there are no such counters. What [`Engine::snapshot`] counts may be a part of it.
    ///
    /// # Errors
    /// If the server can't be asked.
    fn workload(&self) -> Result<Option<Workload>, EngineError> {
        Ok(None)
    }

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

    /// What the server says of itself, word for word: its version, its settings, every view that counters are read from, and
    /// the plans of the operations if schemas are loaded. For those who look what became of it; nothing where figures are
    /// counted in this program.
    ///
    /// # Errors
    /// If the server can't be asked. What it refuses to tell is among the answers.
    fn testimony(&self) -> Result<Vec<Said>, EngineError> {
        Ok(Vec::new())
    }

    /// What each server can be found by on its host, the first endpoints of them in order. A server that can't be asked has
    /// fewer clues.
    fn whereabouts(&self) -> Vec<Whereabouts> {
        vec![Whereabouts::default()]
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

    /// Has the database's counters hold everything that the session did. Called when it comes to rest, and when it ends.
    ///
    /// # Errors
    /// If the database can't be asked.
    fn publish(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

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
