use std::collections::BTreeSet;

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, Result, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::client::{Client, During, Fault, Row, failed, number, text};
use crate::database::Connections;
use crate::options::Accounts;
use crate::statements::{Prefix, fill};

/// Bounds the length of the query.
const CHUNK: usize = 64;
/// 'invalid identifier'.
const NO_COLUMN: i32 = 904;
const MAIN: &str = "CF1";
const SCAN: &str = "CF2";

struct Marked {
    state: SchemaState,
    made_user: bool,
}

/// Fails if all are damaged.
pub(crate) fn all(client: &mut dyn Client, connections: &Connections) -> Result<Vec<SchemaState>> {
    let step = "listing schemas";
    let prefix = &connections.options.prefix;
    if connections.options.accounts == Accounts::Kit {
        return of_kit(client, prefix, step);
    }
    let numbers = marked(client, prefix, step)?;
    let (mut read, mut damaged) = (Vec::new(), Vec::new());
    for (number, marked) in numbers.iter().zip(read_markers(client, prefix, &numbers, step)?) {
        match marked {
            Some(marked) => read.push(marked.state),
            None => damaged.push(*number),
        }
    }
    let first = damaged.first().copied().unwrap_or(SchemaNo::FIRST);
    SchemaState::with_damaged(read, &damaged).ok_or_else(|| {
        damaged_marker(prefix, first, step)
            .with_advice("a DBA must drop the account, then load it again with `slob setup`")
    })
}

/// A missing schema is an error of [`ErrorKind::Usage`], a damaged marker one of [`ErrorKind::Data`].
pub(crate) fn one(
    client: &mut dyn Client,
    connections: &Connections,
    schema: SchemaNo,
    step: &str,
) -> Result<SchemaState> {
    if connections.options.accounts != Accounts::Kit {
        return Ok(one_marked(client, connections, schema, step)?.state);
    }
    let states = of_kit(client, &connections.options.prefix, step)?;
    states.into_iter().find(|state| state.schema == schema).ok_or_else(|| missing(connections, schema, step))
}

/// Works for damaged markers too.
pub(crate) fn made_user(
    client: &mut dyn Client,
    connections: &Connections,
    schema: SchemaNo,
    step: &str,
) -> Result<bool> {
    match one_marked(client, connections, schema, step) {
        Err(error) if error.kind() == ErrorKind::Data => {
            connections.passwords.is_random(&connections.user(schema))
        }
        marked => Ok(marked?.made_user),
    }
}

fn one_marked(
    client: &mut dyn Client,
    connections: &Connections,
    schema: SchemaNo,
    step: &str,
) -> Result<Marked> {
    let prefix = &connections.options.prefix;
    if !marked(client, prefix, step)?.contains(&schema) {
        return Err(missing(connections, schema, step));
    }
    let marked = read_markers(client, prefix, &[schema], step)?.pop().flatten();
    marked.ok_or_else(|| damaged_marker(prefix, schema, step))
}

fn missing(connections: &Connections, schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("the account {} holds no schema of slob's", connections.user(schema));
    EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "load it with `slob setup`; if it is there, the account that looks must be allowed to SELECT from it",
    )
}

fn damaged_marker(prefix: &Prefix, schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("the load parameters in {} are missing or damaged", prefix.user(schema));
    EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove it with `slob drop`, then load it again with `slob setup`")
}

pub(crate) fn marked(client: &mut dyn Client, prefix: &Prefix, step: &str) -> Result<Vec<SchemaNo>> {
    let rows = client.query(include_str!("../sql/marked.sql"), &[prefix.bind()]).during(step)?;
    let users = rows.into_iter().flatten().flatten();
    let mut schemas: Vec<SchemaNo> = users.filter_map(|user| prefix.schema_of(&user)).collect();
    schemas.sort_unstable();
    schemas.dedup();
    Ok(schemas)
}

fn read_markers(
    client: &mut dyn Client,
    prefix: &Prefix,
    schemas: &[SchemaNo],
    step: &str,
) -> Result<Vec<Option<Marked>>> {
    let mut all = Vec::with_capacity(schemas.len());
    for chunk in schemas.chunks(CHUNK) {
        match query_markers(client, prefix, chunk) {
            Ok(marked) => all.extend(marked),
            Err(fault) if fault.code == Some(NO_COLUMN) && chunk.len() == 1 => all.push(None),
            // One of the chunk has other columns.
            Err(fault) if fault.code == Some(NO_COLUMN) => {
                for schema in chunk {
                    all.extend(read_markers(client, prefix, &[*schema], step)?);
                }
            }
            Err(fault) => return Err(failed(step, &fault)),
        }
    }
    Ok(all)
}

fn query_markers(
    client: &mut dyn Client,
    prefix: &Prefix,
    schemas: &[SchemaNo],
) -> Result<Vec<Option<Marked>>, Fault> {
    let mut query_all = |template: &str| {
        let query = |schema: &SchemaNo| {
            fill(template, &[("number", &schema.to_string()), ("user", &prefix.user(*schema))])
        };
        client.query(&union(schemas.iter().map(query)), &[])
    };
    let states = query_all(include_str!("../sql/state.sql"))?;
    let slices = query_all(include_str!("../sql/slices.sql"))?;
    let slices: BTreeSet<_> =
        slices.iter().map(|row| [0, 1, 2, 3].map(|column| number(row, column))).collect();
    let marked = |schema: &SchemaNo| {
        let row = states.iter().find(|row| number(row, 0) == Some(schema.get().into()))?;
        read_marker(*schema, row, &slices)
    };
    Ok(schemas.iter().map(marked).collect())
}

fn union(queries: impl Iterator<Item = String>) -> String {
    queries.collect::<Vec<_>>().join("\nUNION ALL\n")
}

/// `None` if they make no sense.
fn read_marker(schema: SchemaNo, row: &Row, slices: &BTreeSet<[Option<u64>; 4]>) -> Option<Marked> {
    let load = Load {
        seed: number(row, 1)?,
        scale: number(row, 2)?,
        scan_blocks: number(row, 3)?,
        obfuscated: number(row, 4)? != 0,
        slice_rows: number(row, 5)?,
    };
    if !load.is_sound() {
        return None;
    }
    let layout =
        || Some(Layout { rows: number(row, 6)?, row_blocks: number(row, 7)?, all_blocks: number(row, 8)? });
    let is_loaded = |slice: &Slice| {
        let [is_scan, first, end] = slice_mark(slice);
        slices.contains(&[schema.get().into(), is_scan, first, end].map(Some))
    };
    let state = match layout() {
        Some(layout) => LoadState::Complete(layout),
        None => LoadState::Begun(load.slices(schema).filter(is_loaded).collect()),
    };
    let made_user = number(row, 9)? != 0;
    Some(Marked { state: SchemaState { schema, load, filler_bytes: 0, state }, made_user })
}

pub(crate) fn slice_mark(slice: &Slice) -> [u64; 3] {
    [u64::from(slice.table == Table::Scan), slice.positions.start, slice.positions.end]
}

/// Blocks come from the optimizer's statistics. Their numbers of rows are estimates, so the last key is queried and scan tables
/// are counted.
fn of_kit(client: &mut dyn Client, prefix: &Prefix, step: &str) -> Result<Vec<SchemaState>> {
    let tables = client.query(include_str!("../sql/kit.sql"), &[prefix.bind()]).during(step)?;
    let of_main = |row: &Row| prefix.schema_of(text(row, 0)?).filter(|_| text(row, 1) == Some(MAIN));
    let mut schemas: Vec<SchemaNo> = tables.iter().filter_map(of_main).collect();
    schemas.sort_unstable();
    let mut states = Vec::with_capacity(schemas.len());
    for chunk in schemas.chunks(CHUNK) {
        let query = |schema: &SchemaNo| kit_query(&prefix.user(*schema), *schema, &tables);
        let counted = client.query(&union(chunk.iter().map(query)), &[]).during(step)?;
        states.extend(counted.iter().filter_map(|row| kit_state(row, &tables, prefix)));
    }
    states.sort_by_key(|state| state.schema);
    // Streams may leave schemas that differ by a row.
    let least = |of: fn(&Load) -> u64| states.iter().map(|state| of(&state.load)).min().unwrap_or(0);
    let (scale, scan_blocks) = (least(|load| load.scale), least(|load| load.scan_blocks));
    for state in &mut states {
        state.load = Load { scale, scan_blocks, slice_rows: scale.max(1), ..state.load };
    }
    Ok(states)
}

fn kit_table<'a>(tables: &'a [Row], owner: &str, name: &str) -> Option<&'a Row> {
    tables.iter().find(|row| text(row, 0) == Some(owner) && text(row, 1) == Some(name))
}

fn kit_query(owner: &str, schema: SchemaNo, tables: &[Row]) -> String {
    let (count, scan_table) = match kit_table(tables, owner, SCAN) {
        Some(_) => ("COUNT(*)", format!("{owner}.cf2")),
        None => ("0", "dual".to_owned()),
    };
    let values =
        [("number", &*schema.to_string()), ("user", owner), ("count", count), ("scan_table", &scan_table)];
    fill(include_str!("../sql/kit_keys.sql"), &values)
}

fn kit_state(row: &Row, tables: &[Row], prefix: &Prefix) -> Option<SchemaState> {
    let schema = SchemaNo::new(u16::try_from(number(row, 0)?).ok()?)?;
    let (scale, scan_blocks) = (number(row, 1)?, number(row, 2)?);
    let main = kit_table(tables, &prefix.user(schema), MAIN);
    let used = main.and_then(|row| number(row, 3)).unwrap_or(scale);
    let load = Load { seed: 0, scale, scan_blocks, obfuscated: false, slice_rows: scale.max(1) };
    // Blocks below the high-water mark may be empty.
    let layout = Layout { rows: scale, row_blocks: used.min(scale), all_blocks: used + scan_blocks };
    Some(SchemaState { schema, load, filler_bytes: 0, state: LoadState::Complete(layout) })
}

pub(crate) fn refuse_kit(connections: &Connections, schema: SchemaNo, step: &str) -> Result<()> {
    if connections.options.accounts != Accounts::Kit {
        return Ok(());
    }
    let user = connections.user(schema);
    let message = format!("{user} is the original kit's: it is not made, loaded or dropped here");
    Err(EngineError::new(ErrorKind::Usage, step, message)
        .with_advice("unset ORACLE_ACCOUNTS to work with schemas of slob's own, or use the kit's scripts"))
}
