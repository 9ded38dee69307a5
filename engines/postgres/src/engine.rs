//! The engine: one database of a PostgreSQL server.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use slob_engine::{
    Engine, EngineError, EngineKind, ErrorKind, Layout, Load, LoadProgress, OpenSpec, RunPlan, SchemaState,
    Seen, Server, Session, SessionPlan, Slice, Snapshot,
};
use slob_method::{RowView, SchemaNo, Table, UpdateText};

use crate::connect::Connector;
use crate::error::failed;
use crate::link::Links;
use crate::options::{Options, PARAMS};
use crate::servers::{self, Watched};
use crate::{before_run, catalog, finish, load, locks, read_rows, session, settings};

/// The scheme of our targets.
pub(crate) const SCHEME: &str = "postgres";

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "postgres://USER@HOST:PORT/DATABASE",
    summary: "PostgreSQL 13 to 18: batches run inside the server",
    library: || "its protocol 3.0, without libpq".to_owned(),
    params: PARAMS,
    open,
    scripts: None,
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    let connector = Arc::new(Connector::from_target(&spec.target)?);
    let look = Links::new(session::SETTINGS);
    let version = look.with(&connector, ServerVersion::ask)?;
    Ok(Box::new(PostgresEngine(Arc::new(Inner {
        servers: servers::watch(&connector)?,
        connector,
        version,
        options: Options::from_spec(spec),
        load: Links::new(include_str!("../sql/loading.sql")),
        look,
        complete: Mutex::default(),
    }))))
}

/// The server's version as it numbers itself: 150006 is 15.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ServerVersion(pub(crate) u32);

impl ServerVersion {
    const OLDEST: Self = Self::major(13);

    /// The first release of a major version.
    pub(crate) const fn major(major: u32) -> Self {
        Self(major * 10_000)
    }

    /// Whether sessions can be told to publish their statistics when they become idle.
    pub(crate) fn can_flush(self) -> bool {
        self >= Self::major(15)
    }

    fn ask(client: &mut postgres::Client) -> Result<Self, EngineError> {
        let step = "asking for the server's version";
        let row = client
            .query_one(
                "SELECT current_setting('server_version_num')::integer, current_setting('server_version')",
                &[],
            )
            .map_err(|error| failed(step, &error))?;
        let version = Self(catalog::get::<i32>(&row, 0, step)?.unsigned_abs());
        if version < Self::OLDEST {
            let message = format!("the server is PostgreSQL {}", catalog::get::<String>(&row, 1, step)?);
            return Err(EngineError::new(ErrorKind::Usage, step, message)
                .with_advice("13 is the oldest that is supported"));
        }
        Ok(version)
    }
}

/// What an engine and its sessions share.
pub(crate) struct Inner {
    pub(crate) connector: Arc<Connector>,
    pub(crate) version: ServerVersion,
    pub(crate) options: Options,
    /// Connections of loaders.
    load: Links,
    /// Connections for looking at data and plans.
    pub(crate) look: Links,
    /// The servers behind the endpoints.
    pub(crate) servers: Vec<Watched>,
    /// Schemas that were found to be complete, and what they were loaded as.
    pub(crate) complete: Mutex<BTreeMap<SchemaNo, Load>>,
}

impl Inner {
    /// What the UPDATEs of a schema write, if it is known to be complete.
    pub(crate) fn update_text(&self, schema: SchemaNo) -> Option<UpdateText> {
        let complete = self.complete.lock().unwrap_or_else(PoisonError::into_inner);
        complete.get(&schema).map(|load| load.content().update_text())
    }

    /// Whether the processes of the first server are seen on this machine. A loopback address alone says little: a port of a
    /// container or the end of a tunnel may listen there.
    pub(crate) fn is_here(&self) -> bool {
        self.servers.first().is_some_and(|server| server.processes(&self.connector).is_some())
    }

    /// Work on a schema that needs locks; when they are not had in time, the error names who holds them.
    fn loading<T>(
        &self,
        schema: SchemaNo,
        patience: Duration,
        work: impl FnOnce(&mut postgres::Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.load.with(&self.connector, work).map_err(|error| {
            if !locks::timed_out(&error) {
                return error;
            }
            // If the server can't be asked any more, the error itself must do.
            let asked = self.look.with(&self.connector, |client| {
                locks::explained(client, schema, &format!("{} s", patience.as_secs()))
            });
            asked.unwrap_or(error)
        })
    }

    fn forget(&self, schema: SchemaNo) {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).remove(&schema);
    }
}

struct PostgresEngine(Arc<Inner>);

impl Engine for PostgresEngine {
    fn server(&self) -> Result<Server, EngineError> {
        let Inner { look, connector, options, version, .. } = &*self.0;
        let here = self.0.is_here();
        look.with(connector, |client| settings::describe(client, *version, options, here))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.look.with(&self.0.connector, catalog::schemas)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        let tablespace = self.0.options.tablespace.as_deref();
        self.0.loading(schema, locks::LOAD_PATIENCE, |client| load::create(client, load, schema, tablespace))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        self.0.loading(slice.schema, locks::LOAD_PATIENCE, |client| {
            load::load_slice(client, load, slice, progress)
        })
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        self.0.loading(schema, locks::LOAD_PATIENCE, |client| {
            finish::finish(client, load, schema, &self.0.options)
        })
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.forget(schema);
        self.0.loading(schema, locks::DROP_PATIENCE, |client| finish::drop_schema(client, schema))
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let Inner { servers, connector, version, .. } = &*self.0;
        let mut error = None;
        let see = |server: &Watched| {
            server.see(connector, *version).unwrap_or_else(|fault| {
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
            .with(&self.0.connector, |client| read_rows::read_rows(client, schema, table, positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        before_run::prepare(&self.0, run)
    }

    fn endpoints(&self) -> Vec<String> {
        let names = self.0.connector.names();
        if names.len() > 1 { names } else { Vec::new() }
    }

    fn processes(&self) -> Option<Vec<u32>> {
        let Inner { servers, connector, .. } = &*self.0;
        let each: Option<Vec<_>> = servers
            .iter()
            .filter(|server| server.is_first())
            .map(|server| server.processes(connector))
            .collect();
        each.map(|pids| pids.concat())
    }
}
