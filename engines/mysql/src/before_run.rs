//! What happens before the sessions of a run are opened.

use std::sync::PoisonError;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, ErrorKind, LoopPlace, RunPlan};
use slob_method::SchemaNo;

use crate::engine::Inner;
use crate::error::failed;
use crate::names::plain;
use crate::{capacity, catalog, flush, plans, procedure, quiet};

const NOT_SEEN: &str = "The server is reached without a network, but its process is not seen on this host (it may be in a container, at the end of a tunnel, or hidden from this account), so its CPU and the device behind its data are not known.";

/// Brings the servers to a known state, and refuses a run that would not do what it says. Returns what the role could
/// not do or see.
///
/// # Errors
/// [`ErrorKind::Usage`] if a plan is not single-page I/O, or there is no room for the sessions.
pub(crate) fn prepare(inner: &Inner, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    check_capacity(inner, run)?;
    let mut notes = Vec::new();
    for server in inner.servers.iter().filter(|server| server.is_first()) {
        let name = inner.connector.endpoint(server.endpoint());
        server.with(&inner.connector, |conn| {
            catch_up(conn, &name)?;
            if inner.loop_place == LoopPlace::Server {
                check_clock(conn, &name)?;
            }
            run.schemas.iter().try_for_each(|schema| check_schema(inner, conn, *schema, &name))
        })?;
        let (switched, said) =
            server.with(&inner.connector, |conn| quiet::make(conn, &inner.connector, server.endpoint()))?;
        inner.quiet.lock().unwrap_or_else(PoisonError::into_inner).push(switched);
        notes.extend(said);
        let (connector, endpoint) = (&inner.connector, server.endpoint());
        notes.extend(server.with(connector, |conn| flush::flush(conn, connector, endpoint, run))?);
    }
    if inner.connector.is_local(0) && !inner.is_here() {
        notes.push(NOT_SEEN.into());
    }
    if inner.connector.endpoints() > 1 {
        notes.push(
            "Sessions use several endpoints; the server settings, and the device, are those of the first one.".into(),
        );
    }
    notes.dedup();
    Ok(notes)
}

/// Each server must let in the sessions that fall on it.
fn check_capacity(inner: &Inner, run: &RunPlan<'_>) -> Result<(), EngineError> {
    let endpoints = inner.servers.len() as u32;
    for (endpoint, server) in (0..endpoints).zip(&inner.servers) {
        let sessions = run.sessions / endpoints + u32::from(endpoint < run.sessions % endpoints);
        let name = inner.connector.endpoint(endpoint as usize);
        server.with(&inner.connector, |conn| capacity::check(conn, &name, sessions))?;
    }
    Ok(())
}

/// Waits until a node of a Galera cluster has applied what was committed on the others, such as a load just now.
fn catch_up(conn: &mut Conn, endpoint: &str) -> Result<(), EngineError> {
    let step = format!("waiting until {endpoint} has what its cluster has");
    let fail = |error: mysql::Error| failed(step.as_str(), &error);
    let waits: Option<(String, String)> =
        conn.query_first("SHOW VARIABLES LIKE 'wsrep_sync_wait'").map_err(fail)?;
    let Some((_, before)) = waits else { return Ok(()) };
    conn.query_drop("SET SESSION wsrep_sync_wait = 1").map_err(fail)?;
    // Any SELECT waits, and only a SELECT: a CALL does not.
    conn.query_drop("SELECT COUNT(*) FROM information_schema.SCHEMATA").map_err(fail)?;
    conn.query_drop(format!("SET SESSION wsrep_sync_wait = {before}")).map_err(fail)
}

fn check_schema(inner: &Inner, conn: &mut Conn, schema: SchemaNo, endpoint: &str) -> Result<(), EngineError> {
    let step = format!("checking {} on {endpoint}", plain(schema));
    let load = catalog::schema(conn, schema, &step)?.load;
    if inner.loop_place == LoopPlace::Server {
        procedure::install(conn, &load, schema, &step)?;
    }
    plans::check(conn, schema)
}

/// Durations are differences of SYSDATE, which a server can be told to hold still within a statement.
fn check_clock(conn: &mut Conn, endpoint: &str) -> Result<(), EngineError> {
    let step = &format!("looking at the clock of {endpoint}");
    let sql = "SELECT SLEEP(0.002), SYSDATE(6) > NOW(6)";
    let moves: Option<(i64, bool)> = conn.query_first(sql).map_err(|error| failed(step, &error))?;
    if moves.is_some_and(|(_, moves)| moves) {
        return Ok(());
    }
    Err(EngineError::new(ErrorKind::Usage, step, "SYSDATE stands still within a statement")
        .with_advice("start the server without sysdate-is-now, or set LOOP=client"))
}
