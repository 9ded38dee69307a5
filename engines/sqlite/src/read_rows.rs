//! Reading rows back for verification.

use std::ops::Range;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use slob_engine::EngineError;
use slob_method::{COLUMNS, RowView, Table};

use crate::schema_file::{SchemaFile, signed};

/// Visits the rows at `positions` in order.
///
/// # Errors
/// If the file is not ours or can't be read.
pub(crate) fn read_rows(
    file: &SchemaFile<'_>,
    table: Table,
    positions: Range<u64>,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<(), EngineError> {
    file.own_state()?;
    let sql = match table {
        Table::Main => include_str!("../sql/read_main.sql"),
        Table::Scan => include_str!("../sql/read_scan.sql"),
    };
    let failed = |error: rusqlite::Error| file.failed("reading rows of", &error);
    let mut statement = file.connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([signed(positions.start), signed(positions.end)]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        visit(&view(row).map_err(failed)?);
    }
    Ok(())
}

fn view<'a>(row: &'a Row<'_>) -> rusqlite::Result<RowView<'a>> {
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let mut columns = [&[][..]; COLUMNS];
    for (i, column) in columns.iter_mut().enumerate() {
        *column = bytes(row.get_ref(i + 2)?);
    }
    let filler = bytes(row.get_ref(COLUMNS + 2)?);
    Ok(RowView { position: number(0)?, custid: number(1)?, columns, filler })
}

/// The bytes of a text or blob; what is neither has none, and will not pass for a row of ours.
fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    }
}
