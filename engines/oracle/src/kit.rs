//! The accounts `USER1`, `USER2`, ... that the original kit has loaded: used as they are, never changed but by UPDATEs.

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState};
use slob_method::SchemaNo;

use crate::catalog::{number, text};
use crate::client::{Bind, Client, Row};
use crate::error::failed;
use crate::names::Prefix;

/// Schemas that one query asks about.
const CHUNK: usize = 64;
/// The names of the tables in the dictionary.
const MAIN: &str = "CF1";
const SCAN: &str = "CF2";

/// The loaded schemas of a kit, told by their tables and index. Blocks are those of the optimizer's statistics, which the
/// kit gathers of CF1; its numbers of rows are estimates from a sample, so the last key is asked for, which the index tells
/// at once, and the small scan tables are counted.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn schemas(
    client: &mut dyn Client,
    prefix: &Prefix,
    step: &str,
) -> Result<Vec<SchemaState>, EngineError> {
    let sql = include_str!("../sql/kit.sql");
    let tables =
        client.query(sql, &[Bind::Text(prefix.text().into())]).map_err(|fault| failed(step, &fault))?;
    let of = |row: &Row| prefix.schema_of(text(row, 0)?).filter(|_| text(row, 1) == Some(MAIN));
    let mut schemas: Vec<SchemaNo> = tables.iter().filter_map(of).collect();
    schemas.sort_unstable();
    let mut states = Vec::with_capacity(schemas.len());
    for chunk in schemas.chunks(CHUNK) {
        let one = |schema: &SchemaNo| counting(&prefix.user(*schema), *schema, &tables);
        let sql = chunk.iter().map(one).collect::<Vec<_>>().join("\nUNION ALL\n");
        let counted = client.query(&sql, &[]).map_err(|fault| failed(step, &fault))?;
        states.extend(counted.iter().filter_map(|row| state(row, &tables, prefix)));
    }
    states.sort_by_key(|state| state.schema);
    alike(&mut states);
    Ok(states)
}

/// The row of a table among those of `kit.sql`.
fn table<'a>(tables: &'a [Row], owner: &str, name: &str) -> Option<&'a Row> {
    tables.iter().find(|row| text(row, 0) == Some(owner) && text(row, 1) == Some(name))
}

/// The query for the last key of a schema, and the rows of its scan table, if it has one.
fn counting(owner: &str, schema: SchemaNo, tables: &[Row]) -> String {
    let (count, scan_table) = match table(tables, owner, SCAN) {
        Some(_) => ("COUNT(*)", format!("{owner}.cf2")),
        None => ("0", "dual".to_owned()),
    };
    include_str!("../sql/kit_keys.sql")
        .trim_end()
        .replace("{number}", &schema.to_string())
        .replace("{user}", owner)
        .replace("{count}", count)
        .replace("{scan_table}", &scan_table)
}

/// A load of several streams may leave schemas that differ by a row: what all of them hold is the load.
fn alike(states: &mut [SchemaState]) {
    let least = |of: fn(&Load) -> u64| states.iter().map(|state| of(&state.load)).min().unwrap_or(0);
    let (scale, scan_blocks) = (least(|load| load.scale), least(|load| load.scan_blocks));
    for state in states {
        state.load = Load { scale, scan_blocks, slice_rows: scale.max(1), ..state.load };
    }
}

/// From the number, last key and scan rows of a schema; `None` if it is empty. Its keys begin with 1 and have no gaps.
fn state(row: &Row, tables: &[Row], prefix: &Prefix) -> Option<SchemaState> {
    let schema = SchemaNo::new(u16::try_from(number(row, 0)?).ok()?)?;
    let (scale, scan_blocks) = (number(row, 1)?, number(row, 2)?);
    let owner = prefix.user(schema);
    let used = table(tables, &owner, MAIN).and_then(|row| number(row, 3)).unwrap_or(scale);
    let load = Load { seed: 0, scale, scan_blocks, obfuscated: false, slice_rows: scale.max(1) };
    // Blocks below the high-water mark may be empty, but no more of them than there are rows hold one.
    let layout = Layout { rows: scale, row_blocks: used.min(scale), all_blocks: used + scan_blocks };
    Some(SchemaState { schema, load, filler_bytes: 0, state: LoadState::Complete(layout) })
}

/// What is refused with ORACLE_ACCOUNTS=kit.
pub(crate) fn untouchable(prefix: &Prefix, schema: SchemaNo, step: &str) -> EngineError {
    let message =
        format!("{} is the original kit's: it is not made, loaded or dropped here", prefix.user(schema));
    EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("unset ORACLE_ACCOUNTS to work with schemas of slob's own, or use the kit's scripts")
}
