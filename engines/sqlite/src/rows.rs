//! Rows: how they are stored, and reading them back for verification.

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row};
use slob_engine::{Result, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, RowView, Table};
use slob_server::SliceRows;

use crate::schema_file::{SchemaFile, signed};
use crate::statement::Value;

/// The parameters of the INSERT: id, custid, c2 to c20, filler.
pub(crate) fn values(rows: &SliceRows, position: i64, custid: u64) -> [Value<'_>; COLUMNS + 3] {
    let (columns, _) = rows.text.as_chunks::<COLUMN_BYTES>();
    std::array::from_fn(|i| match i {
        0 => Value::Int(position),
        1 => Value::Int(custid.cast_signed()),
        i => columns.get(i - 2).map_or(Value::Blob(&rows.filler), |column| Value::Text(column)),
    })
}

pub(crate) fn read_rows(
    file: &SchemaFile<'_>,
    slice: &Slice,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<()> {
    file.own_state()?;
    let sql = match slice.table {
        Table::Main => include_str!("../sql/read_main.sql"),
        Table::Scan => include_str!("../sql/read_scan.sql"),
    };
    let failed = |error: rusqlite::Error| file.failed("reading rows of", &error);
    let mut statement = file.connection.prepare(sql).map_err(failed)?;
    let mut next = slice.positions.start;
    while next < slice.positions.end {
        match read(&mut statement, &mut next, slice.positions.end, visit) {
            Ok(()) => return Ok(()),
            // SQLite stops at a malformed page; rows may follow it.
            Err(error) if is_damage(&error) => next += 1,
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

fn read(
    statement: &mut rusqlite::Statement<'_>,
    next: &mut u64,
    end: u64,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> rusqlite::Result<()> {
    let mut rows = statement.query([signed(*next), signed(end)])?;
    while let Some(row) = rows.next()? {
        let row = view(row)?;
        visit(&row);
        *next = (*next).max(row.position + 1);
    }
    Ok(())
}

fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
        // A key is not an integer.
        None => matches!(error, rusqlite::Error::InvalidColumnType(..)),
    }
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

fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    }
}
