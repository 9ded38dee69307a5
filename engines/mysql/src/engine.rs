//! The engine: the contract, on the databases of a target.

use std::ops::Range;
use std::sync::Arc;

use slob_engine::{
    CapturedAnswer, Engine, EngineError, EngineKind, Layout, Load, LoadProgress, OpenSpec, RunPlan,
    SchemaState, Server, ServerLocation, Session, SessionPlan, Slice, Snapshot, Workload,
};
use slob_method::{RowView, SchemaNo, Table};
use slob_server::LoopPlace;

use crate::databases::Databases;
use crate::{
    before_run, catalog, counters, finish, load, read_rows, session, settings, testimony, waits, workload,
};

/// The line of this engine in the registry.
pub const KIND: EngineKind = EngineKind {
    scheme: "mysql",
    target_form: "mysql://USER@HOST:PORT",
    summary: "MySQL 8.0 to 9 and MariaDB 10.6 or later, InnoDB: batches run inside the server",
    library: || "its protocol, without its client library".to_owned(),
    params: &[LoopPlace::PARAM],
    open: |spec: &OpenSpec| Ok(Box::new(MysqlEngine(Arc::new(Databases::open(spec)?)))),
    scripts: None,
    replay: Some(testimony::replay),
};

struct MysqlEngine(Arc<Databases>);

impl Engine for MysqlEngine {
    fn server(&self) -> Result<Server, EngineError> {
        let Databases { servers, product, loop_place, .. } = &*self.0;
        servers.links().look(|conn| settings::describe(conn, product, *loop_place))
    }

    fn schemas(&self) -> Result<Vec<SchemaState>, EngineError> {
        self.0.links().look(catalog::schemas)
    }

    fn create_schema(&self, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.links().load(|conn| load::create(conn, load, schema))
    }

    fn load_slice(&self, load: &Load, slice: &Slice, progress: &LoadProgress) -> Result<(), EngineError> {
        let bulk = self.0.product.is_mariadb;
        self.0.links().load(|conn| load::load_slice(conn, load, slice, progress, bulk))
    }

    fn finish_schema(&self, load: &Load, schema: SchemaNo) -> Result<Layout, EngineError> {
        self.0.links().load(|conn| finish::finish(conn, load, schema, self.0.loop_place))
    }

    fn drop_schema(&self, schema: SchemaNo) -> Result<(), EngineError> {
        self.0.complete.forget(schema);
        self.0.links().load(|conn| finish::drop_schema(conn, schema))
    }

    fn session(&self, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
        session::open(&self.0, plan)
    }

    fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let product = &self.0.product;
        self.0.servers.snapshot(|conn| Ok((counters::read(conn, product)?, waits::read(conn))))
    }

    fn workload(&self) -> Result<Option<Workload>, EngineError> {
        self.0.links().look(|conn| workload::read(conn, &self.0.product)).map(Some)
    }

    fn capture(&self) -> Result<Vec<CapturedAnswer>, EngineError> {
        self.0.links().look(testimony::of)
    }

    fn read_rows(
        &self,
        schema: SchemaNo,
        table: Table,
        positions: Range<u64>,
        visit: &mut dyn FnMut(&RowView<'_>),
    ) -> Result<(), EngineError> {
        self.0.links().look(|conn| read_rows::read_rows(conn, schema, table, &positions, visit))
    }

    fn before_run(&self, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
        before_run::prepare(&self.0, run)
    }

    fn after_run(&self) -> Vec<String> {
        self.0.put_back()
    }

    fn endpoints(&self) -> Vec<String> {
        self.0.servers.endpoints()
    }

    fn locations(&self) -> Vec<ServerLocation> {
        self.0.servers.locations()
    }
}
