//! The accounts `USER1`, `USER2`, ... that the original kit has loaded: used as they are, never changed but by UPDATEs.

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState};
use slob_method::SchemaNo;

use crate::catalog::{number, text};
use crate::client::{Bind, Client, Row};
use crate::error::failed;
use crate::names::Prefix;

/// The loaded schemas of a kit, told by their tables and index; sizes are those of the optimizer's statistics, which the
/// kit has gathered.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn schemas(
    client: &mut dyn Client,
    prefix: &Prefix,
    step: &str,
) -> Result<Vec<SchemaState>, EngineError> {
    let sql = include_str!("../sql/kit.sql");
    let rows =
        client.query(sql, &[Bind::Text(prefix.text().into())]).map_err(|fault| failed(step, &fault))?;
    let mut states: Vec<SchemaState> = rows.iter().filter_map(|row| state(row, &rows, prefix)).collect();
    states.sort_by_key(|state| state.schema);
    alike(&mut states);
    Ok(states)
}

/// Statistics are estimates, and differ by a row or so: what all schemas hold is the load.
fn alike(states: &mut [SchemaState]) {
    let least = |of: fn(&Load) -> u64| states.iter().map(|state| of(&state.load)).min().unwrap_or(0);
    let (scale, scan_blocks) = (least(|load| load.scale), least(|load| load.scan_blocks));
    for state in states {
        state.load = Load { scale, scan_blocks, slice_rows: scale.max(1), ..state.load };
    }
}

/// What a row about a CF1 says; `None` for one about another table, or without statistics.
fn state(row: &Row, rows: &[Row], prefix: &Prefix) -> Option<SchemaState> {
    let owner = text(row, 0)?;
    let schema = prefix.schema_of(owner).filter(|_| text(row, 1) == Some("CF1"))?;
    let (scale, used) = (number(row, 2)?, number(row, 3)?);
    // Blocks below the high-water mark may be empty, but no more of them than there are rows hold one.
    let row_blocks = used.min(scale);
    let scan = rows.iter().find(|row| text(row, 0) == Some(owner) && text(row, 1) == Some("CF2"));
    let (scan_blocks, scan_used) =
        scan.map_or((0, 0), |row| (number(row, 2).unwrap_or(0), number(row, 3).unwrap_or(0)));
    let load = Load { seed: 0, scale, scan_blocks, obfuscated: false, slice_rows: scale.max(1) };
    let layout = Layout { rows: scale, row_blocks, all_blocks: used + scan_used };
    Some(SchemaState { schema, load, filler_bytes: 0, state: LoadState::Complete(layout) })
}

/// What is refused with ORACLE_ACCOUNTS=kit.
pub(crate) fn untouchable(prefix: &Prefix, schema: SchemaNo, step: &str) -> EngineError {
    let message =
        format!("{} is the original kit's: it is not made, loaded or dropped here", prefix.user(schema));
    EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("unset ORACLE_ACCOUNTS to work with schemas of slob's own, or use the kit's scripts")
}
