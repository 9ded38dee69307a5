//! The engine: the accounts of ours in one Oracle database.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use slob_engine::{
    Engine, EngineError, EngineKind, Layout, Load, LoadProgress, OpenSpec, RunPlan, SchemaState, Server,
    ServerReport, Session, SessionPlan, Slice, Snapshot,
};
use slob_method::{RowView, SchemaNo, Table};
use slob_spec::StatisticsType;

use crate::access::Access;
use crate::catalog::{self, number};
use crate::client::{Client, Dial};
use crate::connector::{Connector, Who};
use crate::counters::Views;
use crate::link::Links;
use crate::load::{self, Making};
use crate::native::Native;
use crate::options::{Options, PARAMS};
use crate::passwords::Passwords;
use crate::settings::Place;
use crate::version::{self, Version};
use crate::{before_run, figures, finish, read_rows, script, server_report, session, settings};

/// The scheme of our targets.
pub(crate) const SCHEME: &str = "oracle";

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "oracle://USER@//HOST:PORT/SERVICE",
    summary: "Oracle Database 11.2 to 23ai: batches run inside the server; needs Oracle's client library",
    library: || "ODPI-C, built in; the client library is looked for at run time".to_owned(),
    params: PARAMS,
    open,
    scripts: Some(&script::SCRIPTS),
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(open_with(spec, Box::new(Native), None)?))
}

/// Opens a target by those connections, with the passwords in that file unless a parameter names one.
pub(crate) fn open_with(
    spec: &OpenSpec,
    dial: Box<dyn Dial>,
    password_file: Option<PathBuf>,
) -> Result<OracleEngine, EngineError> {
    let options = Options::from_spec(spec)?;
    let access = Access::new(&spec.target, &options)?;
    let password_file = options.password_file.clone().or(password_file);
    let passwords = Passwords::new(password_file, &access.admin_service)?;
    let connector = Connector::new(dial, access, options.prefix.clone(), options.accounts, passwords);
    let links = Links::default();
    let (version, views) =
        links.with(&connector, Who::Admin, |client| Ok((version::ask(client)?, views(client))))?;
    Ok(OracleEngine(Arc::new(Inner {
        connector,
        links,
        version,
        views,
        options,
        places: OnceLock::new(),
        complete: Mutex::default(),
    })))
}

/// All instances, if there are several and the account may see them.
fn views(client: &mut dyn Client) -> Views {
    let rows = client.query(include_str!("../sql/instances.sql"), &[]).unwrap_or_default();
    match rows.first().and_then(|row| number(row, 0)) {
        Some(instances) if instances > 1 => Views::Cluster,
        _ => Views::Instance,
    }
}

/// What an engine and its sessions share.
pub(crate) struct Inner {
    pub(crate) connector: Connector,
    pub(crate) links: Links,
    pub(crate) version: Version,
    pub(crate) views: Views,
    pub(crate) options: Options,
    /// The instances that endpoints lead to, once they were asked for.
    pub(crate) places: OnceLock<Option<Vec<u64>>>,
    /// Schemas that were found to be complete.
    pub(crate) complete: Mutex<BTreeSet<SchemaNo>>,
}

impl Inner {
    /// Works as the account that looks.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn look<T>(
        &self,
        work: impl FnOnce(&mut dyn Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.links.with(&self.connector, Who::Admin, work)
    }

    fn tablespace(&self) -> Option<&str> {
        self.options.tablespace.as_deref()
    }
}

pub(crate) struct OracleEngine(Arc<Inner>);

impl Engine for OracleEngine {
    fn server(&self) -> Result<Server, EngineError> {
        self.0.look(|client| settings::describe(client, &self.0))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.look(|client| catalog::schemas(client, &self.0.connector))
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        let Inner { connector, links, .. } = &*self.0;
        let place = self.0.options.tablespace.clone().map_or(Place::Default, Place::Tablespace);
        let block_bytes = self.0.look(|client| Ok(settings::block_bytes(client, &place)))?;
        let making = Making { connector, links, tablespace: self.0.tablespace(), block_bytes };
        load::create(&making, load, schema)
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        let Inner { connector, links, .. } = &*self.0;
        links.with(connector, Who::Schema(slice.schema), |client| {
            load::load_slice(client, connector, load, slice, progress)
        })
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        let layout = finish::finish(&self.0.links, &self.0.connector, load, schema, self.0.tablespace());
        // Else a load of many schemas ends with a session for each stream and schema, which `processes` may not allow.
        self.0.links.close(schema);
        self.0.links.close(SchemaNo::FIRST);
        layout
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.complete.lock().unwrap_or_else(PoisonError::into_inner).remove(&schema);
        finish::drop_schema(&self.0.links, &self.0.connector, schema)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let places = self.0.places.get_or_init(|| figures::places(&self.0));
        figures::snapshot(&self.0, places.as_deref())
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.0.look(|client| read_rows::read_rows(client, &self.0.connector, schema, table, positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        before_run::prepare(&self.0, run)
    }

    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>, EngineError> {
        server_report::open(&self.0, kind).map(Some)
    }

    fn endpoints(&self) -> Vec<String> {
        let names = self.0.connector.endpoints();
        if names.len() > 1 { names.to_vec() } else { Vec::new() }
    }
}
