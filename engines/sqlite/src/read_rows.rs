//! Reading rows back for verification.

use std::ops::Range;

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row, Statement};
use slob_engine::EngineError;
use slob_method::{COLUMNS, RowView, Table};

use crate::schema_file::{SchemaFile, signed};

/// Visits the rows at `positions` in order. Rows that lie in damaged pages are missing, the others are visited.
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
    let mut next = positions.start;
    while next < positions.end {
        match read(&mut statement, &mut next, positions.end, visit) {
            Ok(()) => return Ok(()),
            // SQLite stops at a malformed page. Behind it may be others.
            Err(error) if is_damage(&error) => next += 1,
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

/// Visits the rows from position `next` on, and keeps in it where to go on.
fn read(
    statement: &mut Statement<'_>,
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

/// Whether what was read is not what SQLite, or we, wrote there.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(code) => matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
        // A key that is no integer.
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

/// The bytes of a text or blob; what is neither has none, and will not pass for a row of ours.
fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    }
}
