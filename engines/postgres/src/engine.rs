use std::sync::Arc;
use std::time::Duration;

use postgres::Client;
use slob_engine::{
    CapturedAnswer, Engine, EngineError, EngineKind, ErrorKind, Facts, Layout, Load, LoadProgress, OpenSpec,
    Result, RunPlan, SchemaState, Server, ServerLocation, ServerTotals, Session, SessionPlan, Slice,
    Snapshot, TargetLock,
};
use slob_method::{RowView, SchemaNo};
use slob_server::{Environment, LoadedSchemas, LoopPlace, Servers, Task};
use slob_spec::{Group, Kind, Param};

use crate::connect::Connector;
use crate::server::{DROP_PATIENCE, LOAD_PATIENCE, table_folder, with_lock_holders};
use crate::sql::Ask;
use crate::{before_run, catalog, counters, facts, load, rows, session, settings};

const SCHEME: &str = "postgres";
const OLDEST_VERSION: u32 = 13;
const PREWARM_NONE: &str = "none";
const PREWARM_CACHE: &str = "cache";
const PREWARM: Param = Param::new(
    "PREWARM",
    Kind::Choice(&[
        (PREWARM_NONE, "leave the buffer cache as it is"),
        (PREWARM_CACHE, "read every block of the main tables through the buffer cache"),
    ]),
    Group::Engine(SCHEME),
)
.meaning("what to read into the server's buffer cache before a run")
.shipped(PREWARM_NONE);

/// The engine of the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "postgres://USER@HOST:PORT/DATABASE",
    summary: "PostgreSQL 13 to 18: batches run inside the server",
    library: || "its protocol 3.0, without libpq".to_owned(),
    params: &[LoopPlace::PARAM, PREWARM],
    open: |spec: &OpenSpec| Ok(Box::new(PostgresEngine(Arc::new(Database::open(spec)?)))),
    scripts: None,
    replay: Some(counters::replay),
};

pub(crate) struct Database {
    pub(crate) servers: Servers<Connector>,
    pub(crate) version: u32,
    pub(crate) loop_place: LoopPlace,
    /// `None` is the database's default.
    pub(crate) tablespace: Option<String>,
    pub(crate) prewarm: bool,
    pub(crate) loaded: LoadedSchemas,
}

impl Database {
    fn open(spec: &OpenSpec) -> Result<Self> {
        let servers = Servers::connect(Connector::new(&spec.target, &Environment::process())?)?;
        Ok(Self {
            version: servers.with(Task::Read, major_version)?,
            servers,
            loop_place: LoopPlace::from_options(&spec.options),
            tablespace: spec.tablespace.clone().filter(|name| !name.is_empty()),
            prewarm: spec.options.get(PREWARM.key) == Some(PREWARM_CACHE),
            loaded: LoadedSchemas::default(),
        })
    }

    /// If locks are not granted in time, the error names their holders.
    fn load<T>(
        &self,
        schema: SchemaNo,
        patience: Duration,
        work: impl FnOnce(&mut Client) -> Result<T>,
    ) -> Result<T> {
        let result = self.servers.with(Task::Load, work);
        result.map_err(|error| with_lock_holders(&self.servers, schema, error, Some(patience)))
    }
}

fn major_version(client: &mut Client) -> Result<u32> {
    let step = "asking for the server's version";
    let sql = "SELECT current_setting('server_version_num'), current_setting('server_version')";
    let row = client.row(step, sql)?;
    // 150006 is 15.6.
    let major = row.need::<u32>(0, step)? / 10_000;
    if major < OLDEST_VERSION {
        let message = format!("the server is PostgreSQL {}", row.need::<String>(1, step)?);
        return Err(EngineError::new(ErrorKind::Usage, step, message)
            .with_advice(format!("{OLDEST_VERSION} is the oldest that is supported")));
    }
    Ok(major)
}

struct PostgresEngine(Arc<Database>);

impl Engine for PostgresEngine {
    fn server(&self) -> Result<Server> {
        self.0
            .servers
            .with(Task::Read, |client| settings::describe(client, self.0.version, self.0.loop_place))
    }

    fn check_account(&self) -> Result<()> {
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
        let work = |client: &mut Client| load::load_slice(client, load, slice, progress);
        self.0.load(slice.schema, LOAD_PATIENCE, work)
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
