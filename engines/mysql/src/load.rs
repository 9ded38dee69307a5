//! Creating a schema and loading its slices.
//!
//! A slice and its mark are one transaction. The index on the keys is there from the start: to build it afterwards would
//! read the whole table once more, and it is small, since it holds no row. Rows go to the server as bulk values of one
//! prepared statement (MariaDB), or as INSERTs of many rows; no file on the server or here is needed.

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, ErrorKind, Load, LoadProgress, Slice};
use slob_method::{SchemaNo, Table};
use slob_server::names::{COMMENT, INDEX, MARKER, SLICES, columns, plain};

use crate::catalog;
use crate::error::{code_of, failed};
use crate::layout::{RowLayout, sentinels};
use crate::names::{database, loaded_columns, table};
use crate::rows::Rows;

/// What prepares the connections of loaders. Texts arrive in the character set of their columns, so that the server need not
/// convert them.
pub(crate) const SETTINGS: &[&str] = &[
    "SET SESSION character_set_client = ascii, collation_connection = ascii_bin",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', lock_wait_timeout = 60, net_read_timeout = 600",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];
/// Rows sent at once: a megabyte, which is less than any server's max_allowed_packet, and more than enough.
const STRIDE_ROWS: u64 = 128;
/// Sentinels made at once.
const SENTINELS: usize = 256;

/// The server's code for a database that is there already.
const EXISTS: u16 = 1007;

/// Makes an empty, marked schema.
///
/// # Errors
/// If a database of that name exists, or can't be made.
pub(crate) fn create(conn: &mut Conn, load: &Load, schema: SchemaNo) -> Result<(), EngineError> {
    let step = format!("creating {}", plain(schema));
    let fail = |error: mysql::Error| failed(step.as_str(), &error);
    let page: Option<u32> = conn.query_first("SELECT @@innodb_page_size").map_err(fail)?;
    let layout = RowLayout::of_page(page.unwrap_or_default(), &step)?;
    // The server commits after each of these, so the row that says what is loaded comes last: without it, a database with
    // our mark is one whose creation was cut off, and is made again. Nor has it the mark if that was cut off at once.
    let made = conn.query_drop(format!("CREATE DATABASE {} CHARACTER SET ascii", database(schema)));
    match made {
        Ok(()) => {}
        Err(error) if code_of(&error) != Some(EXISTS) => return Err(fail(error)),
        Err(_) if is_cut_off(conn, schema, &step)? => {}
        Err(error) => {
            let remedy = if catalog::marked(conn, &step)?.contains(&schema) {
                "remove the schema with `slob drop`, or name another server with TARGET"
            } else {
                "it does not carry slob's marker, so slob does not touch it: drop it yourself, or name another server \
                 with TARGET"
            };
            return Err(fail(error).with_advice(remedy));
        }
    }
    create_tables(conn, schema, layout)
        .and_then(|()| conn.query_drop("START TRANSACTION"))
        .and_then(|()| seed(conn, load, schema, layout))
        .and_then(|()| catalog::mark_begun(conn, schema, load, layout.filler_bytes()))
        .and_then(|()| conn.query_drop("COMMIT"))
        .map_err(fail)
}

fn is_cut_off(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<bool, EngineError> {
    if catalog::marked(conn, step)?.contains(&schema) {
        catalog::is_blank(conn, schema, step)
    } else {
        catalog::is_bare(conn, schema, step)
    }
}

fn create_tables(conn: &mut Conn, schema: SchemaNo, layout: RowLayout) -> Result<(), mysql::Error> {
    let db = database(schema);
    let comment = format!("{COMMENT} schema {schema}: made by slob setup, removed by slob drop");
    let marker = include_str!("../sql/create_marker.sql").replace("{db}", &db).replace("{comment}", &comment);
    conn.query_drop(marker)?;
    for name in ["cf1", "cf2", SLICES] {
        conn.query_drop(format!("DROP TABLE IF EXISTS {db}.{name}"))?;
    }
    // Sentinels have no text, and are not counted for it.
    let columns: Vec<String> = columns()
        .map(|name| format!("    {name} VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin,"))
        .collect();
    for name in [Table::Main, Table::Scan] {
        let index = match name {
            Table::Main => format!(",\n    UNIQUE KEY {INDEX} (custid)"),
            Table::Scan => String::new(),
        };
        // Of a table with fewer pages than it would sample, the server does not tell the number: one is enough.
        let sql = include_str!("../sql/create_table.sql")
            .replace("{table}", &table(schema, name))
            .replace("{columns}", &columns.join("\n"))
            .replace("{filler}", &layout.sentinel_bytes().to_string())
            .replace("{index}", &index);
        conn.query_drop(sql)?;
    }
    conn.query_drop(include_str!("../sql/create_slices.sql").replace("{db}", &db))
}

/// Puts the sentinels in, ascending and by one session, as the layout wants it.
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

/// Whether other servers get their rows from this one's binary log: replicas that are connected, or the other members of a
/// group. They would end at the first UPDATE of a row that they were not given.
fn has_followers(conn: &mut Conn) -> bool {
    let group: Option<(String, String)> =
        conn.query_first("SHOW GLOBAL VARIABLES LIKE 'group_replication_group_name'").unwrap_or_default();
    let replica: Option<u64> = conn
        .query_first("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'")
        .unwrap_or_default();
    group.is_some_and(|(_, name)| !name.is_empty()) || replica.is_some_and(|count| count > 0)
}

/// Loads a slice and marks it, with bulk values if the server takes them.
///
/// # Errors
/// [`ErrorKind::Cancelled`] if the load was stopped; the slice is then not there.
pub(crate) fn load_slice(
    conn: &mut Conn,
    load: &Load,
    slice: &Slice,
    progress: &LoadProgress,
    bulk: bool,
) -> Result<(), EngineError> {
    let name = table(slice.schema, slice.table);
    let step = format!("loading {name}");
    let filler_bytes = catalog::schema(conn, slice.schema, &step)?.filler_bytes;
    let fail = |error: mysql::Error| failed(step.as_str(), &error);
    // Nobody needs the load in the binary log, unless others get their rows from it. A role that may not say so logs it.
    if !has_followers(conn) {
        let _ = conn.query_drop("SET SESSION sql_log_bin = 0");
    }
    let mut rows = Rows::new(load, slice, filler_bytes);
    let marks = vec!["?"; slob_method::COLUMNS + 3].join(", ");
    let insert = format!("INSERT INTO {name} ({}) VALUES", loaded_columns());
    let prepared = conn.prep(format!("{insert} ({marks})")).map_err(fail)?;
    conn.query_drop("START TRANSACTION").map_err(fail)?;
    let mut position = slice.positions.start;
    while position < slice.positions.end {
        if progress.stopped() {
            // The transaction goes with the connection.
            return Err(EngineError::new(ErrorKind::Cancelled, step, "the load was stopped"));
        }
        let end = slice.positions.end.min(position + STRIDE_ROWS);
        let sent = if bulk {
            conn.exec_batch(&prepared, (position..end).map(|position| rows.values(position)))
        } else {
            conn.query_drop(format!("{insert} {}", rows.list(position..end)))
        };
        sent.map_err(fail)?;
        progress.add(end - position);
        position = end;
    }
    catalog::mark_slice(conn, slice).and_then(|()| conn.query_drop("COMMIT")).map_err(fail)
}

/// The tables that are ours in a database.
pub(crate) const TABLES: [&str; 4] = ["cf1", "cf2", SLICES, MARKER];
