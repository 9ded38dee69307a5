//! Completing a schema, and removing one.

use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, Layout, Load};
use slob_method::{SchemaNo, Table};
use slob_server::all_there;
use slob_server::names::{INDEX, plain};

use crate::error::failed;
use crate::namespace::{namespace, quoted, table};
use crate::options::Options;
use crate::version::ServerVersion;
use crate::{catalog, locks, procedure};

/// How often a vacuum is repeated, and how long it waits before: transactions that began before the last slice ended,
/// such as slices of other schemas, keep its rows from being frozen.
const VACUUM_TRIES: u32 = 40;
/// Empty blocks that are tolerated: one for so many rows.
const GAP_SHARE: u64 = 200;
const FEW_BLOCKS: u64 = 16;
const VACUUM_PAUSE: Duration = Duration::from_millis(500);

/// Completes a schema whose slices are all there: frozen rows, statistics, index, and the procedure that sessions call,
/// unless the loop is to run in the client.
///
/// # Errors
/// If rows are missing, or anything can't be made.
pub(crate) fn finish(
    client: &mut Client,
    load: &Load,
    schema: SchemaNo,
    options: &Options,
    version: ServerVersion,
) -> Result<Layout, EngineError> {
    let step = format!("completing {}", namespace(schema));
    if let Some(layout) = catalog::schema(client, schema, &step)?.state.before_finish(load, schema, &step)? {
        return Ok(layout);
    }
    let fail = |error: postgres::Error| failed(step.as_str(), &error);
    close_gaps(client, load, schema).map_err(fail)?;
    // Before the index: building it over rows that are not frozen would write every block once more, for hint bits.
    for name in [Table::Main, Table::Scan] {
        vacuum(client, &table(schema, name)).map_err(fail)?;
    }
    build_index(client, schema, options.tablespace.as_deref()).map_err(fail)?;
    let layout = look(client, load, schema, &step)?;
    let mut transaction = client.transaction().map_err(fail)?;
    // The commit of the mark makes durable what the slices left to the server's own pace.
    transaction.batch_execute("SET LOCAL synchronous_commit = on").map_err(fail)?;
    if options.loop_place.is_in_server() {
        procedure::install(&mut transaction, load, schema, version, &step)?;
    }
    catalog::mark_complete(&mut transaction, schema, layout).map_err(fail)?;
    transaction.commit().map_err(fail)?;
    Ok(layout)
}

fn build_index(
    client: &mut Client,
    schema: SchemaNo,
    tablespace: Option<&str>,
) -> Result<(), postgres::Error> {
    let clause = tablespace.map_or_else(String::new, |name| format!("TABLESPACE {}", quoted(name)));
    let main = table(schema, Table::Main);
    client.batch_execute(&format!("CREATE UNIQUE INDEX IF NOT EXISTS {INDEX} ON {main} (custid) {clause}"))
}

/// Rewrites the main table, in the order in which it is, if slices that were cut off have left empty blocks in it.
fn close_gaps(client: &mut Client, load: &Load, schema: SchemaNo) -> Result<(), postgres::Error> {
    let main = table(schema, Table::Main);
    let sql = format!(
        "SELECT pg_catalog.pg_relation_size('{main}') / pg_catalog.current_setting('block_size')::bigint"
    );
    let blocks: i64 = client.query_one(&sql, &[])?.try_get(0)?;
    if blocks.cast_unsigned().saturating_sub(load.scale) * GAP_SHARE > load.scale {
        client.batch_execute(&format!("VACUUM (FULL, FREEZE) {main}"))?;
    }
    Ok(())
}

/// Vacuums until the blocks are known to be visible to all, so that no run has to find that out and write it down. A
/// few may be empty, which streams that extend a table at the same time leave behind.
fn vacuum(client: &mut Client, table: &str) -> Result<(), postgres::Error> {
    let visible = format!(
        "SELECT relpages - relallvisible <= greatest({FEW_BLOCKS}, relpages / {GAP_SHARE})
         FROM pg_catalog.pg_class WHERE oid = '{table}'::pg_catalog.regclass"
    );
    for _ in 0..VACUUM_TRIES {
        client.batch_execute(&format!("VACUUM (FREEZE, ANALYZE) {table} (custid)"))?;
        if client.query_one(&visible, &[])?.try_get(0)? {
            break;
        }
        std::thread::sleep(VACUUM_PAUSE);
    }
    Ok(())
}

/// Counts rows and blocks.
fn look(client: &mut Client, load: &Load, schema: SchemaNo, step: &str) -> Result<Layout, EngineError> {
    let sql = include_str!("../sql/layout.sql")
        .replace("{ns}", &namespace(schema))
        .replace("{name}", &plain(schema));
    let row = client.query_one(&sql, &[]).map_err(|error| failed(step, &error))?;
    let value = |column: usize| catalog::get::<i64>(&row, column, step).map(i64::cast_unsigned);
    let layout = Layout { rows: value(0)?, row_blocks: value(3)?, all_blocks: value(4)? };
    all_there(load, [layout.rows, value(1)?, value(2)?], step)?;
    Ok(layout)
}

/// Removes a schema: our objects by name, so that what others put there is not removed with them.
///
/// # Errors
/// If it is not ours, in use, or holds objects that are not ours.
pub(crate) fn drop_schema(client: &mut Client, schema: SchemaNo) -> Result<(), EngineError> {
    let ns = namespace(schema);
    let step = format!("removing {ns}");
    catalog::require_marked(client, schema, &step)?;
    let mut transaction = client.transaction().map_err(|error| failed(step.as_str(), &error))?;
    let lock_timeout = format!("SET LOCAL lock_timeout = '{}s'", locks::DROP_PATIENCE.as_secs());
    let tables = format!("DROP TABLE IF EXISTS {ns}.cf1, {ns}.cf2, {ns}.slob_load, {ns}.slob_slice");
    transaction
        .batch_execute(&format!("{lock_timeout}; {tables}"))
        .and_then(|()| procedure::remove(&mut transaction, schema))
        .and_then(|()| transaction.batch_execute(&format!("DROP SCHEMA {ns} RESTRICT")))
        .and_then(|()| transaction.commit())
        .map_err(|error| match error.code().map(postgres::error::SqlState::code) {
            Some("2BP01") => failed(step, &error)
                .with_advice("it holds objects that slob did not make: move or drop them first"),
            _ => failed(step, &error),
        })
}
