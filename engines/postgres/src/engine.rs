use std::sync::Arc;

use slob_engine::{
    CapturedAnswer, Debt, Engine, EngineKind, Facts, Layout, Load, LoadProgress, OpenSpec, Purpose, Result,
    RunPlan, SchemaState, Server, ServerLocation, ServerTotals, Session, SessionPlan, Slice, Snapshot,
    TargetLock,
};
use slob_method::{RowView, SchemaNo};
use slob_server::{LoopPlace, Task};

use crate::database::{Database, PREWARM, SCHEME};
use crate::server::{DROP_PATIENCE, LOAD_PATIENCE, table_folder};
use crate::{before_run, catalog, counters, facts, load, rows, session, settings};

/// The engine of the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "postgres://USER@HOST:PORT/DATABASE",
    summary: "PostgreSQL 13 to 18: batches run inside the server",
    library: || "its protocol 3.0, without libpq".to_owned(),
    params: &[LoopPlace::PARAM, PREWARM],
    open: |spec: &OpenSpec| Ok(Box::new(PostgresEngine(Arc::new(Database::open(spec)?)))),
    scripts: None,
    board: Some(crate::board::KIND),
    replay: Some(counters::replay),
};

struct PostgresEngine(Arc<Database>);

impl Engine for PostgresEngine {
    fn server(&self) -> Result<Server> {
        self.0
            .servers
            .with(Task::Read, |client| settings::describe(client, self.0.version, self.0.loop_place))
    }

    fn check_account(&self, purpose: Purpose) -> Result<()> {
        // A run creates nothing.
        if purpose == Purpose::Use {
            return Ok(());
        }
        self.0.servers.with(Task::Read, |client| load::check_role(client, self.0.tablespace.as_deref()))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        self.0.servers.with(Task::Read, catalog::schemas)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        let tablespace = self.0.tablespace.as_deref();
        self.0.load(schema, LOAD_PATIENCE, |client| load::create(client, load, schema, tablespace))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        self.0.load(slice.schema, LOAD_PATIENCE, |client| load::load_slice(client, load, slice, progress))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        self.0.load(schema, LOAD_PATIENCE, |client| load::finish(client, load, schema, &self.0))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        self.0.loaded.forget(schema);
        self.0.load(schema, DROP_PATIENCE, |client| load::drop_schema(client, schema))
    }

    fn lock(&self) -> Result<TargetLock> {
        load::lock(&self.0.servers)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let schemas = self.0.servers.schemas_of_run();
        self.0.servers.snapshot(|client, clients| {
            Ok((counters::read(client, self.0.version, &schemas, clients)?, None))
        })
    }

    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        self.0.servers.with(Task::Read, |client| counters::server_totals(client, self.0.version)).map(Some)
    }

    fn facts(&self) -> Result<Facts> {
        self.0.servers.with(Task::Read, |client| facts::facts(client, self.0.version))
    }

    fn debts(&self) -> Result<Vec<Debt>> {
        self.0.servers.with(Task::Read, facts::debts)
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        self.0.servers.with(Task::Read, |client| counters::capture(client, self.0.version))
    }

    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        self.0.servers.with(Task::Read, |client| rows::read_rows(client, slice, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>> {
        before_run::prepare(&self.0, run)
    }

    fn endpoints(&self) -> Vec<String> {
        self.0.servers.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        let mut all = self.0.servers.locations();
        if let Some(tablespace) = self.0.tablespace.as_deref() {
            let folder = self.0.servers.with(Task::Read, |client| Ok(table_folder(client, Some(tablespace))));
            let data = folder.ok().flatten();
            all.iter_mut().for_each(|server| server.clues.data.clone_from(&data));
        }
        all
    }
}
