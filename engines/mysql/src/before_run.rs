//! What happens before the sessions of a run are opened.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, ErrorKind, RunPlan};
use slob_method::SchemaNo;
use slob_server::Connector as _;
use slob_server::names::plain;

use crate::capacity::OTHERS;
use crate::databases::Databases;
use crate::error::failed;
use crate::{catalog, flush, plans, procedure, quiet};

/// Brings the servers to a known state, and refuses a run that would not do what it says. Returns what the role could
/// not do or see.
///
/// # Errors
/// [`ErrorKind::Usage`] if a plan is not single-page I/O, or there is no room for the sessions.
pub(crate) fn prepare(databases: &Databases, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    let Databases { servers, loop_place, .. } = databases;
    servers.check_capacity(run, OTHERS)?;
    let mut notes = Vec::new();
    for endpoint in servers.first_endpoints() {
        let connector = servers.connector();
        let name = connector.endpoint(endpoint);
        servers.with(endpoint, |conn| {
            catch_up(conn, &name)?;
            if loop_place.is_in_server() {
                check_clock(conn, &name)?;
            }
            run.schemas.iter().try_for_each(|schema| check_schema(databases, conn, *schema, &name))
        })?;
        let (switched, said) = servers.with(endpoint, |conn| quiet::make(conn, connector, endpoint))?;
        databases.keep_quiet(switched);
        notes.extend(said);
        notes.extend(servers.with(endpoint, |conn| flush::flush(conn, connector, endpoint, run))?);
    }
    notes.extend(servers.notes());
    notes.dedup();
    Ok(notes)
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

fn check_schema(
    databases: &Databases,
    conn: &mut Conn,
    schema: SchemaNo,
    endpoint: &str,
) -> Result<(), EngineError> {
    let step = format!("checking {} on {endpoint}", plain(schema));
    let load = catalog::schema(conn, schema, &step)?.load;
    if databases.loop_place.is_in_server() {
        procedure::install(conn, &load, schema, &step)?;
    }
    plans::check(conn, schema, databases.joined())
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
