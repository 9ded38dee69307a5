use slob_engine::{
    CapturedAnswer, Debt, Engine, EngineKind, Facts, Layout, Load, LoadProgress, OpenSpec, Purpose, Result,
    RunPlan, SchemaState, Server, ServerLocation, ServerTotals, Session, SessionPlan, Slice, Snapshot,
    TargetLock, lock,
};
use slob_method::{RowView, SchemaNo};
use slob_server::{LoopPlace, Task};

use crate::databases::Databases;
use crate::{before_run, catalog, counters, facts, load, rows, session, settings};

/// The engine of the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: "mysql",
    target_form: "mysql://USER@HOST:PORT",
    summary: "MySQL 8.0 to 9 and MariaDB 10.6 or later, InnoDB: batches run inside the server",
    library: || "its protocol, without its client library".to_owned(),
    params: &[LoopPlace::PARAM],
    open: |spec: &OpenSpec| Ok(Box::new(MysqlEngine(Databases::open(spec)?))),
    scripts: None,
    board: Some(crate::board::KIND),
    replay: Some(counters::replay),
};

struct MysqlEngine(Databases);

impl Engine for MysqlEngine {
    fn server(&self) -> Result<Server> {
        let Databases { servers, product, loop_place, .. } = &self.0;
        servers.with(Task::Read, |conn| settings::describe(conn, product, *loop_place))
    }

    fn check_account(&self, purpose: Purpose) -> Result<()> {
        self.0.servers.with(Task::Read, |conn| load::check_account(conn, purpose))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        self.0.servers.with(Task::Read, catalog::schemas)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        self.0.servers.with(Task::Load, |conn| load::create(conn, load, schema))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        let bulk = self.0.product.is_mariadb;
        self.0.servers.with(Task::Load, |conn| load::load_slice(conn, load, slice, progress, bulk))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        self.0.servers.with(Task::Load, |conn| load::finish(conn, load, schema, self.0.loop_place))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        self.0.loaded.forget(schema);
        self.0.servers.with(Task::Load, |conn| load::drop_schema(conn, schema))
    }

    fn lock(&self) -> Result<TargetLock> {
        load::lock(&self.0.servers)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let schemas = self.0.servers.schemas_of_run();
        self.0.servers.snapshot(|conn, clients| counters::read(conn, &self.0.product, &schemas, clients))
    }

    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        self.0.servers.with(Task::Read, |conn| counters::server_totals(conn, &self.0.product)).map(Some)
    }

    fn facts(&self) -> Result<Facts> {
        self.0.servers.with(Task::Read, |conn| facts::facts(conn, &self.0.product))
    }

    fn debts(&self) -> Result<Vec<Debt>> {
        self.0.servers.with(Task::Read, |conn| facts::debts(conn, &self.0.product))
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        self.0.servers.with(Task::Read, counters::capture)
    }

    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        self.0.servers.with(Task::Read, |conn| rows::read_rows(conn, slice, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>> {
        before_run::prepare(&self.0, run)
    }

    fn after_run(&self) -> Vec<String> {
        let changed = std::mem::take(&mut *lock(&self.0.changed));
        changed.into_iter().flat_map(|of_server| of_server.put_back(None)).collect()
    }

    fn endpoints(&self) -> Vec<String> {
        self.0.servers.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        self.0.servers.locations()
    }
}
