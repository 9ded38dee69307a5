//! The engine: the contract, on one database.

use std::ops::Range;
use std::sync::Arc;

use slob_engine::{
    CapturedAnswer, Engine, EngineError, EngineKind, Layout, Load, LoadProgress, OpenSpec, RunPlan,
    SchemaState, Server, ServerLocation, Session, SessionPlan, Slice, Snapshot, Workload,
};
use slob_method::{RowView, SchemaNo, Table};

use crate::database::Database;
use crate::options::{PARAMS, SCHEME};
use crate::{
    before_run, catalog, counters, finish, load, locks, place, read_rows, session, settings, testimony,
    workload,
};

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: SCHEME,
    target_form: "postgres://USER@HOST:PORT/DATABASE",
    summary: "PostgreSQL 13 to 18: batches run inside the server",
    library: || "its protocol 3.0, without libpq".to_owned(),
    params: PARAMS,
    open: |spec: &OpenSpec| Ok(Box::new(PostgresEngine(Arc::new(Database::open(spec)?)))),
    scripts: None,
    replay: Some(testimony::replay),
};

struct PostgresEngine(Arc<Database>);

impl Engine for PostgresEngine {
    fn server(&self) -> Result<Server, EngineError> {
        self.0.links().look(|client| settings::describe(client, self.0.version, &self.0.options))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.links().look(catalog::schemas)
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
        let Database { options, version, .. } = &*self.0;
        self.0.loading(schema, locks::LOAD_PATIENCE, |client| {
            finish::finish(client, load, schema, options, *version)
        })
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.complete.forget(schema);
        self.0.loading(schema, locks::DROP_PATIENCE, |client| finish::drop_schema(client, schema))
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        self.0.servers.snapshot(|client| Ok((counters::read(client, self.0.version)?, None)))
    }

    fn workload(&self) -> Result<Option<Workload>, EngineError> {
        self.0.links().look(|client| workload::read(client, self.0.version)).map(Some)
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>, EngineError> {
        self.0.links().look(|client| testimony::of(client, self.0.version))
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.0.links().look(|client| read_rows::read_rows(client, schema, table, &positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        before_run::prepare(&self.0, run)
    }

    fn endpoints(&self) -> Vec<String> {
        self.0.servers.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        let mut all = self.0.servers.locations();
        if let Some(tablespace) = self.0.options.tablespace.as_deref() {
            let place = self.0.links().look(|client| Ok(place::of_tables(client, Some(tablespace))));
            let data = place.ok().flatten();
            all.iter_mut().for_each(|server| server.clues.data.clone_from(&data));
        }
        all
    }
}
