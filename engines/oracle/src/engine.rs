//! The engine: the contract, on the accounts of ours in one database.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use slob_engine::{
    Engine, EngineError, EngineKind, Layout, Load, LoadProgress, OpenSpec, RunPlan, Said, SchemaState,
    Server, ServerReport, Session, SessionPlan, Slice, Snapshot, Workload,
};
use slob_method::{RowView, SchemaNo, Table};
use slob_spec::StatisticsType;

use crate::catalog;
use crate::client::Dial;
use crate::connector::Who;
use crate::database::Database;
use crate::drivers;
use crate::load::{self, Making};
use crate::options::{PARAMS, SCHEME};
use crate::settings::Place;
use crate::{before_run, figures, finish, read_rows, script, server_report, session, settings, testimony};

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "oracle://USER@//HOST:PORT/SERVICE",
    summary: "Oracle Database 11.2 to 23ai: batches run inside the server; from 19c on without Oracle's client library",
    library: drivers::in_words,
    params: PARAMS,
    open,
    scripts: Some(&script::SCRIPTS),
    replay: Some(testimony::replay),
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(open_with(spec, drivers::of_target(&spec.target)?, None)?))
}

/// Opens a target by those connections, with the passwords in that file unless a parameter names one.
///
/// # Errors
/// As [`Database::open`].
pub(crate) fn open_with(
    spec: &OpenSpec,
    dial: Box<dyn Dial>,
    password_file: Option<PathBuf>,
) -> Result<OracleEngine, EngineError> {
    Ok(OracleEngine(Arc::new(Database::open(spec, dial, password_file)?)))
}

pub(crate) struct OracleEngine(Arc<Database>);

impl Engine for OracleEngine {
    fn server(&self) -> Result<Server, EngineError> {
        self.0.look(|client| settings::describe(client, &self.0))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.look(|client| catalog::schemas(client, &self.0.connector))
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        let Database { connector, links, .. } = &*self.0;
        let place = self.0.options.tablespace.clone().map_or(Place::Default, Place::Tablespace);
        let block_bytes = self.0.look(|client| Ok(settings::block_bytes(client, &place)))?;
        let making =
            Making { connector, links, tablespace: self.0.options.tablespace.as_deref(), block_bytes };
        load::create(&making, load, schema)
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        let Database { connector, links, .. } = &*self.0;
        links.with(connector, Who::Schema(slice.schema), |client| {
            load::load_slice(client, connector, load, slice, progress)
        })
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        let layout = finish::finish(
            &self.0.links,
            &self.0.connector,
            load,
            schema,
            self.0.options.tablespace.as_deref(),
        );
        // Else a load of many schemas ends with a session for each stream and schema, which `processes` may not allow.
        self.0.links.close(schema);
        self.0.links.close(SchemaNo::FIRST);
        layout
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.complete.forget(schema);
        finish::drop_schema(&self.0.links, &self.0.connector, schema)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        figures::snapshot(&self.0)
    }

    /// What a run's counters are taken from holds all sessions' work already.
    fn workload(&self) -> Result<Option<Workload>, EngineError> {
        let figures = figures::snapshot(&self.0)?.total();
        let version = Some(format!("Oracle Database {}", self.0.version.text));
        Ok(Some(Workload { counters: figures.counters, uptime_s: None, version, block_bytes: None }))
    }

    fn testimony(&self) -> Result<Vec<Said>, EngineError> {
        testimony::of(&self.0)
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.0
            .look(|client| read_rows::read_rows(client, &self.0.connector, schema, table, &positions, visit))
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
