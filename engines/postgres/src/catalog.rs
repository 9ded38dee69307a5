//! What is on the server: our schemas, told by their marker, and what they remember of their load.

use std::collections::{BTreeMap, BTreeSet};

use postgres::{Client, GenericClient, Row};
use slob_engine::{
    EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice, damaged_schema, only_damaged,
};
use slob_method::{SchemaNo, Table};
use slob_server::names::{COMMENT, schema_of};

use crate::error::failed;
use crate::namespace::namespace;

/// Schemas that one query asks about: bounds its length.
const CHUNK: usize = 256;
/// Namespaces with a name and a comment of ours: both together are the marker.
const MARKED: &str = include_str!("../sql/marked.sql");
const STATES: &str = include_str!("../sql/state.sql");
/// What the server says of a schema whose tables are not as we made them: no such table, no such column, another type,
/// another sort of object, a damaged page or index.
const DAMAGE: [&str; 6] = ["42P01", "42703", "42804", "42809", "XX001", "XX002"];

/// All schemas of ours, in order.
///
/// # Errors
/// If the server can't be asked, or the role may not read a schema of ours; if the only ones are damaged.
pub(crate) fn schemas(client: &mut Client) -> Result<Vec<SchemaState>, EngineError> {
    let step = "listing schemas";
    let numbers = marked(client, step)?;
    let mut found = states(client, &numbers, step)?;
    let read: Vec<SchemaState> = numbers.iter().filter_map(|schema| found.remove(schema)).collect();
    let is_read = |schema: &SchemaNo| read.iter().any(|state| state.schema == *schema);
    let damaged: Vec<SchemaNo> = numbers.iter().copied().filter(|schema| !is_read(schema)).collect();
    SchemaState::with_damaged(read, &damaged).ok_or_else(|| no_sound_one(&damaged, step))
}

/// The numbers of all schemas with our marker, in order.
fn marked(client: &mut Client, step: &str) -> Result<Vec<SchemaNo>, EngineError> {
    let rows = client.query(MARKED, &[&COMMENT]).map_err(|error| failed(step, &error))?;
    let mut numbers = Vec::with_capacity(rows.len());
    for row in rows {
        let name: String = get(&row, 0, step)?;
        numbers.extend(schema_of(&name));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes sure that a schema carries our marker, damaged or not.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn require_marked(client: &mut Client, schema: SchemaNo, step: &str) -> Result<(), EngineError> {
    if marked(client, step)?.contains(&schema) {
        return Ok(());
    }
    let message = format!("slob has no schema {} in this database", namespace(schema));
    Err(EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("load it with `slob setup`, or name another database with TARGET"))
}

/// One schema of ours.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's; [`ErrorKind::Data`] if it is damaged.
pub(crate) fn schema(client: &mut Client, schema: SchemaNo, step: &str) -> Result<SchemaState, EngineError> {
    require_marked(client, schema, step)?;
    states(client, &[schema], step)?.remove(&schema).ok_or_else(|| damaged_schema(step, namespace(schema)))
}

fn no_sound_one(damaged: &[SchemaNo], step: &str) -> EngineError {
    let drops: Vec<String> =
        damaged.iter().map(|schema| format!("DROP SCHEMA {} CASCADE;", namespace(*schema))).collect();
    only_damaged(step, &format!("what is there: {}", drops.join(" ")))
}

/// What these schemas remember. Those that are damaged are missing.
fn states(
    client: &mut Client,
    schemas: &[SchemaNo],
    step: &str,
) -> Result<BTreeMap<SchemaNo, SchemaState>, EngineError> {
    let mut found: BTreeMap<SchemaNo, Option<SchemaState>> = BTreeMap::new();
    for chunk in schemas.chunks(CHUNK) {
        for row in rows_of(client, chunk).map_err(|error| failed(step, &error))? {
            let number: i32 = get(&row, 0, step)?;
            let Some(schema) = u16::try_from(number).ok().and_then(SchemaNo::new) else { continue };
            // A load has one row: with two of them neither is to be believed.
            found.entry(schema).and_modify(|known| *known = None).or_insert_with(|| state(&row, schema));
        }
    }
    Ok(found.into_iter().filter_map(|(schema, state)| Some((schema, state?))).collect())
}

/// The rows of the markers of these schemas. One that lacks a table or a column spoils the answer for all: each is then asked
/// by itself, and what can't be read of it is left out.
fn rows_of(client: &mut Client, schemas: &[SchemaNo]) -> Result<Vec<Row>, postgres::Error> {
    let part = |schema: &SchemaNo| {
        STATES.replace("{number}", &schema.to_string()).replace("{ns}", &namespace(*schema))
    };
    let parts: Vec<String> = schemas.iter().map(part).collect();
    let is_damage = |error: &postgres::Error| error.code().is_some_and(|code| DAMAGE.contains(&code.code()));
    match client.query(&parts.join("\nUNION ALL\n"), &[]) {
        Err(error) if is_damage(&error) => {}
        answer => return answer,
    }
    let mut rows = Vec::with_capacity(parts.len());
    for part in &parts {
        match client.query(part, &[]) {
            Err(error) if is_damage(&error) => {}
            answer => rows.extend(answer?),
        }
    }
    Ok(rows)
}

/// What a row of a marker says; `None` if that is nonsense.
fn state(row: &Row, schema: SchemaNo) -> Option<SchemaState> {
    let count = |column: usize| u64::try_from(row.try_get::<_, i64>(column).ok()?).ok();
    let load = Load {
        seed: row.try_get::<_, i64>(1).ok()?.cast_unsigned(),
        scale: count(2)?,
        scan_blocks: count(3)?,
        obfuscated: row.try_get(4).ok()?,
        slice_rows: count(5)?,
    };
    if !load.is_sound() {
        return None;
    }
    let state = if row.try_get::<_, Option<i64>>(6).ok()?.is_some() {
        LoadState::Complete(Layout { rows: count(6)?, row_blocks: count(7)?, all_blocks: count(8)? })
    } else {
        LoadState::Begun(slices_loaded(row, &load, schema)?)
    };
    Some(SchemaState { schema, load, filler_bytes: 0, state })
}

/// The slices of the load that are in place, in the load's order.
fn slices_loaded(row: &Row, load: &Load, schema: SchemaNo) -> Option<Vec<Slice>> {
    let is_scan: Vec<bool> = row.try_get(9).ok()?;
    let first: Vec<i64> = row.try_get(10).ok()?;
    let after: Vec<i64> = row.try_get(11).ok()?;
    let marks: BTreeSet<(bool, i64, i64)> = is_scan
        .iter()
        .zip(&first)
        .zip(&after)
        .map(|((scan, first), after)| (*scan, *first, *after))
        .collect();
    Some(load.slices(schema).filter(|slice| marks.contains(&mark(slice))).collect())
}

fn mark(slice: &Slice) -> (bool, i64, i64) {
    let positions = &slice.positions;
    (slice.table == Table::Scan, positions.start.cast_signed(), positions.end.cast_signed())
}

/// Remembers a new load.
///
/// # Errors
/// If the row can't be written.
pub(crate) fn mark_begun(
    client: &mut impl GenericClient,
    schema: SchemaNo,
    load: &Load,
) -> Result<(), postgres::Error> {
    let sql = format!(
        "INSERT INTO {}.slob_load (seed, scale, scan_blocks, obfuscated, slice_rows) VALUES ($1, $2, $3, $4, $5)",
        namespace(schema)
    );
    let [seed, scale, scan, rows] =
        [load.seed, load.scale, load.scan_blocks, load.slice_rows].map(u64::cast_signed);
    client.execute(&sql, &[&seed, &scale, &scan, &load.obfuscated, &rows]).map(drop)
}

/// Remembers that a slice is in place.
///
/// # Errors
/// If the row can't be written: another stream has loaded the same slice.
pub(crate) fn mark_slice(client: &mut impl GenericClient, slice: &Slice) -> Result<(), postgres::Error> {
    let (is_scan, first, after) = mark(slice);
    let sql = format!(
        "INSERT INTO {}.slob_slice (is_scan, first, after) VALUES ($1, $2, $3)",
        namespace(slice.schema)
    );
    client.execute(&sql, &[&is_scan, &first, &after]).map(drop)
}

/// Remembers that a schema is complete.
///
/// # Errors
/// If the row can't be written.
pub(crate) fn mark_complete(
    client: &mut impl GenericClient,
    schema: SchemaNo,
    layout: Layout,
) -> Result<(), postgres::Error> {
    let sql = format!(
        "UPDATE {}.slob_load SET row_count = $1, row_blocks = $2, all_blocks = $3",
        namespace(schema)
    );
    let [rows, row_blocks, all_blocks] =
        [layout.rows, layout.row_blocks, layout.all_blocks].map(u64::cast_signed);
    client.execute(&sql, &[&rows, &row_blocks, &all_blocks]).map(drop)
}

/// A column of a row, with the error of a wrong type told as ours.
pub(crate) fn get<'a, T: postgres::types::FromSql<'a>>(
    row: &'a Row,
    column: usize,
    step: &str,
) -> Result<T, EngineError> {
    row.try_get(column).map_err(|error| failed(step, &error))
}
