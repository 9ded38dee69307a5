//! What is on the server: our schemas, told by their marker, and what they remember of their load.

use std::collections::BTreeSet;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice, damaged_schema, only_damaged,
};
use slob_method::{SchemaNo, Table};
use slob_server::names::{COMMENT, MARKER, SLICES, plain, schema_of};

use crate::error::{code_of, failed};
use crate::names::database;
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

/// No page that InnoDB knows is larger.
const MOST_FILLER_BYTES: usize = 65_536;
/// What the server says of a schema whose tables are not as we made them: no such column, no such table, none in the engine.
const DAMAGE: [u16; 3] = [1054, 1146, 1932];

/// All schemas of ours, in order. One whose creation was cut off is none yet.
///
/// # Errors
/// If the server can't be asked, or the role may not read a schema of ours; if the only ones are damaged.
pub(crate) fn schemas(conn: &mut Conn) -> Result<Vec<SchemaState>, EngineError> {
    let step = "listing schemas";
    let (mut read, mut unreadable) = (Vec::new(), Vec::new());
    for number in marked(conn, step)? {
        match state(conn, number, step) {
            Ok(found) => read.extend(found),
            Err(error) if error.kind() == ErrorKind::Data => unreadable.push(number),
            Err(error) => return Err(error),
        }
    }
    SchemaState::with_damaged(read, &unreadable).ok_or_else(|| no_sound_one(&unreadable, step))
}

/// Makes sure that a schema carries our marker, damaged or not.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn require_marked(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<(), EngineError> {
    if marked(conn, step)?.contains(&schema) { Ok(()) } else { Err(none(schema, step)) }
}

/// One schema of ours.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's; [`ErrorKind::Data`] if it is damaged.
pub(crate) fn schema(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<SchemaState, EngineError> {
    require_marked(conn, schema, step)?;
    state(conn, schema, step)?.ok_or_else(|| none(schema, step))
}

/// Whether a marked schema remembers nothing yet: its creation was cut off. A damaged one was not.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn is_blank(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<bool, EngineError> {
    match state(conn, schema, step) {
        Err(error) if error.kind() != ErrorKind::Data => Err(error),
        state => Ok(matches!(state, Ok(None))),
    }
}

fn none(schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("slob has no schema {} on this server", plain(schema));
    EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("load it with `slob setup`, or name another server with TARGET")
}

fn damaged(schema: SchemaNo, step: &str) -> EngineError {
    damaged_schema(step, plain(schema))
}

fn no_sound_one(unreadable: &[SchemaNo], step: &str) -> EngineError {
    let drops: Vec<String> =
        unreadable.iter().map(|schema| format!("DROP DATABASE {};", plain(*schema))).collect();
    only_damaged(step, &format!("what is there: {}", drops.join(" ")))
}

/// What a marked schema remembers; `None` if it is not that far yet.
///
/// # Errors
/// [`ErrorKind::Data`] if it is damaged.
fn state(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<Option<SchemaState>, EngineError> {
    let fail = |error: mysql::Error| match code_of(&error) {
        Some(code) if DAMAGE.contains(&code) => damaged(schema, step),
        _ => failed(step, &error),
    };
    let sql = format!(
        "SELECT seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks FROM {}.{MARKER}",
        database(schema)
    );
    let mut rows: Vec<Row> = conn.query(sql).map_err(fail)?;
    let Some(row) = rows.pop() else { return Ok(None) };
    // A load has one row: with two of them neither is to be believed.
    let (load, filler_bytes, layout) =
        Some(&row).filter(|_| rows.is_empty()).and_then(remembered).ok_or_else(|| damaged(schema, step))?;
    let state = match layout {
        Some(layout) => LoadState::Complete(layout),
        None => LoadState::Begun(slices_loaded(conn, schema, &load).map_err(fail)?),
    };
    Ok(Some(SchemaState { schema, load, filler_bytes, state }))
}

/// What a row of the marker says; `None` if that is nonsense.
fn remembered(row: &Row) -> Option<(Load, usize, Option<Layout>)> {
    let value = |column| row.get_opt::<u64, _>(column)?.ok();
    let load = Load {
        seed: value(0)?,
        scale: value(1)?,
        scan_blocks: value(2)?,
        obfuscated: value(3)? != 0,
        slice_rows: value(4)?,
    };
    let layout = match row.get_opt::<Option<u64>, _>(6)?.ok()? {
        Some(rows) => Some(Layout { rows, row_blocks: value(7)?, all_blocks: value(8)? }),
        None => None,
    };
    let filler_bytes = usize::try_from(value(5)?).ok().filter(|bytes| *bytes <= MOST_FILLER_BYTES)?;
    load.is_sound().then_some((load, filler_bytes, layout))
}

/// The slices that are in place, in the load's order.
fn slices_loaded(conn: &mut Conn, schema: SchemaNo, load: &Load) -> Result<Vec<Slice>, mysql::Error> {
    let sql = format!("SELECT is_scan, first, past FROM {}.{SLICES}", database(schema));
    let marks: Vec<(bool, u64, u64)> = conn.query(sql)?;
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
