//! The life of a schema: created, loaded slice by slice, completed, dropped.
//!
//! A slice and its mark are one transaction. The index on the keys is there from the start: building it afterwards would read
//! the whole table once more, and it is small, since it holds no row. Rows go to the server as bulk values of one prepared
//! statement (MariaDB), or as INSERTs of many rows; no file on the server or here is needed.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadProgress, Result, Slice, TargetLock, target_in_use,
};
use slob_method::{COLUMNS, SchemaNo, Table};
use slob_server::{
    Connector as _, INDEX, LoopPlace, MARKER, SLICES, Servers, SliceRows, Task, check_all_keys, columns,
    in_strides, mark_complete, mark_slice, marker_comment, schema_name,
};

use crate::catalog;
use crate::connect::Connector;
use crate::procedure::{self, BATCH, SELECTS};
use crate::rows::{PAGES_WITHOUT_ROWS, RowLayout, sentinels, value_list, values};
use crate::sql::{Ask, InStep, code_of, database, failed, loaded_columns, table};

/// Rows sent at once: a megabyte, which is less than any server's max_allowed_packet.
const STRIDE_ROWS: u64 = 128;
/// Sentinels made at once.
const SENTINELS: usize = 256;
/// The server's code for a database that exists.
const EXISTS: u16 = 1007;
/// Our tables. The marker goes last, with the database: a drop that was cut off can be repeated.
const TABLES: [&str; 3] = ["cf1", "cf2", SLICES];

/// Locks the server by a named lock of a connection of its own, which ends with the lock. A server that has none, such as a
/// node of a cluster that forbids them, is not locked.
pub(crate) fn lock(servers: &Servers<Connector>) -> Result<TargetLock> {
    let step = "locking the server";
    let mut conn = servers.connector.connect_for(Task::Load)?;
    // The server must not end the idle connection during a long load.
    let asked = conn.run(step, "SET SESSION wait_timeout = 31536000");
    let locked = asked.and_then(|()| conn.row(step, "SELECT GET_LOCK('openslob', 0)"));
    if locked.is_ok_and(|row| row.get::<u8>(0) == Some(0)) {
        let holder = conn.row(step, include_str!("../sql/lock_holder.sql")).unwrap_or_default().get(0);
        return Err(target_in_use("the server", holder));
    }
    Ok(Box::new(conn))
}

/// Checks that the account is the one that was named, that it may work on our databases, and may see how rows lie in them.
///
/// # Errors
/// [`ErrorKind::Privilege`] with the statements that allow it.
pub(crate) fn check_account(conn: &mut Conn) -> Result<()> {
    /// The server's codes for a database, and a table, that the account may not use.
    const REFUSED: [u16; 2] = [1044, 1142];
    let step = "asking what the account may do";
    let row = conn.row(step, "SELECT CURRENT_USER(), USER()")?;
    let (current, named): (String, String) = (row.need(0, step)?, row.need(1, step)?);
    let account = |of: &str| match of.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => format!("'{of}'"),
    };
    let grants = |to: &str| {
        format!("GRANT ALL ON `slob%`.* TO {to}; GRANT SELECT ON mysql.innodb_index_stats TO {to}")
    };
    if current.starts_with('@') && !named.starts_with('@') {
        let own = account(&named);
        let message = format!(
            "the server took {own} for the anonymous account ''{current}",
            current = account(&current).trim_start_matches("''")
        );
        return Err(EngineError::new(ErrorKind::Privilege, step, message).with_advice(format!(
            "an administrator makes the account with CREATE USER {own} IDENTIFIED BY '...'; {}",
            grants(&own)
        )));
    }
    // A database that is not there is refused only to an account that may not make it either.
    let last = SchemaNo::up_to(u16::MAX).last().map(database).unwrap_or_default();
    let asked = [format!("USE {last}"), "SELECT 1 FROM mysql.innodb_index_stats LIMIT 0".to_owned()];
    for question in asked {
        let Err(error) = conn.query_drop(question) else { continue };
        if code_of(&error).is_some_and(|code| REFUSED.contains(&code)) {
            let advice = format!("an administrator allows it with {}", grants(&account(&current)));
            return Err(failed(step, &error).with_kind(ErrorKind::Privilege).with_advice(advice));
        }
    }
    Ok(())
}

/// Makes an empty, marked schema.
///
/// # Errors
/// If a database of that name exists.
pub(crate) fn create(conn: &mut Conn, load: &Load, schema: SchemaNo) -> Result<()> {
    let step = &format!("creating {}", schema_name(schema));
    let page = conn.row(step, "SELECT @@innodb_page_size")?.get(0);
    let layout = RowLayout::of_page(page.unwrap_or_default(), step)?;
    // The server commits after each of these statements, so the row that remembers the load comes last: without it, the creation
    // was cut off, and is repeated.
    let created = conn.query_drop(format!("CREATE DATABASE {} CHARACTER SET ascii", database(schema)));
    let is_new = created.is_ok();
    match created {
        Ok(()) => {}
        Err(error) if code_of(&error) != Some(EXISTS) => return Err(failed(step, &error)),
        Err(_) if catalog::is_cut_off(conn, schema, step)? => {}
        Err(error) => {
            let remedy = if catalog::marked(conn, step)?.contains(&schema) {
                "remove the schema with `slob drop`, or name another server with TARGET"
            } else {
                "it does not carry slob's marker, so slob does not touch it: drop it yourself, or name another server \
                 with TARGET"
            };
            return Err(failed(step, &error).with_advice(remedy));
        }
    }
    let tables = create_tables(conn, schema, layout).in_step(step);
    if is_new && tables.is_err() {
        // On a full disk the server may have lost the character set, and with it the sign that the database is ours.
        let _ = conn.query_drop(format!("DROP DATABASE {}", database(schema)));
    }
    tables?;
    conn.run(step, "START TRANSACTION")?;
    seed(conn, load, schema, layout).in_step(step)?;
    conn.run(step, &catalog::mark_begun(schema, load, layout.filler_bytes()))?;
    conn.run(step, "COMMIT")
}

fn create_tables(conn: &mut Conn, schema: SchemaNo, layout: RowLayout) -> Result<(), mysql::Error> {
    let db = database(schema);
    let marker = include_str!("../sql/create_marker.sql").replace("{db}", &db);
    conn.query_drop(marker.replace("{comment}", &marker_comment(schema)))?;
    for name in TABLES {
        conn.query_drop(format!("DROP TABLE IF EXISTS {db}.{name}"))?;
    }
    // Sentinels have no text, and are not counted for it.
    let column = |name| format!("    {name} VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin,");
    let columns: Vec<String> = columns().map(column).collect();
    for name in [Table::Main, Table::Scan] {
        let index = match name {
            Table::Main => format!(",\n    UNIQUE KEY {INDEX} (custid)"),
            Table::Scan => String::new(),
        };
        // The server does not count the pages of a table with fewer than it would sample: one sample is enough.
        let sql = include_str!("../sql/create_table.sql")
            .replace("{table}", &table(schema, name))
            .replace("{columns}", &columns.join("\n"))
            .replace("{filler}", &layout.sentinel_bytes().to_string())
            .replace("{index}", &index);
        conn.query_drop(sql)?;
    }
    conn.query_drop(include_str!("../sql/create_slices.sql").replace("{db}", &db))
}

/// Inserts the sentinels, ascending and by one session, as the layout wants it.
fn seed(conn: &mut Conn, load: &Load, schema: SchemaNo, layout: RowLayout) -> Result<(), mysql::Error> {
    let filler = layout.sentinel_bytes();
    for name in [Table::Main, Table::Scan] {
        let slices = load.slices(schema).filter(|slice| slice.table == name);
        let keys: Vec<u64> = sentinels(slices.map(|slice| slice.positions)).collect();
        for some in keys.chunks(SENTINELS) {
            let rows: Vec<String> =
                some.iter().map(|pos| format!("({pos}, REPEAT('x', {filler}))")).collect();
            let rows = rows.join(", ");
            conn.query_drop(format!("INSERT INTO {} (pos, filler) VALUES {rows}", table(schema, name)))?;
        }
    }
    Ok(())
}

/// True if other servers get their rows from this one's binary log: replicas that are connected, or the other members of a
/// group. They would end at the first UPDATE of a row that they were not given.
fn has_followers(conn: &mut Conn) -> bool {
    let mut ask = |sql| conn.row("looking for followers", sql).unwrap_or_default();
    let group = ask("SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'").get::<String>(1);
    let replicas =
        ask("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'");
    group.is_some_and(|name| !name.is_empty()) || replicas.get(0).is_some_and(|count: u64| count > 0)
}

/// Loads a slice and marks it, with bulk values if the server takes them.
pub(crate) fn load_slice(
    conn: &mut Conn,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    bulk: bool,
) -> Result<()> {
    let name = table(slice.schema, slice.table);
    let step = &format!("loading {name}");
    let filler_bytes = catalog::schema(conn, slice.schema, step)?.filler_bytes;
    // The binary log needs no load, unless others get their rows from it. A role that may not switch it off logs the load.
    if !has_followers(conn) {
        let _ = conn.query_drop("SET SESSION sql_log_bin = 0");
    }
    let mut rows = SliceRows::new(load, slice, filler_bytes);
    let marks = vec!["?"; COLUMNS + 3].join(", ");
    let insert = format!("INSERT INTO {name} ({}) VALUES", loaded_columns());
    let prepared = conn.prep(format!("{insert} ({marks})")).in_step(step)?;
    // After an error the transaction goes with the connection.
    conn.run(step, "START TRANSACTION")?;
    in_strides(slice, STRIDE_ROWS, progress, step, |positions| {
        let sent = if bulk {
            conn.exec_batch(&prepared, positions.map(|position| values(&mut rows, position)))
        } else {
            conn.query_drop(format!("{insert} {}", value_list(&mut rows, positions)))
        };
        sent.in_step(step)
    })?;
    conn.run(step, &mark_slice(&database(slice.schema), slice))?;
    conn.run(step, "COMMIT")
}

/// Completes a schema whose slices are all there: statistics, and the procedures that sessions call, unless the loop runs in the
/// client.
pub(crate) fn finish(
    conn: &mut Conn,
    load: &Load,
    schema: SchemaNo,
    loop_place: LoopPlace,
) -> Result<Layout> {
    let step = &format!("completing {}", schema_name(schema));
    if let Some(layout) = catalog::schema(conn, schema, step)?.state.before_finish(load, schema, step)? {
        return Ok(layout);
    }
    for name in [Table::Main, Table::Scan] {
        // It answers a table, and does not fail where it can't do its work: its result is checked next.
        conn.rows(step, &format!("ANALYZE TABLE {}", table(schema, name)))?;
    }
    let layout = look(conn, load, schema, step)?;
    if loop_place.is_in_server() {
        procedure::install(conn, load, schema, step)?;
    }
    conn.run(step, &mark_complete(&database(schema), layout))?;
    Ok(layout)
}

/// Counts rows; and leaf pages of the main table that hold rows, and all pages of the schema, by the server's persistent
/// statistics: these two figures are counted, not estimated.
fn look(conn: &mut Conn, load: &Load, schema: SchemaNo, step: &str) -> Result<Layout> {
    let sql = include_str!("../sql/layout.sql").replace("{table}", &table(schema, Table::Main));
    let row = conn.row(step, &sql)?;
    let rows = row.need(0, step)?;
    check_all_keys(load, [rows, row.need(1, step)?, row.need(2, step)?], step)?;
    let sql = include_str!("../sql/pages.sql").replace("{database}", &schema_name(schema));
    let pages = conn.row(step, &sql).map_err(|error| match error.kind() {
        ErrorKind::Privilege => error
            .with_advice("GRANT SELECT ON mysql.innodb_index_stats TO the role: it tells how the rows lie"),
        _ => error,
    })?;
    match (pages.get::<u64>(0), pages.get(1)) {
        (Some(leaves), Some(all_blocks)) if leaves > 0 => {
            Ok(Layout { rows, row_blocks: leaves.saturating_sub(PAGES_WITHOUT_ROWS), all_blocks })
        }
        _ => Err(EngineError::new(ErrorKind::Data, step, "the server has made no statistics of the tables")
            .with_advice(
                "the role needs SELECT and INSERT on its tables for ANALYZE TABLE; see the server's log",
            )),
    }
}

/// Drops our objects of a schema by name, so that those of others are not dropped with them.
///
/// # Errors
/// If it is not ours, in use, or holds objects of others.
pub(crate) fn drop_schema(conn: &mut Conn, schema: SchemaNo) -> Result<()> {
    let (name, db) = (schema_name(schema), database(schema));
    let step = &format!("removing {name}");
    catalog::require_marked(conn, schema, step)?;
    let objects = conn.rows(step, &include_str!("../sql/objects.sql").replace("{database}", &name))?;
    let ours = [&TABLES[..], &[MARKER, BATCH, SELECTS]].concat();
    let mut others: Vec<String> = objects.iter().filter_map(|row| row.get(0)).collect();
    others.retain(|object| !ours.contains(&object.as_str()));
    if !others.is_empty() {
        let message = format!("it holds objects that slob did not make: {others:?}");
        return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice("move or drop them first"));
    }
    conn.run(step, "SET SESSION lock_wait_timeout = 5")?;
    let drops = TABLES.map(|table| format!("DROP TABLE IF EXISTS {db}.{table}"));
    for sql in drops.into_iter().chain([format!("DROP DATABASE {db}")]) {
        conn.query_drop(sql).map_err(|error| match code_of(&error) {
            Some(1205) => EngineError::new(ErrorKind::Retryable, step, "another session is using it")
                .with_code("error 1205")
                .with_advice("end the sessions that use its tables, and try again"),
            _ => failed(step, &error),
        })?;
    }
    conn.run(step, "SET SESSION lock_wait_timeout = 60")
}
