//! Our schemas, found by their marker.

use std::collections::BTreeMap;

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, Load, Result, SchemaState, damaged_schema};
use slob_method::SchemaNo;
use slob_server::{COMMENT, Marker, Row, schema_of_name, with_damaged};

use crate::sql::{Ask, InStep, namespace};

/// Bounds the length of a query.
const CHUNK: usize = 256;
/// No such table, column, type, or object; a damaged page or index.
const DAMAGE: [&str; 6] = ["42P01", "42703", "42804", "42809", "XX001", "XX002"];

/// An unreadable schema is an error, and so is damage of all.
pub(crate) fn schemas(client: &mut Client) -> Result<Vec<SchemaState>> {
    let step = "listing schemas";
    let numbers = marked(client, step)?;
    let sound = states(client, &numbers, step)?;
    let damaged: Vec<SchemaNo> = numbers.into_iter().filter(|schema| !sound.contains_key(schema)).collect();
    let drop = |schema| format!("DROP SCHEMA {} CASCADE;", namespace(schema));
    with_damaged(sound.into_values().collect(), &damaged, step, drop)
}

fn marked(client: &mut Client, step: &str) -> Result<Vec<SchemaNo>> {
    let rows = client.rows(step, &include_str!("../sql/marked.sql").replace("{comment}", COMMENT))?;
    let mut numbers: Vec<_> = rows.iter().filter_map(|row| schema_of_name(&row.get::<String>(0)?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Accepts damaged schemas. Others are an error of [`ErrorKind::Usage`].
pub(crate) fn require_marked(client: &mut Client, schema: SchemaNo, step: &str) -> Result<()> {
    if marked(client, step)?.contains(&schema) {
        return Ok(());
    }
    let message = format!("slob has no schema {} in this database", namespace(schema));
    Err(EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("load it with `slob setup`, or name another database with TARGET"))
}

/// A schema without marker is an error of [`ErrorKind::Usage`], a damaged one of [`ErrorKind::Data`].
pub(crate) fn schema(client: &mut Client, schema: SchemaNo, step: &str) -> Result<SchemaState> {
    require_marked(client, schema, step)?;
    states(client, &[schema], step)?.remove(&schema).ok_or_else(|| damaged_schema(step, namespace(schema)))
}

fn states(client: &mut Client, schemas: &[SchemaNo], step: &str) -> Result<BTreeMap<SchemaNo, SchemaState>> {
    let mut found: BTreeMap<SchemaNo, Option<SchemaState>> = BTreeMap::new();
    for chunk in schemas.chunks(CHUNK) {
        for row in marker_rows(client, chunk).in_step(step)? {
            let Some(schema) = row.get(10).and_then(SchemaNo::new) else { continue };
            // Two rows can't both be right.
            found.entry(schema).and_modify(|known| *known = None).or_insert_with(|| {
                let marks = row.0[9].as_deref().unwrap_or_default().split(';').collect();
                Some(Marker::read(&row)?.state(schema, &marks))
            });
        }
    }
    Ok(found.into_iter().filter_map(|(schema, state)| Some((schema, state?))).collect())
}

/// Reads schema by schema if one lacks a table or column; unreadable ones are left out.
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

pub(crate) fn mark_begun(schema: SchemaNo, load: &Load) -> String {
    let Load { seed, scale, scan_blocks, obfuscated, slice_rows } = *load;
    let seed = seed.cast_signed();
    format!(
        "INSERT INTO {}.slob_load (seed, scale, scan_blocks, obfuscated, slice_rows)
         VALUES ({seed}, {scale}, {scan_blocks}, {obfuscated}, {slice_rows});",
        namespace(schema)
    )
}
