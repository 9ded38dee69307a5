//! The life of a schema: created, loaded slice by slice, completed, dropped.
//!
//! A slice and its mark are one transaction. The index exists from the start, as a later one would read the table again. Rows go
//! as bulk values of a prepared statement (MariaDB), or as INSERTs of many rows.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadProgress, Purpose, Result, Slice, TargetLock, target_in_use,
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

/// A megabyte, less than any server's max_allowed_packet.
const STRIDE_ROWS: u64 = 128;
const SENTINELS: usize = 256;
/// The database exists.
const EXISTS: u16 = 1007;
/// The marker goes last, so that a drop can resume.
const TABLES: [&str; 3] = ["cf1", "cf2", SLICES];

/// A named lock ends with its connection. Servers without such locks, such as nodes of a cluster, are not locked.
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

/// The statements that let an account load and run.
pub(crate) fn grants(to: &str) -> String {
    format!("GRANT ALL ON `slob%`.* TO {to}; GRANT SELECT ON mysql.innodb_index_stats TO {to}")
}

/// A completed load measures with it how the rows lie.
const STATISTICS: &str = "SELECT 1 FROM mysql.innodb_index_stats LIMIT 0";

/// Checks rights on our databases; for a load, also on the statistics of layout. A lack is an error of
/// [`ErrorKind::Privilege`] with the statements that help.
pub(crate) fn check_account(conn: &mut Conn, purpose: Purpose) -> Result<()> {
    /// The first is for databases, the second for tables.
    const REFUSED: [u16; 2] = [1044, 1142];
    let step = "asking what the account may do";
    let row = conn.row(step, "SELECT CURRENT_USER(), USER()")?;
    let (current, named): (String, String) = (row.need(0, step)?, row.need(1, step)?);
    let account = |of: &str| match of.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => format!("'{of}'"),
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
    // A missing database is refused only to an account that may not create it.
    // Rights come before tables: none of these exists, so nothing is made or changed.
    let last = SchemaNo::up_to(u16::MAX).last().map(database).unwrap_or_default();
    let asked = [
        format!("USE {last}"),
        format!("CREATE TABLE {last}.slob_asks LIKE {last}.slob_none"),
        format!("INSERT INTO {last}.slob_none VALUES (1)"),
    ];
    let of_load = (purpose == Purpose::Load).then(|| STATISTICS.to_owned());
    for question in asked.into_iter().chain(of_load) {
        let Err(error) = conn.query_drop(question) else { continue };
        if code_of(&error).is_some_and(|code| REFUSED.contains(&code)) {
            let advice = format!("an administrator allows it with {}", grants(&account(&current)));
            return Err(failed(step, &error).with_kind(ErrorKind::Privilege).with_advice(advice));
        }
    }
    Ok(())
}

/// Fails if a database of that name exists.
pub(crate) fn create(conn: &mut Conn, load: &Load, schema: SchemaNo) -> Result<()> {
    let step = &format!("creating {}", schema_name(schema));
    // A load that can't be completed does not begin.
    conn.query_drop(STATISTICS).or_else(|_| check_account(conn, Purpose::Load))?;
    let page = conn.row(step, "SELECT @@innodb_page_size")?.get(0);
    let layout = RowLayout::of_page(page.unwrap_or_default(), step)?;
    // The server commits each of these statements. The row of the load comes last, since a creation without it is repeated.
    let created = conn.query_drop(format!("CREATE DATABASE {} CHARACTER SET ascii", database(schema)));
    let is_new = created.is_ok();
    match created {
        Ok(()) => {}
        Err(error) if code_of(&error) != Some(EXISTS) => {
            let refused = failed(step, &error);
            if refused.kind() == ErrorKind::Privilege {
                // It names the account, which may be an anonymous one.
                check_account(conn, Purpose::Load)?;
            }
            return Err(refused);
        }
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
        // On a full disk the server may lose the character set, which shows that the database is ours.
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
    // Sentinels have no text.
    let column = |name| format!("    {name} VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin,");
    let columns: Vec<String> = columns().map(column).collect();
    for name in [Table::Main, Table::Scan] {
        let index = match name {
            Table::Main => format!(",\n    UNIQUE KEY {INDEX} (custid)"),
            Table::Scan => String::new(),
        };
        // The server does not count pages of a table with fewer than it would sample.
        let sql = include_str!("../sql/create_table.sql")
            .replace("{table}", &table(schema, name))
            .replace("{columns}", &columns.join("\n"))
            .replace("{filler}", &layout.sentinel_bytes().to_string())
            .replace("{index}", &index);
        conn.query_drop(sql)?;
    }
    conn.query_drop(include_str!("../sql/create_slices.sql").replace("{db}", &db))
}

/// The layout needs ascending order and one session.
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

/// Replicas and group members would end at the first UPDATE of a row that they lack.
fn has_followers(conn: &mut Conn) -> bool {
    let mut ask = |sql| conn.row("looking for followers", sql).unwrap_or_default();
    let group = ask("SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'").get::<String>(1);
    let replicas =
        ask("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'");
    group.is_some_and(|name| !name.is_empty()) || replicas.get(0).is_some_and(|count: u64| count > 0)
}

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
    // Only followers need the load in the binary log.
    if !has_followers(conn) {
        let _ = conn.query_drop("SET SESSION sql_log_bin = 0");
    }
    let mut rows = SliceRows::new(load, slice, filler_bytes);
    let marks = vec!["?"; COLUMNS + 3].join(", ");
    let insert = format!("INSERT INTO {name} ({}) VALUES", loaded_columns());
    let prepared = conn.prep(format!("{insert} ({marks})")).in_step(step)?;
    // An error drops the connection, and its transaction.
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

/// The schema must have all slices.
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
        // It reports failure as a row; the result is checked next.
        conn.rows(step, &format!("ANALYZE TABLE {}", table(schema, name)))?;
    }
    let layout = look(conn, load, schema, step)?;
    if loop_place.is_in_server() {
        procedure::install(conn, load, schema, step)?;
    }
    conn.run(step, &mark_complete(&database(schema), layout))?;
    Ok(layout)
}

/// The persistent statistics count leaf pages and all pages exactly.
fn look(conn: &mut Conn, load: &Load, schema: SchemaNo, step: &str) -> Result<Layout> {
    let sql = include_str!("../sql/layout.sql").replace("{table}", &table(schema, Table::Main));
    let row = conn.row(step, &sql)?;
    let rows = row.need(0, step)?;
    check_all_keys(load, [rows, row.need(1, step)?, row.need(2, step)?], step)?;
    let sql = include_str!("../sql/pages.sql").replace("{database}", &schema_name(schema));
    let asked = conn.row(step, &sql);
    let pages = asked.map_err(|error| check_account(conn, Purpose::Load).err().unwrap_or(error))?;
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

/// Drops by name, so that objects of others stay. Fails if the schema is not ours, in use, or holds such objects.
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
