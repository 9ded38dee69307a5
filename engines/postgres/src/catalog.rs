//! What is on the server: our schemas, told by their marker, and what they remember of their load.

use std::collections::BTreeMap;

use postgres::{GenericClient, Row};
use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::error::failed;
use crate::namespace::{COMMENT, namespace, schema_of};

/// Schemas that one query asks about: bounds its length.
const CHUNK: usize = 256;
/// Namespaces with a comment of ours and a table of our name: both together are the marker.
const MARKED: &str = include_str!("../sql/marked.sql");
const STATES: &str = include_str!("../sql/state.sql");

/// All schemas of ours, in order.
///
/// # Errors
/// If the server can't be asked, or the role may not read a schema of ours.
pub(crate) fn schemas(client: &mut impl GenericClient) -> Result<Vec<SchemaState>, EngineError> {
    let step = "listing schemas";
    let rows = client.query(MARKED, &[&COMMENT]).map_err(|error| failed(step, &error))?;
    let mut numbers = Vec::new();
    for row in rows {
        let name: String = get(&row, 0, step)?;
        numbers.extend(schema_of(&name));
    }
    numbers.sort_unstable();
    states(client, &numbers, step)
}

/// One schema of ours.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn schema(
    client: &mut impl GenericClient,
    schema: SchemaNo,
    step: &str,
) -> Result<SchemaState, EngineError> {
    let name = format!("slob{schema}");
    let marked = client.query(MARKED, &[&COMMENT]).map_err(|error| failed(step, &error))?;
    if !marked.iter().any(|row| row.try_get::<_, String>(0).is_ok_and(|found| found == name)) {
        let message = format!("there is no schema {} of ours on this database", namespace(schema));
        return Err(EngineError::new(ErrorKind::Usage, step, message)
            .with_advice("load it with `slob setup`, or name another database with TARGET"));
    }
    let mut states = states(client, &[schema], step)?;
    states.pop().ok_or_else(|| damaged(schema, step))
}

fn damaged(schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("the load parameters of {} are missing or damaged", namespace(schema));
    EngineError::new(ErrorKind::Data, step, message).with_advice("drop the schema and load it again")
}

fn states(
    client: &mut impl GenericClient,
    schemas: &[SchemaNo],
    step: &str,
) -> Result<Vec<SchemaState>, EngineError> {
    let mut states = Vec::with_capacity(schemas.len());
    for chunk in schemas.chunks(CHUNK) {
        let parts: Vec<String> = chunk
            .iter()
            .map(|schema| {
                STATES.replace("{number}", &schema.to_string()).replace("{ns}", &namespace(*schema))
            })
            .collect();
        let rows = client.query(&parts.join("\nUNION ALL\n"), &[]).map_err(|error| failed(step, &error))?;
        let mut found = BTreeMap::new();
        for row in &rows {
            let state = state(row, step)?;
            found.insert(state.schema, state);
        }
        for schema in chunk {
            states.push(found.remove(schema).ok_or_else(|| damaged(*schema, step))?);
        }
    }
    Ok(states)
}

fn state(row: &Row, step: &str) -> Result<SchemaState, EngineError> {
    let number: i32 = get(row, 0, step)?;
    let schema = u16::try_from(number).ok().and_then(SchemaNo::new);
    let schema = schema.ok_or_else(|| damaged(SchemaNo::FIRST, step))?;
    let count = |column: usize| -> Result<u64, EngineError> {
        u64::try_from(get::<i64>(row, column, step)?).map_err(|_| damaged(schema, step))
    };
    let load = Load {
        seed: get::<i64>(row, 1, step)?.cast_unsigned(),
        scale: count(2)?,
        scan_blocks: count(3)?,
        obfuscated: get(row, 4, step)?,
        slice_rows: count(5)?,
    };
    let state = if get::<Option<i64>>(row, 6, step)?.is_some() {
        LoadState::Complete(Layout { rows: count(6)?, row_blocks: count(7)?, all_blocks: count(8)? })
    } else {
        let loaded = load.slices(schema).zip(slices_loaded(row, &load, schema, step)?);
        LoadState::Begun(loaded.filter_map(|(slice, loaded)| loaded.then_some(slice)).collect())
    };
    Ok(SchemaState { schema, load, filler_bytes: 0, state })
}

/// Which slices of the load are in place, in the load's order.
fn slices_loaded(row: &Row, load: &Load, schema: SchemaNo, step: &str) -> Result<Vec<bool>, EngineError> {
    let is_scan: Vec<bool> = get(row, 9, step)?;
    let first: Vec<i64> = get(row, 10, step)?;
    let after: Vec<i64> = get(row, 11, step)?;
    let marks: std::collections::BTreeSet<(bool, i64, i64)> = is_scan
        .iter()
        .zip(&first)
        .zip(&after)
        .map(|((scan, first), after)| (*scan, *first, *after))
        .collect();
    Ok(load.slices(schema).map(|slice| marks.contains(&mark(&slice))).collect())
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
