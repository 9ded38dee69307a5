use std::sync::Mutex;

use mysql::Conn;
use slob_engine::{
    CapturedAnswer, Engine, EngineError, EngineKind, ErrorKind, Facts, Layout, Load, LoadProgress, OpenSpec,
    Result, RunPlan, SchemaState, Server, ServerLocation, ServerTotals, Session, SessionPlan, Slice,
    Snapshot, TargetLock, lock,
};
use slob_method::{RowView, SchemaNo};
use slob_server::{Connector as _, Environment, LoadedSchemas, LoopPlace, Servers, Task};

use crate::connect::Connector;
use crate::globals::Globals;
use crate::sql::Ask;
use crate::statement::widest_stretch;
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
    replay: Some(counters::replay),
};

/// TiDB takes the protocol and the tables, but has no pages of InnoDB.
const NO_PAGES: &str = "a row has no page of its own there, a range of keys is one request, and no counter says what \
                        was read: nothing the method says about blocks would hold there; docs/how-to/distributed.md \
                        describes what was tried";

pub(crate) struct Product {
    pub(crate) is_mariadb: bool,
    pub(crate) version: String,
}

impl Product {
    pub(crate) fn name(&self) -> &'static str {
        if self.is_mariadb { "MariaDB" } else { "MySQL" }
    }

    /// An old server, or another product, is an error of [`ErrorKind::Usage`].
    fn ask(conn: &mut Conn) -> Result<Self> {
        let step = "asking for the server's version";
        let version: String = conn.row(step, "SELECT VERSION()")?.get(0).unwrap_or_default();
        if version.contains("TiDB") {
            let message = format!("the server is {version}, which keeps rows in a log-structured merge tree");
            return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(NO_PAGES));
        }
        let product = Self { is_mariadb: version.contains("MariaDB"), version };
        let (oldest, text) = if product.is_mariadb { ((10, 6), "10.6") } else { ((8, 0), "8.0") };
        if product.number() < oldest {
            let message = format!("the server is {} {}", product.name(), product.version);
            return Err(EngineError::new(ErrorKind::Usage, step, message)
                .with_advice(format!("{text} is the oldest that is supported")));
        }
        Ok(product)
    }

    fn number(&self) -> (u32, u32) {
        let mut parts = self.version.split(['.', '-']).map_while(|part| part.parse().ok());
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

pub(crate) struct Databases {
    pub(crate) servers: Servers<Connector>,
    pub(crate) product: Product,
    pub(crate) loop_place: LoopPlace,
    pub(crate) loaded: LoadedSchemas,
    /// The end of the run restores it.
    pub(crate) changed: Mutex<Vec<Globals>>,
}

impl Databases {
    fn open(spec: &OpenSpec) -> Result<Self> {
        let connector = Connector::new(&spec.target, &Environment::process())?;
        // Another product may not know the settings.
        let product = Product::ask(&mut connector.connect_any()?)?;
        Ok(Self {
            servers: Servers::connect(connector)?,
            product,
            loop_place: LoopPlace::from_options(&spec.options),
            loaded: LoadedSchemas::default(),
            changed: Mutex::default(),
        })
    }

    /// Consecutive SELECTs of up to so many keys are one statement.
    pub(crate) fn joined_keys(&self) -> u16 {
        widest_stretch(&self.product, self.loop_place)
    }
}

struct MysqlEngine(Databases);

impl Engine for MysqlEngine {
    fn server(&self) -> Result<Server> {
        let Databases { servers, product, loop_place, .. } = &self.0;
        servers.with(Task::Read, |conn| settings::describe(conn, product, *loop_place))
    }

    fn check_account(&self) -> Result<()> {
        self.0.servers.with(Task::Read, load::check_account)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        let product =
            |version: &str| Product { is_mariadb: version.contains("MariaDB"), version: version.into() };
        assert_eq!(product("10.11.6-MariaDB-0+deb12u1").number(), (10, 11));
        assert_eq!(product("8.0.36").number(), (8, 0));
        assert_eq!((product("8.4.0-1").name(), product("11.4.2-MariaDB").name()), ("MySQL", "MariaDB"));
    }
}
