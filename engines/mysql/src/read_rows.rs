//! Reading rows back.

use std::ops::Range;

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use slob_engine::{EngineError, ErrorKind};
use slob_method::{COLUMNS, RowView, SchemaNo, Table};
use slob_server::chunks;

use crate::catalog::{self, get};
use crate::error::failed;
use crate::layout::{pos, position};
use crate::names::{loaded_columns, table as name_of};

/// Positions that one query asks for.
const CHUNK: u64 = 1024;

/// Reads the rows at `positions`, in the order of the table.
///
/// # Errors
/// If the table can't be read.
pub(crate) fn read_rows(
    conn: &mut Conn,
    schema: SchemaNo,
    table: Table,
    positions: &Range<u64>,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<(), EngineError> {
    let name = name_of(schema, table);
    let step = format!("reading {name}");
    let load = catalog::schema(conn, schema, &step)?.load;
    let sql =
        format!("SELECT {} FROM {name} WHERE pos >= ? AND pos < ? AND custid IS NOT NULL", loaded_columns());
    for Range { start, end } in chunks(positions, load.rows(table), CHUNK) {
        let rows = conn.exec_iter(&sql, (pos(start), pos(end))).map_err(|error| failed(&step, &error))?;
        for row in rows {
            view(&row.map_err(|error| failed(&step, &error))?, &step, visit)?;
        }
    }
    Ok(())
}

fn view(row: &Row, step: &str, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<(), EngineError> {
    let mut columns = [&[][..]; COLUMNS];
    for (i, column) in columns.iter_mut().enumerate() {
        *column = bytes(row, i + 2, step)?;
    }
    let filler = bytes(row, COLUMNS + 2, step)?;
    visit(&RowView { position: position(get(row, 0, step)?), custid: get(row, 1, step)?, columns, filler });
    Ok(())
}

/// The bytes of a text; an absent one is an empty one, which no verification takes for sound.
fn bytes<'a>(row: &'a Row, column: usize, step: &str) -> Result<&'a [u8], EngineError> {
    match row.as_ref(column) {
        Some(Value::Bytes(bytes)) => Ok(bytes),
        Some(Value::NULL) => Ok(&[]),
        _ => Err(EngineError::new(ErrorKind::Data, step, format!("column {} is no text", column + 1))),
    }
}
