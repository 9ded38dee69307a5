//! What happens before the sessions of a run are opened.

use std::sync::PoisonError;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, ErrorKind, LoopPlace, RunPlan};
use slob_method::SchemaNo;

use crate::engine::Inner;
use crate::error::failed;
use crate::names::plain;
use crate::quiet::Quiet;
use crate::{capacity, catalog, flush, plans, procedure};

/// Brings the servers to a known state, and refuses a run that would not do what it says. Returns what the role could
/// not do or see.
///
/// # Errors
/// [`ErrorKind::Usage`] if a plan is not single-page I/O, or there is no room for the sessions.
pub(crate) fn prepare(inner: &Inner, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    check_capacity(inner, run)?;
    let mut notes = Vec::new();
    inner.look.with(&inner.connector, |conn| {
        if inner.loop_place == LoopPlace::Server {
            check_clock(conn)?;
        }
        run.schemas.iter().try_for_each(|schema| check_schema(inner, conn, *schema))
    })?;
    for server in inner.servers.iter().filter(|server| server.is_first()) {
        let (quiet, changed) =
            server.with(&inner.connector, |conn| Quiet::make(conn, &inner.connector, server.endpoint()))?;
        inner.quiet.lock().unwrap_or_else(PoisonError::into_inner).push(quiet);
        notes.extend(changed);
        notes.extend(server.with(&inner.connector, flush::flush)?);
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

fn check_schema(inner: &Inner, conn: &mut Conn, schema: SchemaNo) -> Result<(), EngineError> {
    let step = format!("checking {}", plain(schema));
    let load = catalog::schema(conn, schema, &step)?.load;
    if inner.loop_place == LoopPlace::Server {
        procedure::install(conn, &load, schema, &step)?;
    }
    plans::check(conn, schema)
}

/// Durations are differences of SYSDATE, which a server can be told to hold still within a statement.
fn check_clock(conn: &mut Conn) -> Result<(), EngineError> {
    let step = "looking at the server's clock";
    let sql = "SELECT SLEEP(0.002), SYSDATE(6) > NOW(6)";
    let moves: Option<(i64, bool)> = conn.query_first(sql).map_err(|error| failed(step, &error))?;
    if moves.is_some_and(|(_, moves)| moves) {
        return Ok(());
    }
    Err(EngineError::new(ErrorKind::Usage, step, "SYSDATE stands still within a statement")
        .with_advice("start the server without sysdate-is-now, or set LOOP=client"))
}
