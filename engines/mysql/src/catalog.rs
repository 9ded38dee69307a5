//! Our schemas, found by their marker.

use mysql::Conn;
use slob_engine::{EngineError, ErrorKind, Load, Result, SchemaState, damaged_schema};
use slob_method::SchemaNo;
use slob_server::{COMMENT, Marker, Row, schema_name, schema_of_name, with_damaged};

use crate::procedure::{BATCH, SELECTS};
use crate::sql::{Ask, InStep, code_of, database};

/// No such column, no such table, none in the engine.
const DAMAGE: [u16; 3] = [1054, 1146, 1932];

pub(crate) fn marked(conn: &mut Conn, step: &str) -> Result<Vec<SchemaNo>> {
    let rows = conn.rows(step, &include_str!("../sql/marked.sql").replace("{comment}", COMMENT))?;
    let mut numbers: Vec<_> = rows.iter().filter_map(|row| schema_of_name(&row.get::<String>(0)?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// True if the creation ended before the load was in the marker. A database without marker is ours if it has our character set,
/// no table, and no procedure but ours.
pub(crate) fn is_cut_off(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<bool> {
    if marked(conn, step)?.contains(&schema) {
        return match state(conn, schema, step) {
            Err(error) if error.kind() != ErrorKind::Data => Err(error),
            state => Ok(matches!(state, Ok(None))),
        };
    }
    let sql = include_str!("../sql/bare.sql")
        .replace("{database}", &schema_name(schema))
        .replace("{procedures}", &format!("'{BATCH}', '{SELECTS}'"));
    Ok(conn.row(step, &sql)?.get(0) == Some(1))
}

/// Leaves out those whose creation was cut off. An unreadable schema is an error, and so is damage of all.
pub(crate) fn schemas(conn: &mut Conn) -> Result<Vec<SchemaState>> {
    let step = "listing schemas";
    let (mut sound, mut damaged) = (Vec::new(), Vec::new());
    for number in marked(conn, step)? {
        match state(conn, number, step) {
            Ok(found) => sound.extend(found),
            Err(error) if error.kind() == ErrorKind::Data => damaged.push(number),
            Err(error) => return Err(error),
        }
    }
    with_damaged(sound, &damaged, step, |schema| format!("DROP DATABASE {};", schema_name(schema)))
}

/// Accepts damaged schemas. Others are an error of [`ErrorKind::Usage`].
pub(crate) fn require_marked(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<()> {
    if marked(conn, step)?.contains(&schema) { Ok(()) } else { Err(none(schema, step)) }
}

pub(crate) fn schema(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<SchemaState> {
    require_marked(conn, schema, step)?;
    state(conn, schema, step)?.ok_or_else(|| none(schema, step))
}

fn none(schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("slob has no schema {} on this server", schema_name(schema));
    EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("load it with `slob setup`, or name another server with TARGET")
}

/// `None` before the load is in the marker. Damage is an error of [`ErrorKind::Data`].
fn state(conn: &mut Conn, schema: SchemaNo, step: &str) -> Result<Option<SchemaState>> {
    let damaged = || damaged_schema(step, schema_name(schema));
    let mut read = |sql: String| match conn.texts(&sql) {
        Err(error) if code_of(&error).is_some_and(|code| DAMAGE.contains(&code)) => Err(damaged()),
        answer => Ok(answer.in_step(step)?.1),
    };
    let db = database(schema);
    let mut rows = read(format!(
        "SELECT seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks FROM {db}.slob_load"
    ))?;
    let Some(row) = rows.pop() else { return Ok(None) };
    // Two rows can't both be right.
    let marker = Marker::read(&Row(row)).filter(|_| rows.is_empty()).ok_or_else(damaged)?;
    let slices = match marker.is_complete() {
        true => Vec::new(),
        false => read(format!(
            "SELECT CONCAT_WS(', ', IF(is_scan, 'true', 'false'), first, past) FROM {db}.slob_slice"
        ))?,
    };
    let marks = slices.iter().filter_map(|row| row[0].as_deref()).collect();
    Ok(Some(marker.state(schema, &marks)))
}

pub(crate) fn mark_begun(schema: SchemaNo, load: &Load, filler_bytes: usize) -> String {
    let Load { seed, scale, scan_blocks, obfuscated, slice_rows } = *load;
    format!(
        "INSERT INTO {}.slob_load (seed, scale, scan_blocks, obfuscated, slice_rows, filler_bytes)
         VALUES ({seed}, {scale}, {scan_blocks}, {obfuscated}, {slice_rows}, {filler_bytes})",
        database(schema)
    )
}
