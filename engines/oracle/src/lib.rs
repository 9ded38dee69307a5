//! OpenSLOB: the Oracle Database engine, for releases 11.2 to 23ai.
//!
//! Each schema is an account (`SLOB1`, ...) with the tables `CF1` and `CF2`, whose rows have a block each (PCTFREE 99). A batch
//! is one PL/SQL block, so an operation costs no parsing and no network.
//!
//! This engine has met no Oracle server yet; `docs/evidence.md` lists its checks. It reaches servers only through the trait
//! `client::Client`, behind which tests play transcripts.
#![forbid(unsafe_code)]

mod before_run;
mod capture;
mod client;
mod counters;
mod database;
mod load;
mod native;
mod options;
mod passwords;
mod release;
mod schemas;
mod script;
mod server_report;
mod session;
mod settings;
mod statements;
#[cfg(test)]
mod tests;
#[cfg(feature = "thin")]
mod thin;
mod wallet;

use std::sync::Arc;

use slob_engine::{
    CapturedAnswer, Engine, EngineKind, Layout, Load, LoadProgress, OpenSpec, Result, RunPlan, SchemaState,
    Server, ServerReport, ServerTotals, Session, SessionPlan, Slice, Snapshot,
};
use slob_method::{RowView, SchemaNo};
use slob_spec::StatisticsType;

use crate::database::{Database, Role};

/// The engine of the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: options::SCHEME,
    target_form: "oracle://USER@//HOST:PORT/SERVICE",
    summary: "Oracle Database 11.2 to 23ai: batches run inside the server; from 19c on without Oracle's client library",
    library: client::available_drivers,
    params: options::PARAMS,
    open,
    scripts: Some(&script::SCRIPTS),
    board: None,
    replay: Some(capture::replay),
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>> {
    let database = Database::open(spec, client::driver_of(&spec.target, options::wallet_of(spec))?, None)?;
    Ok(Box::new(OracleEngine(Arc::new(database))))
}

struct OracleEngine(Arc<Database>);

impl Engine for OracleEngine {
    fn server(&self) -> Result<Server> {
        self.0.as_admin(|client| settings::describe(client, &self.0))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>> {
        self.0.as_admin(|client| schemas::all(client, &self.0.connections))
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<()> {
        let block_bytes = self.0.as_admin(|client| Ok(settings::block_bytes_of_load(client, &self.0)))?;
        load::create(&self.0.connections, load, schema, block_bytes)
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<()> {
        let connections = &self.0.connections;
        connections.with(Role::Schema(slice.schema), |client| {
            load::load_slice(client, connections, load, slice, progress)
        })
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout> {
        let layout = load::finish(&self.0.connections, load, schema);
        // Otherwise a load may keep more sessions than `processes` allows.
        self.0.connections.close(schema);
        self.0.connections.close(SchemaNo::FIRST);
        layout
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<()> {
        self.0.complete.forget(schema);
        load::drop_schema(&self.0.connections, schema)
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot> {
        counters::snapshot(&self.0)
    }

    fn server_totals(&self) -> Result<Option<ServerTotals>> {
        Ok(Some(ServerTotals {
            counters: counters::snapshot(&self.0)?.total().counters,
            uptime_s: None,
            version: Some(format!("Oracle Database {}", self.0.version.text)),
            block_bytes: None,
            not_counted: Vec::new(),
        }))
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>> {
        capture::capture(&self.0)
    }

    fn read_rows(&self, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
        let connections = &self.0.connections;
        self.0.as_admin(|client| load::read_rows(client, connections, slice, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>> {
        before_run::prepare(&self.0, run)
    }

    fn after_run(&self) -> Vec<String> {
        before_run::look_back(&self.0)
    }

    fn open_server_report(&self, kind: StatisticsType) -> Result<Option<Box<dyn ServerReport>>> {
        server_report::open(&self.0, kind).map(Some)
    }

    fn endpoints(&self) -> Vec<String> {
        let services = &self.0.connections.access.services;
        if services.len() > 1 { services.clone() } else { Vec::new() }
    }
}
