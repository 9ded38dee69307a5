//! An engine whose calls are written down: what was called, how long it took, and what it said instead of doing it.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use slob_engine::{
    Cancel, CapturedAnswer, Engine, EngineError, Layout, Load, LoadProgress, Outcome, RunPlan, SchemaState,
    Server, ServerLocation, ServerReport, Session, SessionPlan, Slice, Snapshot,
};
use slob_method::{Batch, RowView, SchemaNo, Table};
use slob_spec::StatisticsType;

use super::capture::{Calls, lock};

/// Where calls are written down.
#[derive(Clone)]
struct Notebook {
    begun: Instant,
    calls: Arc<Mutex<Calls>>,
}

impl Notebook {
    fn note<T>(&self, call: &str, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
        let (at, begun) = (self.begun.elapsed(), Instant::now());
        let result = work();
        let error = result.as_ref().err().map(ToString::to_string);
        lock(&self.calls).add(at, call, begun.elapsed(), error.as_deref());
        result
    }
}

pub(super) struct Observed {
    engine: Box<dyn Engine>,
    notebook: Notebook,
}

impl Observed {
    pub(super) fn new(engine: Box<dyn Engine>, begun: Instant, calls: Arc<Mutex<Calls>>) -> Self {
        Self { engine, notebook: Notebook { begun, calls } }
    }
}

impl Engine for Observed {
    fn server(&self) -> Result<Server, EngineError> {
        self.notebook.note("server", || self.engine.server())
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.notebook.note("schemas", || self.engine.schemas())
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        self.notebook.note(&format!("create schema {schema}"), || self.engine.create_schema(load, schema))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        let rows = slice.positions.end - slice.positions.start;
        let call = format!("load {rows} rows of schema {}", slice.schema);
        self.notebook.note(&call, || self.engine.load_slice(load, slice, progress))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        self.notebook.note(&format!("finish schema {schema}"), || self.engine.finish_schema(load, schema))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.notebook.note(&format!("drop schema {schema}"), || self.engine.drop_schema(schema))
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        let call = format!("open session {}", plan.number);
        let session = self.notebook.note(&call, || self.engine.session(plan))?;
        Ok(Box::new(ObservedSession { session, number: plan.number, notebook: self.notebook.clone() }))
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.notebook.note("snapshot", || self.engine.snapshot())
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>, EngineError> {
        self.notebook.note("testimony", || self.engine.capture())
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        let call = format!("read {} rows of schema {schema}", positions.end - positions.start);
        self.notebook.note(&call, || self.engine.read_rows(schema, table, positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        self.notebook.note("before the run", || self.engine.before_run(run))
    }

    fn after_run(&self) -> Vec<String> {
        self.engine.after_run()
    }

    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>, EngineError> {
        self.notebook.note("open the server's report", || self.engine.open_server_report(kind))
    }

    fn endpoints(&self) -> Vec<String> {
        self.engine.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        self.engine.locations()
    }
}

struct ObservedSession {
    session: Box<dyn Session>,
    number: u32,
    notebook: Notebook,
}

impl Session for ObservedSession {
    fn execute(
        &mut self,
        batch: &Batch,
        deadline: Option<Instant>,
        outcome: &mut Outcome,
    ) -> Result<(), EngineError> {
        let call = format!("session {} executes {} operations", self.number, batch.ops().len());
        self.notebook.note(&call, || self.session.execute(batch, deadline, outcome))
    }

    fn publish(&mut self) -> Result<(), EngineError> {
        let call = format!("session {} publishes", self.number);
        self.notebook.note(&call, || self.session.publish())
    }

    fn endpoint(&self) -> usize {
        self.session.endpoint()
    }

    fn canceller(&self) -> Option<Arc<dyn Cancel>> {
        self.session.canceller()
    }
}
