//! Rows in the form of COPY BINARY (PostgreSQL's documentation of COPY, 'Binary Format'), and reading them back.

use std::error::Error;
use std::ops::Range;

use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{FromSql, ToSql, Type};
use postgres::{Client, Row};
use slob_engine::{EngineError, ErrorKind, Load, Result, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, RowView, Table};
use slob_server::{SliceRows, chunks, column_list};

use crate::catalog;
use crate::connect::guard::AnyLength;
use crate::sql::{InStep, failed, table as name_of};

/// Signature, flags and no header extension.
pub(crate) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
pub(crate) const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();
/// Count of fields; custid with its length; each column with its length.
const ROW_COPY_BYTES: usize = 2 + (4 + 8) + COLUMNS * (4 + COLUMN_BYTES);
/// Keys of one query.
const CHUNK: u64 = 256;

pub(crate) struct CopyRows {
    rows: SliceRows,
    buffer: Vec<u8>,
}

impl CopyRows {
    pub(crate) fn new(load: &Load, slice: &Slice) -> Self {
        Self { rows: SliceRows::new(load, slice, 0), buffer: Vec::new() }
    }

    pub(crate) fn rows(&mut self, positions: Range<u64>) -> &[u8] {
        const FIELDS: [u8; 2] = (1 + COLUMNS as i16).to_be_bytes();
        const KEY_LENGTH: [u8; 4] = 8_i32.to_be_bytes();
        const COLUMN_LENGTH: [u8; 4] = (COLUMN_BYTES as i32).to_be_bytes();
        self.buffer.clear();
        for position in positions {
            let custid = self.rows.fill(position);
            self.buffer.reserve(ROW_COPY_BYTES);
            self.buffer.extend_from_slice(&FIELDS);
            self.buffer.extend_from_slice(&KEY_LENGTH);
            self.buffer.extend_from_slice(&custid.to_be_bytes());
            for column in self.rows.text.as_chunks::<COLUMN_BYTES>().0 {
                self.buffer.extend_from_slice(&COLUMN_LENGTH);
                self.buffer.extend_from_slice(column);
            }
        }
        &self.buffer
    }
}

/// The scan table has no index and is read as a whole.
pub(crate) fn read_rows(
    client: &mut Client,
    slice: &Slice,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<()> {
    let &Slice { schema, table, ref positions } = slice;
    let name = name_of(schema, table);
    let step = format!("reading {name}");
    let load = catalog::schema(client, schema, &step)?.load;
    let select = format!("SELECT custid, {} FROM {name} WHERE custid", column_list());
    match table {
        Table::Scan => {
            let Some(all) = chunks(positions, load.rows(table), u64::MAX).next() else { return Ok(()) };
            let (first, end) = (all.start.cast_signed(), all.end.cast_signed());
            let sql = format!("{select} >= $1 AND custid < $2");
            visit_rows(
                client,
                &sql,
                &[&first, &end],
                (&step, most(all.end - all.start)),
                |custid| custid,
                visit,
            )
        }
        Table::Main => {
            let scatter = load.scatter(schema);
            for chunk in chunks(positions, load.rows(table), CHUNK) {
                let most = most(chunk.end - chunk.start);
                let keys: Vec<i64> = chunk.map(|position| scatter.key_at(position).cast_signed()).collect();
                let (sql, position_of) =
                    (format!("{select} = ANY ($1)"), |custid| scatter.position_of_any(custid));
                visit_rows(client, &sql, &[&keys], (&step, most), position_of, visit)?;
            }
            Ok(())
        }
    }
}

/// Damaged tables may return keys more than once.
fn most(keys: u64) -> u64 {
    keys.saturating_mul(2) + 1000
}

fn visit_rows(
    client: &mut Client,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
    (step, most): (&str, u64),
    position_of: impl Fn(u64) -> u64,
    visit: &mut dyn FnMut(&RowView<'_>),
) -> Result<()> {
    // Damaged lengths are XX000, damaged letters class 22, damaged blocks class 58. A lock that is not granted (55P03) is no
    // damage.
    let fail = |error: postgres::Error| {
        let classes = ["XX", "22", "54", "58"];
        let is_damage =
            error.code().is_some_and(|code| classes.iter().any(|class| code.code().starts_with(class)));
        let failure = failed(step, &error);
        if is_damage { failure.with_kind(ErrorKind::Data) } else { failure }
    };
    let _any_length = AnyLength::begin();
    let mut rows = client.query_raw(sql, parameters.iter().copied()).map_err(fail)?;
    let mut visited = 0;
    while let Some(row) = rows.next().map_err(fail)? {
        visited += 1;
        if visited > most {
            let message = format!("more than {most} rows came");
            return Err(EngineError::new(ErrorKind::Data, step, message));
        }
        let custid = row.try_get::<_, i64>(0).in_step(step)?.cast_unsigned();
        let columns = texts(&row).in_step(step)?;
        visit(&RowView { position: position_of(custid), custid, columns, filler: &[] });
    }
    Ok(())
}

/// A damaged text need not be letters.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql<'_>>::accepts(kind)
    }
}

/// NULL becomes an empty text, which no verification accepts.
fn texts(row: &Row) -> Result<[&[u8]; COLUMNS], postgres::Error> {
    let mut columns = [&[][..]; COLUMNS];
    for (i, column) in columns.iter_mut().enumerate() {
        *column = row.try_get::<_, Option<Raw<'_>>>(i + 1)?.map_or(&[][..], |text| text.0);
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::{ROW_BYTES, SchemaNo};

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: false, slice_rows: 40 };

    #[test]
    fn rows_are_keys_and_columns_with_their_lengths() {
        let slice = LOAD.slices(SchemaNo::FIRST).nth(1).unwrap();
        let mut rows = CopyRows::new(&LOAD, &slice);
        let bytes = rows.rows(slice.positions).to_vec();
        assert_eq!(bytes.len(), 40 * ROW_COPY_BYTES);
        let row = &bytes[ROW_COPY_BYTES..2 * ROW_COPY_BYTES];
        let custid = LOAD.scatter(SchemaNo::FIRST).key_at(42);
        assert_eq!(row[..6], [0, 20, 0, 0, 0, 8]);
        assert_eq!(row[6..14], custid.to_be_bytes());
        let mut text = [0; ROW_BYTES];
        LOAD.content().fill_row(Table::Main, SchemaNo::FIRST, custid, &mut text);
        assert_eq!(row[14..18], [0, 0, 0, 128]);
        assert_eq!(row[18..146], text[..128]);
        assert_eq!(row[ROW_COPY_BYTES - 128..], text[ROW_BYTES - 128..]);
    }

    #[test]
    fn keys_of_the_scan_table_are_positions() {
        let slice = LOAD.slices(SchemaNo::FIRST).last().unwrap();
        let mut rows = CopyRows::new(&LOAD, &slice);
        assert_eq!(rows.rows(7..8)[6..14], 7_u64.to_be_bytes());
    }
}
