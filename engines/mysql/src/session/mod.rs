//! Sessions: one connection each, with the plans of its statements pinned.

mod answers;
mod client_loop;
mod interrupt;
mod packed;
mod server_loop;

use std::sync::Arc;

use mysql::prelude::Queryable;
use slob_engine::{EngineError, Session, SessionPlan};
use slob_server::names::plain;
use slob_server::{Cancellable, ClientLoop, Connector as _, LoopPlace};

use self::client_loop::Statements;
use self::interrupt::KillQuery;
use self::server_loop::ServerLoop;
use crate::catalog;
use crate::connections::{SESSION, prepare};
use crate::databases::Databases;
use crate::error::failed;
use crate::names::database;

/// Transactions begin by themselves, so that a SELECT need neither begin nor end one; they end by COMMIT, and with each batch.
/// MySQL cuts off what a stretch answers at 1 KB otherwise.
const WORKING: &str = "SET SESSION autocommit = 0, group_concat_max_len = 1048576";

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(databases: &Databases, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let connector = databases.servers.connector();
    let endpoint = plan.endpoint(connector.endpoints());
    let name = format!("session {} on {}", plan.number, connector.endpoint(endpoint));
    let step = format!("opening {name}");
    let look = |schema| Ok(vec![databases.links().look(|conn| catalog::schema(conn, schema, &step))?]);
    databases.complete.require(plan, &step, plain, look)?;
    let mut conn = connector.connect(endpoint)?;
    // The home schema is its default database, by which the sampler knows it.
    prepare(&mut conn, SESSION)
        .and_then(|()| conn.query_drop(WORKING))
        .and_then(|()| conn.query_drop(format!("USE {}", database(plan.home))))
        .map_err(|error| failed(step.as_str(), &error))?;
    let connection = conn.connection_id();
    let interrupt = KillQuery { connection, endpoint, connector: Arc::clone(connector) };
    Ok(match databases.loop_place {
        LoopPlace::Server | LoopPlace::Statement => {
            databases.complete.check_update_text(plan, &step)?;
            let joined = databases.joined();
            Box::new(Cancellable::new(ServerLoop::open(conn, plan, joined, &name)?, endpoint, interrupt))
        }
        LoopPlace::Client => {
            let work = ClientLoop::new(Statements(conn), plan, &step)?;
            Box::new(Cancellable::new(work, endpoint, interrupt))
        }
    })
}
