//! Sessions: one connection each, with the plans of its statements pinned.

mod arrays;
mod client_loop;
mod interrupt;
mod server_loop;
mod times;

use std::sync::Arc;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, Session, SessionPlan};
use slob_method::{Action, Op, SchemaNo};
use slob_spec::RedoStress;

use crate::engine::Inner;
use crate::error::failed;
use crate::namespace::namespace;
use crate::options::LoopPlace;
use crate::procedure::Kind;

/// The settings that pin the plans; also for looking at them before a run.
pub(crate) const SETTINGS: &str = include_str!("../../sql/session.sql");

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(inner: &Arc<Inner>, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let step = format!(
        "opening session {} on {}",
        plan.number,
        inner.connector.endpoint(plan.endpoint(inner.connector.endpoints()))
    );
    inner.require_complete(plan.home, &step)?;
    if plan.hot_schema {
        inner.require_complete(SchemaNo::FIRST, &step)?;
    }
    let client = connect(inner, plan, &step)?;
    Ok(match inner.options.loop_place {
        LoopPlace::Server => Box::new(server_loop::ServerSession::open(inner, client, plan, step)?),
        LoopPlace::Client => Box::new(client_loop::ClientSession::open(inner, client, plan, step)?),
    })
}

fn connect(inner: &Inner, plan: &SessionPlan, step: &str) -> Result<Client, EngineError> {
    let mut client = inner
        .connector
        .connect(plan.endpoint(inner.connector.endpoints()))
        .map_err(|error| inner.too_many(error))?;
    client.batch_execute(SETTINGS).map_err(|error| failed(step, &error))?;
    Ok(client)
}

impl Inner {
    /// Looks, once for each schema, whether it is loaded.
    fn require_complete(&self, schema: SchemaNo, step: &str) -> Result<(), EngineError> {
        let mut complete = self.complete.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if complete.contains_key(&schema) {
            return Ok(());
        }
        let state = self.look.with(&self.connector, |client| crate::catalog::schema(client, schema, step))?;
        if let Some(lack) = state.state.lack(namespace(schema)) {
            return Err(lack.into_error(step));
        }
        complete.insert(schema, state.load);
        Ok(())
    }

    /// Adds the figures to a refused connection, if it is one of too many.
    fn too_many(&self, error: EngineError) -> EngineError {
        if !error.code().is_some_and(|code| code.contains("53300")) {
            return error;
        }
        const FIGURES: &str = "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections'),
                                      (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend')::text";
        let figures = self.look.with(&self.connector, |client| {
            let row = client.query_one(FIGURES, &[]).map_err(|error| failed("counting connections", &error))?;
            let text = |column| crate::catalog::get::<String>(&row, column, "counting connections");
            Ok(format!(
                "max_connections is {}, of which {} are reserved for superusers; {} are in use: raise max_connections, or use fewer schemas or threads",
                text(0)?, text(1)?, text(2)?
            ))
        });
        match figures {
            Ok(figures) => error.with_advice(figures),
            Err(_) => error,
        }
    }
}

/// What an operation is to the statements: its kind, and whether it goes to schema 1 from another home.
///
/// # Errors
/// [`ErrorKind::Usage`] if the session was not opened for such an operation.
fn classify(op: &Op, plan: &SessionPlan) -> Result<(Kind, bool), EngineError> {
    let hot = op.schema != plan.home;
    let kind = match (op.action, plan.redo) {
        (Action::Select(_), _) => Some(Kind::Select),
        (Action::Update(..), Some(RedoStress::Lite)) => Some(Kind::Lite),
        (Action::Update(..), Some(RedoStress::Heavy)) => Some(Kind::Heavy),
        (Action::Update(..), None) => None,
        (Action::Scan, _) => plan.scans.then_some(Kind::Scan),
    };
    let known = !hot || (plan.hot_schema && op.schema == SchemaNo::FIRST);
    kind.filter(|_| known).map(|kind| (kind, hot)).ok_or_else(|| {
        let step = format!("session {}, {op}", plan.number);
        EngineError::new(ErrorKind::Usage, step, "the session was not opened for such an operation")
    })
}
