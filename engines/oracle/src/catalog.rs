//! What is on the server: our schemas, told by their marker, and what they remember of their load.

use slob_engine::{EngineError, ErrorKind, Layout, Load, LoadState, SchemaState, Slice};
use slob_method::{SchemaNo, Table};

use crate::client::{Bind, Client, Fault, Row};
use crate::connector::Connector;
use crate::error::failed;
use crate::kit;
use crate::names::Prefix;
use crate::options::Accounts;

/// Schemas that one query asks about: bounds its length.
const CHUNK: usize = 64;

/// 'invalid identifier'.
const NO_COLUMN: i32 = 904;

/// A schema of ours, and whether its account is ours too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub(crate) state: SchemaState,
    pub(crate) made_user: bool,
}

/// All schemas, in order.
///
/// # Errors
/// If the server can't be asked, or the only ones are damaged.
pub(crate) fn schemas(
    client: &mut dyn Client,
    connector: &Connector,
) -> Result<Vec<SchemaState>, EngineError> {
    let step = "listing schemas";
    if connector.accounts == Accounts::Kit {
        return kit::schemas(client, &connector.prefix, step);
    }
    let numbers = marked(client, &connector.prefix, step)?;
    let (mut read, mut unreadable) = (Vec::new(), Vec::new());
    for (number, known) in numbers.iter().zip(known(client, &connector.prefix, &numbers, step)?) {
        match known {
            Some(known) => read.push(known.state),
            None => unreadable.push(*number),
        }
    }
    let first = unreadable.first().copied().unwrap_or(SchemaNo::FIRST);
    SchemaState::with_damaged(read, &unreadable).ok_or_else(|| {
        damaged(&connector.prefix, first, step)
            .with_advice("a DBA must drop the account, then load it again with `slob setup`")
    })
}

/// Whether a load made the account of a schema that carries our marker, damaged or not.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's.
pub(crate) fn made_user(
    client: &mut dyn Client,
    connector: &Connector,
    number: SchemaNo,
    step: &str,
) -> Result<bool, EngineError> {
    match schema(client, connector, number, step) {
        Ok(known) => Ok(known.made_user),
        // The marker does not tell, but the password does: one of our making, for an account of ours.
        Err(error) if error.kind() == ErrorKind::Data => {
            connector.passwords.is_of_our_making(&connector.prefix.user(number))
        }
        Err(error) => Err(error),
    }
}

/// One schema.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none of that number, or it is somebody else's; [`ErrorKind::Data`] if its marker is
/// damaged.
pub(crate) fn schema(
    client: &mut dyn Client,
    connector: &Connector,
    schema: SchemaNo,
    step: &str,
) -> Result<Known, EngineError> {
    let found = if connector.accounts == Accounts::Kit {
        let states = kit::schemas(client, &connector.prefix, step)?;
        states.into_iter().find(|state| state.schema == schema).map(|state| Known { state, made_user: false })
    } else if marked(client, &connector.prefix, step)?.contains(&schema) {
        let known = known(client, &connector.prefix, &[schema], step)?.pop().flatten();
        Some(known.ok_or_else(|| damaged(&connector.prefix, schema, step))?)
    } else {
        None
    };
    found.ok_or_else(|| {
        let message = format!("the account {} holds no schema of slob's", connector.prefix.user(schema));
        EngineError::new(ErrorKind::Usage, step, message).with_advice(
            "load it with `slob setup`; if it is there, the account that looks must be allowed to SELECT from it",
        )
    })
}

/// The numbers of the schemas that carry our marker.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn marked(
    client: &mut dyn Client,
    prefix: &Prefix,
    step: &str,
) -> Result<Vec<SchemaNo>, EngineError> {
    let sql = include_str!("../sql/marked.sql");
    let rows =
        client.query(sql, &[Bind::Text(prefix.text().into())]).map_err(|fault| failed(step, &fault))?;
    let mut numbers: Vec<SchemaNo> =
        rows.into_iter().flatten().flatten().filter_map(|user| prefix.schema_of(&user)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// What marked schemas remember, in their order; `None` for each whose marker is damaged.
fn known(
    client: &mut dyn Client,
    prefix: &Prefix,
    schemas: &[SchemaNo],
    step: &str,
) -> Result<Vec<Option<Known>>, EngineError> {
    let mut all = Vec::with_capacity(schemas.len());
    for chunk in schemas.chunks(CHUNK) {
        match ask(client, prefix, chunk) {
            Ok(known) => all.extend(known),
            Err(fault) if fault.code == Some(NO_COLUMN) && chunk.len() == 1 => all.push(None),
            // One of them is of another form. The others must not be lost with it.
            Err(fault) if fault.code == Some(NO_COLUMN) => {
                for schema in chunk {
                    all.extend(known(client, prefix, &[*schema], step)?);
                }
            }
            Err(fault) => return Err(failed(step, &fault)),
        }
    }
    Ok(all)
}

/// The same of as many as one query may ask about.
fn ask(client: &mut dyn Client, prefix: &Prefix, schemas: &[SchemaNo]) -> Result<Vec<Option<Known>>, Fault> {
    let union = |text: &str| {
        let of = |schema: &SchemaNo| {
            let user = prefix.user(*schema);
            text.trim_end().replace("{number}", &schema.to_string()).replace("{user}", &user)
        };
        schemas.iter().map(of).collect::<Vec<_>>().join("\nUNION ALL\n")
    };
    let states = client.query(&union(include_str!("../sql/state.sql")), &[])?;
    let slices = client.query(&union(include_str!("../sql/slices.sql")), &[])?;
    let one = |schema: &SchemaNo| {
        let number = Some(schema.to_string());
        let row = states.iter().find(|row| row.first() == Some(&number))?;
        read(*schema, row, &slices)
    };
    Ok(schemas.iter().map(one).collect())
}

fn damaged(prefix: &Prefix, schema: SchemaNo, step: &str) -> EngineError {
    let message = format!("the load parameters in {} are missing or damaged", prefix.user(schema));
    EngineError::new(ErrorKind::Data, step, message)
        .with_advice("remove it with `slob drop`, then load it again with `slob setup`")
}

/// The columns of `state.sql` and `slices.sql`; `None` if they make no sense.
fn read(schema: SchemaNo, row: &Row, slices: &[Row]) -> Option<Known> {
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
    let state = match (number(row, 6), number(row, 7), number(row, 8)) {
        (Some(rows), Some(row_blocks), Some(all_blocks)) => {
            LoadState::Complete(Layout { rows, row_blocks, all_blocks })
        }
        _ => {
            let there = |slice: &Slice| {
                let mark = mark(slice);
                slices.iter().any(|row| {
                    number(row, 0) == Some(schema.get().into())
                        && mark
                            .iter()
                            .enumerate()
                            .all(|(column, value)| number(row, column + 1) == Some(*value))
                })
            };
            LoadState::Begun(load.slices(schema).filter(there).collect())
        }
    };
    let made_user = number(row, 9)? != 0;
    Some(Known { state: SchemaState { schema, load, filler_bytes: 0, state }, made_user })
}

/// What a slice is marked with.
pub(crate) fn mark(slice: &Slice) -> [u64; 3] {
    [u64::from(slice.table == Table::Scan), slice.positions.start, slice.positions.end]
}

/// A whole number of a row; a fraction, which a mean may have, is cut off.
pub(crate) fn number(row: &Row, column: usize) -> Option<u64> {
    let text = row.get(column)?.as_deref()?;
    text.parse()
        .ok()
        .or_else(|| text.parse::<f64>().ok().filter(|value| *value >= 0.0).map(|value| value as u64))
}

/// A text of a row.
pub(crate) fn text(row: &Row, column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}
