//! Records the calls to an engine: times and errors.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use slob_method::{Batch, RowView, SchemaNo};
use slob_spec::StatisticsType;

use crate::{
    Cancel, CapturedAnswer, Debt, Engine, Facts, Layout, Load, LoadProgress, Outcome, Purpose, Result,
    RunPlan, SchemaState, Server, ServerLocation, ServerReport, ServerTotals, Session, SessionPlan, Slice,
    Snapshot, TargetLock, lock,
};

/// Further calls are counted only.
const MOST_CALLS: usize = 20_000;

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time since the recording began.
    pub at: Duration,
    /// Name and main arguments.
    pub name: String,
    /// Its duration.
    pub took: Duration,
    /// `None` if it succeeded.
    pub error: Option<String>,
}

/// Calls to engines and sessions. Clones share them.
#[derive(Clone, Debug)]
pub struct Recording {
    begun: Instant,
    calls: Arc<Mutex<(Vec<Call>, u64)>>,
}

impl Default for Recording {
    fn default() -> Self {
        Self { begun: Instant::now(), calls: Arc::default() }
    }
}

impl Recording {
    /// Fails as the call does.
    pub fn call<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (at, begun) = (self.elapsed(), Instant::now());
        let result = work();
        let took = begun.elapsed();
        let (listed, others) = &mut *lock(&self.calls);
        if listed.len() < MOST_CALLS {
            let error = result.as_ref().err().map(ToString::to_string);
            listed.push(Call { at, name: name.to_owned(), took, error });
        } else {
            *others += 1;
        }
        result
    }

    /// Time since the recording began.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Calls in order, and the number of further calls.
    pub fn calls(&self) -> (Vec<Call>, u64) {
        lock(&self.calls).clone()
    }

    /// Records the engine's calls.
    pub fn of(&self, engine: Box<dyn Engine>) -> Box<dyn Engine> {
        Box::new(RecordedEngine { engine, recording: self.clone() })
    }
}

struct RecordedEngine {
    engine: Box<dyn Engine>,
    recording: Recording,
}

impl Engine for RecordedEngine {
    fn server(&self) -> Result<Server> {
        self.recording.call("server", || self.engine.server())
    }

    fn check_account(&self, purpose: Purpose) -> Result<()> {
        self.recording.call("check the account", || self.engine.check_account(purpose))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        self.recording.call("schemas", || self.engine.schemas())
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        self.recording.call(&format!("create schema {schema}"), || self.engine.create_schema(load, schema))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        let rows = slice.positions.end - slice.positions.start;
        let call = format!("load {rows} rows of schema {}", slice.schema);
        self.recording.call(&call, || self.engine.load_slice(load, slice, progress))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        self.recording.call(&format!("finish schema {schema}"), || self.engine.finish_schema(load, schema))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        self.recording.call(&format!("drop schema {schema}"), || self.engine.drop_schema(schema))
    }

    fn lock(&self) -> Result<TargetLock> {
        self.recording.call("lock", || self.engine.lock())
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        let call = format!("open session {}", plan.number);
        let session = self.recording.call(&call, || self.engine.session(plan))?;
        Ok(Box::new(RecordedSession { session, number: plan.number, recording: self.recording.clone() }))
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.recording.call("snapshot", || self.engine.snapshot())
    }

    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        self.recording.call("workload", || self.engine.server_totals())
    }

    fn facts(&self) -> Result<Facts> {
        self.recording.call("facts", || self.engine.facts())
    }

    fn debts(&self) -> Result<Vec<Debt>> {
        self.recording.call("debts", || self.engine.debts())
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        self.recording.call("testimony", || self.engine.capture())
    }

    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        let rows = slice.positions.end - slice.positions.start;
        let call = format!("read {rows} rows of schema {}", slice.schema);
        self.recording.call(&call, || self.engine.read_rows(slice, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>> {
        self.recording.call("before the run", || self.engine.before_run(run))
    }

    fn after_run(&self) -> Vec<String> {
        self.engine.after_run()
    }

    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        self.recording.call("open the server's report", || self.engine.open_server_report(kind))
    }

    fn endpoints(&self) -> Vec<String> {
        self.engine.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        self.engine.locations()
    }
}

struct RecordedSession {
    session: Box<dyn Session>,
    number: u32,
    recording: Recording,
}

impl Session for RecordedSession {
    fn execute(&mut self, batch: &Batch, deadline: Option<Instant>, outcome: &mut Outcome) -> Result<()> {
        let call = format!("session {} executes {} operations", self.number, batch.ops().len());
        self.recording.call(&call, || self.session.execute(batch, deadline, outcome))
    }

    fn publish(&mut self) -> Result<()> {
        let call = format!("session {} publishes", self.number);
        self.recording.call(&call, || self.session.publish())
    }

    fn endpoint(&self) -> usize {
        self.session.endpoint()
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        self.session.canceller()
    }
}
