//! Schemas of ours, found by their marker, and what they remember of their load.

use std::collections::BTreeMap;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, Load, Result, SchemaState, damaged_schema};
use slob_method::SchemaNo;
use slob_server::{COMMENT, Marker, Row, schema_of_name, with_damaged};

use crate::sql::{Ask, InStep, namespace};

/// Schemas that one query reads: bounds its length.
const CHUNK: usize = 256;
/// Errors of schemas whose tables are not as we made them: no such table, no such column, another type, another sort of object,
/// a damaged page or index.
const DAMAGE: [&str; 6] = ["42P01", "42703", "42804", "42809", "XX001", "XX002"];

/// All schemas of ours, in order.
///
/// # Errors
/// If the role may not read one, or the only ones are damaged.
pub(crate) fn schemas(client: &mut Client) -> Result<Vec<SchemaState>> {
    let step = "listing schemas";
    let numbers = marked(client, step)?;
    let sound = states(client, &numbers, step)?;
    let damaged: Vec<SchemaNo> = numbers.into_iter().filter(|schema| !sound.contains_key(schema)).collect();
    let drop = |schema| format!("DROP SCHEMA {} CASCADE;", namespace(schema));
    with_damaged(sound.into_values().collect(), &damaged, step, drop)
}

/// The numbers of all schemas with our marker, in order.
fn marked(client: &mut Client, step: &str) -> Result<Vec<SchemaNo>> {
    let rows = client.rows(step, &include_str!("../sql/marked.sql").replace("{comment}", COMMENT))?;
    let mut numbers: Vec<_> = rows.iter().filter_map(|row| schema_of_name(&row.get::<String>(0)?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes sure that a schema carries our marker, damaged or not.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn require_marked(client: &mut Client, schema: SchemaNo, step: &str) -> Result<()> {
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
/// [`ErrorKind::Usage`] if it does not carry our marker, [`ErrorKind::Data`] if it is damaged.
pub(crate) fn schema(client: &mut Client, schema: SchemaNo, step: &str) -> Result<SchemaState> {
    require_marked(client, schema, step)?;
    states(client, &[schema], step)?.remove(&schema).ok_or_else(|| damaged_schema(step, namespace(schema)))
}

/// The states of these schemas, without the damaged ones.
fn states(client: &mut Client, schemas: &[SchemaNo], step: &str) -> Result<BTreeMap<SchemaNo, SchemaState>> {
    let mut found: BTreeMap<SchemaNo, Option<SchemaState>> = BTreeMap::new();
    for chunk in schemas.chunks(CHUNK) {
        for row in marker_rows(client, chunk).in_step(step)? {
            let Some(schema) = row.get(10).and_then(SchemaNo::new) else { continue };
            // A load has one row: if there are two, neither can be trusted.
            found.entry(schema).and_modify(|known| *known = None).or_insert_with(|| {
                let marks = row.0[9].as_deref().unwrap_or_default().split(';').collect();
                Some(Marker::read(&row)?.state(schema, &marks))
            });
        }
    }
    Ok(found.into_iter().filter_map(|(schema, state)| Some((schema, state?))).collect())
}

/// The rows of the markers of these schemas. One that lacks a table or a column spoils the answer for all: each is then read
/// by itself, and what can't be read is left out.
fn marker_rows(client: &mut Client, schemas: &[SchemaNo]) -> Result<Vec<Row>, postgres::Error> {
    let part = |schema: &SchemaNo| {
        include_str!("../sql/state.sql")
            .replace("{number}", &schema.to_string())
            .replace("{ns}", &namespace(*schema))
    };
    let parts: Vec<String> = schemas.iter().map(part).collect();
    let mut read = |sql: &str| match client.texts(sql) {
        Err(error) if error.code().is_some_and(|code| DAMAGE.contains(&code.code())) => Ok(None),
        answer => answer.map(|(_, rows)| Some(rows.into_iter().map(Row))),
    };
    if let Some(rows) = read(&parts.join("\nUNION ALL\n"))? {
        return Ok(rows.collect());
    }
    let mut rows = Vec::with_capacity(parts.len());
    for part in &parts {
        rows.extend(read(part)?.into_iter().flatten());
    }
    Ok(rows)
}

/// The statement that remembers a new load.
pub(crate) fn mark_begun(schema: SchemaNo, load: &Load) -> String {
    let Load { seed, scale, scan_blocks, obfuscated, slice_rows } = *load;
    let seed = seed.cast_signed();
    format!(
        "INSERT INTO {}.slob_load (seed, scale, scan_blocks, obfuscated, slice_rows)
         VALUES ({seed}, {scale}, {scan_blocks}, {obfuscated}, {slice_rows});",
        namespace(schema)
    )
}
