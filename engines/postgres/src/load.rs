//! The life of a schema: created, loaded slice by slice, completed, dropped.
//!
//! A slice and its mark are one transaction. Tables are logged from the start: a crash would empty unlogged ones, and their later
//! change rewrites them. Each row is the first of its block, which is logged as its row alone, a third of its size. A table of
//! one slice is emptied in the transaction that fills it, so rows arrive frozen and wal_level=minimal does not log them.
//!
//! Statements that are sent together are one transaction.

use std::io::Write;
use std::time::Duration;

use postgres::{Client, CopyInWriter};
use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadProgress, Result, Slice, TargetLock, target_in_use,
};
use slob_method::{SchemaNo, Table};
use slob_server::{
    Connector as _, INDEX, Servers, Task, check_all_keys, column_list, columns, in_strides, mark_complete,
    mark_slice, marker_comment, schema_name,
};

use crate::connect::Connector;
use crate::database::Database;
use crate::rows::{CopyRows, HEADER, TRAILER};
use crate::server::DROP_PATIENCE;
use crate::sql::{Ask, InStep, failed, has_code, namespace, quoted, table};
use crate::{catalog, procedure};

/// About 160 KB: system calls do not count, and caches hold it.
const STRIDE_ROWS: u64 = 64;
/// Leaves room for the two versions of an update until older ones are pruned. No columns are large enough to compress.
const STORAGE: &str = "fillfactor = 10, autovacuum_enabled = false, toast_tuple_target = 8160";
/// Transactions older than the last slice, such as slices of other schemas, prevent freezing.
const VACUUM_TRIES: u32 = 40;
const VACUUM_PAUSE: Duration = Duration::from_millis(500);
/// One empty block for so many rows is tolerated.
const GAP_SHARE: u64 = 200;
const FEW_BLOCKS: u64 = 16;

/// A pooler would keep a session's lock, so a transaction holds it. Between statements it has no snapshot and holds back no
/// VACUUM.
pub(crate) fn lock(servers: &Servers<Connector>) -> Result<TargetLock> {
    let step = "locking the database";
    let with_lock = |sql: &str| sql.replace("{lock}", &i64::from_be_bytes(*b"OpenSLOB").to_string());
    let mut client = servers.connector.connect_for(Task::Load)?;
    client.run(step, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")?;
    if client.row(step, &with_lock(include_str!("../sql/lock.sql")))?.need::<u8>(0, step)? == 1 {
        return Ok(Box::new(client));
    }
    let holder = client.row(step, &with_lock(include_str!("../sql/lock_holder.sql")))?.get(0);
    Err(target_in_use("the database", holder))
}

/// A lack is an error of [`ErrorKind::Privilege`] with the statement that helps.
pub(crate) fn check_role(client: &mut Client, tablespace: Option<&str>) -> Result<()> {
    let step = "asking what the role may do";
    let row = client.query_one(include_str!("../sql/role.sql"), &[&tablespace]).in_step(step)?;
    let text = |column| row.try_get::<_, String>(column).in_step(step);
    let may = |column| row.try_get::<_, Option<bool>>(column).in_step(step);
    let (role, database) = (text(0)?, text(1)?);
    let refused = |message: String, statement: String| {
        let advice = format!("an administrator allows it with {statement}");
        Err(EngineError::new(ErrorKind::Privilege, step, message).with_advice(advice))
    };
    if may(2)? == Some(false) {
        let grant = format!("GRANT CREATE ON DATABASE {} TO {}", quoted(&database), quoted(&role));
        return refused(format!("'{role}' may not make schemas in the database '{database}'"), grant);
    }
    if let (Some(name), Some(false)) = (tablespace, may(3)?) {
        let grant = format!("GRANT CREATE ON TABLESPACE {} TO {}", quoted(name), quoted(&role));
        return refused(format!("'{role}' may not make tables in the tablespace '{name}'"), grant);
    }
    Ok(())
}

pub(crate) fn create(
    client: &mut Client,
    load: &Load,
    schema: SchemaNo,
    tablespace: Option<&str>,
) -> Result<()> {
    let mut sql = include_str!("../sql/create.sql")
        .replace("{ns}", &namespace(schema))
        .replace("{storage}", STORAGE)
        .replace("{tablespace}", &in_tablespace(tablespace))
        .replace("{comment}", &marker_comment(schema));
    // Columns that are plain before the statement ends get no TOAST table.
    let column = |name: &String| format!("ADD {name} text NOT NULL, ALTER {name} SET STORAGE PLAIN");
    let columns: Vec<String> = stored_columns().iter().map(column).collect();
    for name in [Table::Main, Table::Scan] {
        sql += &format!("ALTER TABLE {} {};\n", table(schema, name), columns.join(", "));
    }
    sql += &catalog::mark_begun(schema, load);
    client.batch_execute(&sql).map_err(|error| {
        let failure = failed(&format!("creating {}", namespace(schema)), &error);
        let advice = "remove the schema with `slob drop`, or name another database with TARGET";
        failure.advised(has_code(&error, "42P06").then_some(advice))
    })
}

fn in_tablespace(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("TABLESPACE {}", quoted(name)))
}

/// The log of an UPDATE holds a row from its first change to its last. With c20 behind c2, a LITE update logs two columns.
fn stored_columns() -> Vec<String> {
    let mut columns: Vec<String> = columns().collect();
    columns[1..].rotate_right(1);
    columns
}

pub(crate) fn load_slice(
    client: &mut Client,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
) -> Result<()> {
    let name = table(slice.schema, slice.table);
    let step = format!("loading {name}");
    catalog::schema(client, slice.schema, &step)?;
    // An error rolls the transaction back.
    let mut transaction = client.transaction().in_step(&step)?;
    let mut freeze = "";
    if slice.positions == (1..load.rows(slice.table) + 1) {
        transaction.run(&step, &format!("TRUNCATE {name}"))?;
        freeze = ", FREEZE";
    }
    let sql = format!("COPY {name} (custid, {}) FROM STDIN (FORMAT binary{freeze})", column_list());
    let mut writer = transaction.copy_in(&sql).in_step(&step)?;
    let mut rows = CopyRows::new(load, slice);
    let write = |writer: &mut CopyInWriter<'_>, bytes: &[u8]| {
        writer.write_all(bytes).map_err(|error| copy_failed(&step, error))
    };
    write(&mut writer, HEADER)?;
    in_strides(slice, STRIDE_ROWS, progress, &step, |positions| write(&mut writer, rows.rows(positions)))?;
    write(&mut writer, &TRAILER)?;
    let (rows, expected) = (writer.finish().in_step(&step)?, slice.positions.end - slice.positions.start);
    if rows != expected {
        let message = format!("the server took {rows} of {expected} rows");
        return Err(EngineError::new(ErrorKind::Data, step, message));
    }
    transaction.run(&step, &mark_slice(&namespace(slice.schema), slice))?;
    transaction.commit().in_step(&step)
}

/// COPY wraps the server's errors in I/O errors.
fn copy_failed(step: &str, error: std::io::Error) -> EngineError {
    match error.downcast::<postgres::Error>() {
        Ok(error) => failed(step, &error),
        Err(error) => EngineError::new(ErrorKind::Connection, step, error.to_string()),
    }
}

/// The schema must have all slices.
pub(crate) fn finish(
    client: &mut Client,
    load: &Load,
    schema: SchemaNo,
    database: &Database,
) -> Result<Layout> {
    let step = format!("completing {}", namespace(schema));
    if let Some(layout) = catalog::schema(client, schema, &step)?.state.before_finish(load, schema, &step)? {
        return Ok(layout);
    }
    let main = table(schema, Table::Main);
    close_gaps(client, load, &main, &step)?;
    // The index over unfrozen rows would write every block once more, for hint bits.
    vacuum(client, &main, &step)?;
    vacuum(client, &table(schema, Table::Scan), &step)?;
    let clause = in_tablespace(database.tablespace.as_deref());
    client.run(&step, &format!("CREATE UNIQUE INDEX IF NOT EXISTS {INDEX} ON {main} (custid) {clause}"))?;
    let layout = look(client, load, schema, &step)?;
    if database.loop_place.is_in_server() {
        procedure::install(client, load, schema, database.version, &step)?;
    }
    // This commit makes all slices durable.
    let mark = mark_complete(&namespace(schema), layout);
    client.run(&step, &format!("SET LOCAL synchronous_commit = on; {mark}"))?;
    Ok(layout)
}

/// Cut-off slices leave empty blocks.
fn close_gaps(client: &mut Client, load: &Load, main: &str, step: &str) -> Result<()> {
    let sql = format!(
        "SELECT pg_catalog.pg_relation_size('{main}') / pg_catalog.current_setting('block_size')::bigint"
    );
    let blocks: u64 = client.row(step, &sql)?.need(0, step)?;
    if blocks.saturating_sub(load.scale) * GAP_SHARE > load.scale {
        client.run(step, &format!("VACUUM (FULL, FREEZE) {main}"))?;
    }
    Ok(())
}

/// Otherwise a run would set visibility and write it down. Streams that extend a table together leave a few empty blocks.
fn vacuum(client: &mut Client, table: &str, step: &str) -> Result<()> {
    let is_visible = format!(
        "SELECT (relpages - relallvisible <= greatest({FEW_BLOCKS}, relpages / {GAP_SHARE}))::text
         FROM pg_catalog.pg_class WHERE oid = '{table}'::pg_catalog.regclass"
    );
    for _ in 0..VACUUM_TRIES {
        client.run(step, &format!("VACUUM (FREEZE, ANALYZE) {table} (custid)"))?;
        if client.row(step, &is_visible)?.need(0, step)? {
            break;
        }
        std::thread::sleep(VACUUM_PAUSE);
    }
    Ok(())
}

fn look(client: &mut Client, load: &Load, schema: SchemaNo, step: &str) -> Result<Layout> {
    let sql = include_str!("../sql/layout.sql")
        .replace("{ns}", &namespace(schema))
        .replace("{name}", &schema_name(schema));
    let row = client.row(step, &sql)?;
    let layout =
        Layout { rows: row.need(0, step)?, row_blocks: row.need(3, step)?, all_blocks: row.need(4, step)? };
    check_all_keys(load, [layout.rows, row.need(1, step)?, row.need(2, step)?], step)?;
    Ok(layout)
}

/// Drops by name, so that objects of others stay. Fails if the schema is not ours, in use, or holds such objects.
pub(crate) fn drop_schema(client: &mut Client, schema: SchemaNo) -> Result<()> {
    let ns = namespace(schema);
    let step = format!("removing {ns}");
    catalog::require_marked(client, schema, &step)?;
    let procedures = procedure::drops(&procedure::found(client, schema, &step)?);
    let sql = format!(
        "SET LOCAL lock_timeout = '{}s';
         DROP TABLE IF EXISTS {ns}.cf1, {ns}.cf2, {ns}.slob_load, {ns}.slob_slice;
         {procedures}
         DROP SCHEMA {ns} RESTRICT",
        DROP_PATIENCE.as_secs()
    );
    client.batch_execute(&sql).map_err(|error| {
        let failure = failed(&step, &error);
        let advice = "it holds objects that slob did not make: move or drop them first";
        failure.advised(has_code(&error, "2BP01").then_some(advice))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lite_columns_are_neighbours() {
        let stored = stored_columns();
        assert_eq!(stored[..4], ["c2", "c20", "c3", "c4"]);
        assert_eq!((stored.len(), stored[18].as_str()), (19, "c19"));
    }
}
