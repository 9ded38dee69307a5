//! Sessions: one connection each, with the plans of its statements pinned.

mod answers;
mod client_loop;
mod interrupt;
mod packed;
mod server_loop;

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, LoopPlace, Session, SessionPlan};
use slob_method::SchemaNo;

use crate::engine::Inner;
use crate::error::failed;
use crate::link::prepare;
use crate::names::{database, plain};

/// What pins the plans; also for looking at them before a run. Each statement is one that every role may send. A range is
/// read page by page and not sorted first; a lock on our tables ends the run instead of hanging it.
pub(crate) const SETTINGS: &[&str] = &[
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', lock_wait_timeout = 60",
    "SET SESSION optimizer_switch = 'mrr=off,index_condition_pushdown=on'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];
/// Transactions begin by themselves, so that SELECTs need neither begin nor end one, and end by COMMIT.
const WORKING: &str = "SET SESSION autocommit = 0";

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(inner: &Arc<Inner>, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let endpoint = inner.connector.endpoint(plan.endpoint(inner.connector.endpoints()));
    let step = format!("opening session {} on {endpoint}", plan.number);
    inner.require_complete(plan.home, &step)?;
    if plan.hot_schema {
        inner.require_complete(SchemaNo::FIRST, &step)?;
    }
    let conn = connect(inner, plan, &step)?;
    let step = format!("session {} on {endpoint}", plan.number);
    Ok(match inner.loop_place {
        LoopPlace::Server => Box::new(server_loop::ServerSession::open(inner, conn, plan, step)?),
        LoopPlace::Client => Box::new(client_loop::ClientSession::open(inner, conn, plan, &step)?),
    })
}

/// The home schema is its default database, by which the sampler knows it.
fn connect(inner: &Inner, plan: &SessionPlan, step: &str) -> Result<Conn, EngineError> {
    let mut conn = inner.connector.connect(plan.endpoint(inner.connector.endpoints()))?;
    prepare(&mut conn, SETTINGS)
        .and_then(|()| conn.query_drop(WORKING))
        .and_then(|()| conn.query_drop(format!("USE {}", database(plan.home))))
        .map_err(|error| failed(step, &error))?;
    Ok(conn)
}

impl Inner {
    /// Looks, once for each schema, whether it is loaded.
    fn require_complete(&self, schema: SchemaNo, step: &str) -> Result<(), EngineError> {
        let mut complete = self.complete.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if complete.contains_key(&schema) {
            return Ok(());
        }
        let state = self.look.with(&self.connector, |conn| crate::catalog::schema(conn, schema, step))?;
        if let Some(lack) = state.state.lack(plain(schema)) {
            return Err(lack.into_error(step));
        }
        complete.insert(schema, state.load);
        Ok(())
    }
}
