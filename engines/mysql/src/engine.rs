//! The engine: the databases of ours on one or several servers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{
    Engine, EngineError, EngineKind, ErrorKind, Layout, Load, LoadProgress, LoopPlace, OpenSpec, RunPlan,
    SchemaState, Seen, Server, Session, SessionPlan, Slice, Snapshot,
};
use slob_method::{RowView, SchemaNo, Table, UpdateText};

use crate::connect::Connector;
use crate::error::failed;
use crate::globals::Globals;
use crate::link::Links;
use crate::servers::{self, Watched};
use crate::{before_run, catalog, finish, load, read_rows, session, settings};

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: "mysql",
    target_form: "mysql://USER@HOST:PORT",
    summary: "MySQL 8 and MariaDB 10.6 or later, InnoDB: batches run inside the server",
    library: || "its protocol, without its client library".to_owned(),
    params: &[LoopPlace::PARAM],
    open,
    scripts: None,
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    let connector = Arc::new(Connector::from_target(&spec.target)?);
    let look = Links::to_any(session::SETTINGS);
    let product = look.with(&connector, Product::ask)?;
    Ok(Box::new(MysqlEngine(Arc::new(Inner {
        servers: servers::watch(&connector)?,
        connector,
        product,
        loop_place: LoopPlace::from_options(&spec.options),
        load: Links::new(load::SETTINGS, 0),
        look,
        complete: Mutex::default(),
        quiet: Mutex::default(),
    }))))
}

/// The makers and the version of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Whether it is MariaDB, which counts and names some things otherwise than MySQL.
    pub(crate) is_mariadb: bool,
    /// The version in full, as the server says it.
    pub(crate) version: String,
}

impl Product {
    /// The makers' name for it.
    pub(crate) fn name(&self) -> &'static str {
        if self.is_mariadb { "MariaDB" } else { "MySQL" }
    }

    fn ask(conn: &mut Conn) -> Result<Self, EngineError> {
        let step = "asking for the server's version";
        let version: Option<String> =
            conn.query_first("SELECT VERSION()").map_err(|error| failed(step, &error))?;
        let version = version.unwrap_or_default();
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

/// What an engine and its sessions share.
pub(crate) struct Inner {
    pub(crate) connector: Arc<Connector>,
    pub(crate) product: Product,
    pub(crate) loop_place: LoopPlace,
    /// Connections of loaders.
    load: Links,
    /// Connections for looking at data and plans; they outlive the node of a cluster that dies.
    pub(crate) look: Links,
    /// The servers behind the endpoints.
    pub(crate) servers: Vec<Watched>,
    /// Schemas that were found to be complete, and what they were loaded as.
    pub(crate) complete: Mutex<BTreeMap<SchemaNo, Load>>,
    /// What was changed on the servers for a run, to be put back at the end.
    pub(crate) quiet: Mutex<Vec<Globals>>,
}

impl Inner {
    /// What the UPDATEs of a schema write, if it is known to be complete.
    pub(crate) fn update_text(&self, schema: SchemaNo) -> Option<UpdateText> {
        let complete = self.complete.lock().unwrap_or_else(PoisonError::into_inner);
        complete.get(&schema).map(|load| load.content().update_text())
    }

    /// Whether the process of the first server is seen on this machine. A loopback address alone says little: a port of a container
    /// or the end of a tunnel may listen there.
    pub(crate) fn is_here(&self) -> bool {
        self.servers.first().is_some_and(|server| server.process(&self.connector).is_some())
    }

    fn forget(&self, schema: SchemaNo) {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).remove(&schema);
    }
}

struct MysqlEngine(Arc<Inner>);

impl Engine for MysqlEngine {
    fn server(&self) -> Result<Server, EngineError> {
        let Inner { look, connector, product, loop_place, .. } = &*self.0;
        let here = self.0.is_here();
        look.with(connector, |conn| settings::describe(conn, product, *loop_place, here))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.look.with(&self.0.connector, catalog::schemas)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.load.with(&self.0.connector, |conn| load::create(conn, load, schema))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        let bulk = self.0.product.is_mariadb;
        self.0.load.with(&self.0.connector, |conn| load::load_slice(conn, load, slice, progress, bulk))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        self.0.load.with(&self.0.connector, |conn| finish::finish(conn, load, schema, self.0.loop_place))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.forget(schema);
        self.0.load.with(&self.0.connector, |conn| finish::drop_schema(conn, schema))
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let Inner { servers, connector, product, .. } = &*self.0;
        let mut error = None;
        let see = |server: &Watched| {
            server.see(connector, product).unwrap_or_else(|fault| {
                error = Some(fault);
                Seen::Unreachable
            })
        };
        let seen: Vec<Seen> = servers.iter().map(see).collect();
        match error {
            Some(error) if !seen.iter().any(|seen| matches!(seen, Seen::Figures(_))) => Err(error),
            _ => Ok(Snapshot::of_servers(seen)),
        }
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.0
            .look
            .with(&self.0.connector, |conn| read_rows::read_rows(conn, schema, table, positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        before_run::prepare(&self.0, run)
    }

    fn after_run(&self) -> Vec<String> {
        let changed = std::mem::take(&mut *self.0.quiet.lock().unwrap_or_else(PoisonError::into_inner));
        changed.into_iter().flat_map(|of_server| of_server.put_back(None)).collect()
    }

    fn endpoints(&self) -> Vec<String> {
        let names = self.0.connector.names();
        if names.len() > 1 { names } else { Vec::new() }
    }

    fn processes(&self) -> Option<Vec<u32>> {
        let Inner { servers, connector, .. } = &*self.0;
        let each: Option<Vec<u32>> = servers
            .iter()
            .filter(|server| server.is_first())
            .map(|server| server.process(connector))
            .collect();
        each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        let product =
            |version: &str| Product { is_mariadb: version.contains("MariaDB"), version: version.into() };
        assert_eq!(product("10.11.6-MariaDB-0+deb12u1").number(), (10, 11));
        assert_eq!(product("8.0.36").number(), (8, 0));
        assert_eq!((product("8.4.0-1").name(), product("11.4.2-MariaDB").name()), ("MySQL", "MariaDB"));
    }
}
