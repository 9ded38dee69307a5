//! Runs on the null engine, or on one that differs from it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slob_engine::{
    Debt, Engine, Layout, Load, LoadProgress, OpenSpec, Purpose, Result, SchemaState, Server, ServerReport,
    Session, SessionPlan, Slice, Snapshot, null,
};
use slob_method::{RowView, SchemaNo};
use slob_run::{Measured, RunContext, RunError, RunObserver, prepare};
use slob_spec::{RunSpec, Settings, StatisticsType, Table as Parameters};

pub(crate) trait Changes: Send + Sync {
    fn session(&self, null: &dyn Engine, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        null.session(plan)
    }
    fn snapshot(&self, null: &dyn Engine) -> Result<Snapshot> {
        null.snapshot()
    }
    fn debts(&self) -> Result<Vec<Debt>> {
        Ok(Vec::new())
    }
    fn open_server_report(&self, _: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        Ok(None)
    }
}

struct Changed<C> {
    null: Box<dyn Engine>,
    changes: C,
}

impl<C: Changes> Engine for Changed<C> {
    fn server(&self) -> Result<Server> {
        self.null.server()
    }
    fn schemas(&self) -> Result<Vec<SchemaState>> {
        self.null.schemas()
    }
    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        self.null.create_schema(load, schema)
    }
    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        self.null.load_slice(load, slice, progress)
    }
    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        self.null.finish_schema(load, schema)
    }
    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        self.null.drop_schema(schema)
    }
    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        self.changes.session(self.null.as_ref(), plan)
    }
    fn snapshot(&self) -> Result<Snapshot> {
        self.changes.snapshot(self.null.as_ref())
    }
    fn debts(&self) -> Result<Vec<Debt>> {
        self.changes.debts()
    }
    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        self.null.read_rows(slice, visit)
    }
    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        self.changes.open_server_report(kind)
    }
}

/// Of equal keys the last one counts.
pub(crate) fn spec(parameters: &[(&str, &str)]) -> RunSpec {
    let flag = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let flags: Vec<_> = parameters.iter().map(flag).collect();
    let settings = Settings::resolve(&Parameters::new("null:", &[]), None, &[], &flags).unwrap().settings;
    RunSpec::from_settings(&settings).unwrap().spec
}

pub(crate) fn measure(
    spec: &RunSpec,
    changes: impl Changes + 'static,
    observer: &mut dyn RunObserver,
    stop: &AtomicBool,
) -> Result<Measured, RunError> {
    let open = OpenSpec::new(spec.target.clone(), Purpose::Use, spec.options.clone());
    let engine: Arc<dyn Engine> = Arc::new(Changed { null: (null::KIND.open)(&open).unwrap(), changes });
    let prepared = prepare(engine.as_ref(), spec)?;
    let context = RunContext {
        engine,
        spec,
        configuration: Vec::new(),
        slob_version: "test",
        stop,
        journal: None,
        common_start: None,
    };
    slob_run::run(&context, &prepared, observer)
}
