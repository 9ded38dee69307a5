//! Connections for everything that is not a session: loading, looking, counting.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;
use slob_server::{Connector as _, Errand, Links, reach_any};

use crate::connect::Connector;
use crate::error::failed;
use crate::load;

/// What pins the plans; also for looking at them before a run. Each statement is one that every role may send; MySQL knows no
/// `subquery_cache` and passes over what is in a comment of MariaDB's. A range is
/// read page by page and not sorted first; what a subquery answered is not kept for the same key; a lock on our tables ends the run instead of hanging it.
pub(crate) const SESSION: &[&str] = &[
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', lock_wait_timeout = 60",
    "SET SESSION optimizer_switch = 'mrr=off,index_condition_pushdown=on'",
    "/*M! SET SESSION optimizer_switch = 'subquery_cache=off' */",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// Connections to the servers of a target; none yet.
pub(crate) fn links(connector: Connector) -> Links<Connector> {
    Links::new(connector, connect)
}

/// Those for looking outlive the node of a cluster that dies: all have the same data. A load is made by one node.
fn connect(connector: &Connector, errand: Errand) -> Result<Conn, EngineError> {
    let (conn, settings) = match errand {
        Errand::Load => (connector.connect(0), load::SETTINGS),
        Errand::Look => (reach_any(connector), SESSION),
        Errand::Watch(endpoint) => (connector.connect(endpoint), SESSION),
    };
    let mut conn = conn?;
    prepare(&mut conn, settings).map_err(|error| failed("preparing a connection", &error))?;
    Ok(conn)
}

/// Sends statements that answer nothing.
///
/// # Errors
/// Of the first that fails.
pub(crate) fn prepare(conn: &mut Conn, statements: &[&str]) -> Result<(), mysql::Error> {
    statements.iter().try_for_each(|statement| conn.query_drop(statement))
}
