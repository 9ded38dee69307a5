//! What happens before the sessions of a run are opened.

use postgres::Client;
use postgres::error::SqlState;
use slob_engine::{EngineError, ErrorKind, RunPlan};
use slob_method::SchemaNo;
use slob_server::names::plain;
use slob_server::{Kind, LoopPlace};

use crate::capacity::OTHERS;
use crate::catalog::{self, get};
use crate::database::Database;
use crate::error::failed;
use crate::namespace::namespace;
use crate::statement::statement;
use crate::{plans, procedure, publisher};

/// Brings the server to a known state, and refuses a run that would not do what it says. Returns what the role could
/// not do or see.
///
/// # Errors
/// [`ErrorKind::Usage`] if a plan is not single-block I/O, or updates of a table would make no redo.
pub(crate) fn prepare(database: &Database, run: &RunPlan<'_>) -> Result<Vec<String>, EngineError> {
    let Database { servers, options, version, .. } = database;
    servers.check_capacity(run, OTHERS)?;
    let mut notes = database.links().look(|client| {
        for schema in run.schemas {
            let step = format!("checking {}", namespace(*schema));
            check_logged(client, *schema, &step)?;
            if options.loop_place.is_in_server() {
                let load = catalog::schema(client, *schema, &step)?.load;
                procedure::install(client, &load, *schema, *version, &step)?;
            }
            plans::check(client, *schema, options.loop_place == LoopPlace::Server)?;
        }
        let notes: Vec<String> = checkpoint(client)?.into_iter().collect();
        if options.prewarm {
            run.schemas.iter().try_for_each(|schema| prewarm(client, *schema))?;
        }
        // What was looked at for the run must not be counted in its window.
        publisher::publish(client, *version)?;
        Ok(notes)
    })?;
    notes.extend(servers.notes());
    Ok(notes)
}

/// Updates of an unlogged table would make no redo.
fn check_logged(client: &mut Client, schema: SchemaNo, step: &str) -> Result<(), EngineError> {
    let sql = "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = $1 AND c.relname IN ('cf1', 'cf2') AND c.relpersistence <> 'p'";
    let name = plain(schema);
    let Some(row) = client.query_opt(sql, &[&name]).map_err(|error| failed(step, &error))? else {
        return Ok(());
    };
    let table: String = get(&row, 0, step)?;
    let message = format!("{table} is unlogged: its updates would make no redo");
    Err(EngineError::new(ErrorKind::Usage, step, message)
        .with_advice(format!("ALTER TABLE {}.{table} SET LOGGED", namespace(schema))))
}

/// Reads every block of a main table. The index leads there: a scan of the table would use a small ring of buffers
/// over and over.
fn prewarm(client: &mut Client, schema: SchemaNo) -> Result<(), EngineError> {
    let sql = statement(Kind::Select, schema, ["$1", "$2"], |_| String::new());
    let read = client.query_one(&sql, &[&1_i64, &i64::MAX]);
    read.map(drop).map_err(|error| failed(format!("reading {} into the cache", namespace(schema)), &error))
}

/// Writes out what is dirty, so that a run starts without the debts of the one before it.
fn checkpoint(client: &mut Client) -> Result<Option<String>, EngineError> {
    let Err(error) = client.batch_execute("CHECKPOINT") else { return Ok(None) };
    if error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return Err(failed("making a checkpoint", &error));
    }
    Ok(Some(
        "The role may not make a checkpoint, so blocks left dirty by earlier work may be written during the run: GRANT pg_checkpoint to it (15 and later), or run as a superuser."
            .into(),
    ))
}
