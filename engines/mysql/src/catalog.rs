//! What is on the server: our schemas, told by their marker, and what they remember of their load.

use std::collections::BTreeSet;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::error::failed;
use crate::names::{COMMENT, MARKER, SLICES, database, plain, schema_of};
use crate::procedure::{BATCH, SELECTS};

/// Databases with a table of our name and our comment: both together are the marker.
const MARKED: &str = "SELECT TABLE_SCHEMA FROM information_schema.TABLES
    WHERE TABLE_NAME = ? AND TABLE_SCHEMA LIKE 'slob%' AND TABLE_COMMENT LIKE CONCAT(?, '%')";

/// The numbers of all databases with our marker, in order.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn marked(conn: &mut Conn, step: &str) -> Result<Vec<SchemaNo>, EngineError> {
    let names: Vec<String> = conn.exec(MARKED, (MARKER, COMMENT)).map_err(|error| failed(step, &error))?;
    let mut numbers: Vec<SchemaNo> = names.iter().filter_map(|name| schema_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A database in the character set that ours have and no others by chance, which holds no table, and no procedure but ours.
const BARE: &str = "SELECT COUNT(*) FROM information_schema.SCHEMATA
    WHERE SCHEMA_NAME = ? AND DEFAULT_CHARACTER_SET_NAME = 'ascii'
      AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME)
      AND NOT EXISTS (SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = SCHEMA_NAME AND ROUTINE_NAME NOT IN (?, ?))";

/// Whether the database of a schema is as one of ours was left by a server or a program that was killed right after it was
/// created, or before it was gone.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn is_bare(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<bool, EngineError> {
    let found: Option<u64> =
        conn.exec_first(BARE, (plain(schema), BATCH, SELECTS)).map_err(|error| failed(step, &error))?;
    Ok(found == Some(1))
}

/// All schemas of ours, in order. One whose creation was cut off is none yet.
///
/// # Errors
/// If the server can't be asked, or the role may not read a schema of ours.
pub(crate) fn schemas(conn: &mut Conn) -> Result<Vec<SchemaState>, EngineError> {
    let step = "listing schemas";
    let mut states = Vec::new();
    for number in marked(conn, step)? {
        states.extend(state(conn, number, step)?);
    }
    Ok(states)
}

/// One schema of ours.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn schema(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<SchemaState, EngineError> {
    let state = if marked(conn, step)?.contains(&schema) { state(conn, schema, step)? } else { None };
    state.ok_or_else(|| {
        let message = format!("there is no schema {} of ours on this server", plain(schema));
        EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("load it with `slob setup`, or name another server with TARGET")
    })
}

fn damaged(schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("the load parameters of {} are missing or damaged", plain(schema));
    EngineError::new(ErrorKind::Data, step, message).with_advice("drop the schema and load it again")
}

/// What a marked schema remembers; `None` if it is not that far yet.
fn state(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<Option<SchemaState>, EngineError> {
    let sql = format!(
        "SELECT seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks FROM {}.{MARKER}",
        database(schema)
    );
    let row: Option<Row> = conn.query_first(sql).map_err(|error| failed(step, &error))?;
    let Some(row) = row else { return Ok(None) };
    let value = |column| get::<u64>(&row, column, step);
    let load = Load {
        seed: value(0)?,
        scale: value(1)?,
        scan_blocks: value(2)?,
        obfuscated: value(3)? != 0,
        slice_rows: value(4)?,
    };
    if load.scale == 0 || load.scale > slob_method::MAX_SCALE {
        return Err(damaged(schema, step));
    }
    let filler_bytes = usize::try_from(value(5)?).map_err(|_| damaged(schema, step))?;
    let state = if get::<Option<u64>>(&row, 6, step)?.is_some() {
        LoadState::Complete(Layout { rows: value(6)?, row_blocks: value(7)?, all_blocks: value(8)? })
    } else {
        LoadState::Begun(slices_loaded(conn, schema, &load, step)?)
    };
    Ok(Some(SchemaState { schema, load, filler_bytes, state }))
}

/// The slices that are in place, in the load's order.
fn slices_loaded(
    conn: &mut Conn,
    schema: SchemaNo,
    load: &Load,
    step: &str,
) -> Result<Vec<Slice>, EngineError> {
    let sql = format!("SELECT is_scan, first, past FROM {}.{SLICES}", database(schema));
    let marks: Vec<(bool, u64, u64)> = conn.query(sql).map_err(|error| failed(step, &error))?;
    let marks: BTreeSet<_> = marks.into_iter().collect();
    Ok(load.slices(schema).filter(|slice| marks.contains(&mark(slice))).collect())
}

fn mark(slice: &Slice) -> (bool, u64, u64) {
    (slice.table == Table::Scan, slice.positions.start, slice.positions.end)
}

/// Remembers a new load.
///
/// # Errors
/// If the row can't be written.
pub(crate) fn mark_begun(
    conn: &mut Conn,
    schema: SchemaNo,
    load: &Load,
    filler_bytes: usize,
) -> Result<(), mysql::Error> {
    let sql = format!(
        "INSERT INTO {}.{MARKER} (seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes) VALUES (?, ?, ?, ?, ?, ?)",
        database(schema)
    );
    let Load { seed, scale, scan_blocks, obfuscated, slice_rows } = *load;
    conn.exec_drop(sql, (seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes))
}

/// Remembers that a slice is in place.
///
/// # Errors
/// If the row can't be written: another stream has loaded the same slice.
pub(crate) fn mark_slice(conn: &mut Conn, slice: &Slice) -> Result<(), mysql::Error> {
    let sql =
        format!("INSERT INTO {}.{SLICES} (is_scan, first, past) VALUES (?, ?, ?)", database(slice.schema));
    conn.exec_drop(sql, mark(slice))
}

/// Remembers that a schema is complete.
///
/// # Errors
/// If the row can't be written.
pub(crate) fn mark_complete(conn: &mut Conn, schema: SchemaNo, layout: Layout) -> Result<(), mysql::Error> {
    let sql =
        format!("UPDATE {}.{MARKER} SET row_count = ?, row_blocks = ?, all_blocks = ?", database(schema));
    conn.exec_drop(sql, (layout.rows, layout.row_blocks, layout.all_blocks))
}

/// A column of a row, with the error of a wrong type told as ours.
pub(crate) fn get<T: mysql::prelude::FromValue>(
    row: &Row,
    column: usize,
    step: &str,
) -> Result<T, EngineError> {
    row.get_opt::<T, _>(column).and_then(Result::ok).ok_or_else(|| {
        let message = format!("column {} of the answer is missing or of another type", column + 1);
        EngineError::new(ErrorKind::Data, step, message)
    })
}
