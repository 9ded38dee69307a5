//! Rows: one in each page, where InnoDB would put two.
//!
//! No setting of InnoDB leaves a page emptier than two rows. But a full page splits where the new row belongs. A *sentinel*, a
//! row of nearly half a page, follows the place where ascending rows arrive, and two of these do not fit beside it. So each split
//! leaves one row behind and carries the sentinel on. Each slice lies between two sentinels, which have no key and no text, so
//! that no operation sees them.

use std::fmt::Write;
use std::ops::Range;

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use slob_engine::{EngineError, ErrorKind, Result, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowView};
use slob_server::{SliceRows, chunks};

use crate::catalog;
use crate::sql::{InStep, loaded_columns, table as name_of};

/// Header, lengths, keys, and what InnoDB adds.
const ROW_OVERHEAD: usize = 5 + 1 + COLUMNS + 2 + 8 + 8 + 6 + 7;

#[derive(Clone, Copy)]
pub(crate) struct RowLayout {
    page: usize,
}

impl RowLayout {
    /// Pages that can't have one row each are an error of [`ErrorKind::Usage`].
    pub(crate) fn of_page(bytes: u32, step: &str) -> Result<Self> {
        let what = match bytes {
            8192 | 16_384 | 32_768 => return Ok(Self { page: bytes as usize }),
            4096 => "a row of 2,432 bytes of text, where InnoDB takes no more than half a page",
            _ => "one row in each page, since no row may be as long as half of it",
        };
        Err(EngineError::new(ErrorKind::Usage, step, format!("pages of {bytes} bytes can't hold {what}"))
            .with_advice("use a server with innodb_page_size=16k (the default), 8k or 32k"))
    }

    /// Two rows and a sentinel exceed a page; one and a sentinel do not.
    pub(crate) fn filler_bytes(self) -> usize {
        (self.page / 4 + 128).saturating_sub(ROW_BYTES + ROW_OVERHEAD)
    }

    /// The longest row that fits twice, with a margin.
    pub(crate) fn sentinel_bytes(self) -> usize {
        self.page / 2 - 240
    }
}

/// The page of the first sentinel. All others lie beside a row.
pub(crate) const PAGES_WITHOUT_ROWS: u64 = 1;

/// Leaves two places for sentinels between neighbours.
fn pos(position: u64) -> u64 {
    3 * position
}

fn position(pos: u64) -> u64 {
    pos / 3
}

/// Ascending.
pub(crate) fn sentinels(slices: impl Iterator<Item = Range<u64>>) -> impl Iterator<Item = u64> {
    [0].into_iter().chain(slices.flat_map(|slice| [pos(slice.start) - 1, pos(slice.end) - 2]))
}

pub(crate) fn values(rows: &mut SliceRows, position: u64) -> Vec<Value> {
    let custid = rows.fill(position);
    let mut values = Vec::with_capacity(COLUMNS + 3);
    values.extend([Value::UInt(pos(position)), Value::UInt(custid)]);
    let columns = rows.text.as_chunks::<COLUMN_BYTES>().0.iter();
    values.extend(columns.map(|column| Value::Bytes(column.to_vec())));
    values.push(Value::Bytes(rows.filler.clone()));
    values
}

/// No character of the texts needs an escape.
pub(crate) fn value_list(rows: &mut SliceRows, positions: Range<u64>) -> String {
    let mut sql = String::with_capacity((ROW_BYTES + rows.filler.len() + 100) * 64);
    for position in positions {
        let custid = rows.fill(position);
        let separator = if sql.is_empty() { "" } else { "," };
        let _ = write!(sql, "{separator}({},{custid}", pos(position));
        let columns = rows.text.as_chunks::<COLUMN_BYTES>().0.iter().map(|text| &text[..]);
        for text in columns.chain([&rows.filler[..]]) {
            sql.push_str(",'");
            sql.extend(text.iter().map(|byte| char::from(*byte)));
            sql.push('\'');
        }
        sql.push(')');
    }
    sql
}

/// Rows of one query.
const CHUNK: u64 = 1024;

pub(crate) fn read_rows(conn: &mut Conn, slice: &Slice, visit: &mut dyn FnMut(&RowView<'_>)) -> Result<()> {
    let &Slice { schema, table, ref positions } = slice;
    let name = name_of(schema, table);
    let step = &format!("reading {name}");
    let load = catalog::schema(conn, schema, step)?.load;
    let sql =
        format!("SELECT {} FROM {name} WHERE pos >= ? AND pos < ? AND custid IS NOT NULL", loaded_columns());
    for Range { start, end } in chunks(positions, load.rows(table), CHUNK) {
        for row in conn.exec_iter(&sql, (pos(start), pos(end))).in_step(step)? {
            let row = row.in_step(step)?;
            let mut columns = [&[][..]; COLUMNS];
            for (i, column) in columns.iter_mut().enumerate() {
                *column = text(&row, i + 2, step)?;
            }
            let filler = text(&row, COLUMNS + 2, step)?;
            let (position, custid) = (position(number(&row, 0, step)?), number(&row, 1, step)?);
            visit(&RowView { position, custid, columns, filler });
        }
    }
    Ok(())
}

fn number(row: &Row, column: usize, step: &str) -> Result<u64> {
    row.get_opt(column)
        .and_then(Result::ok)
        .ok_or_else(|| EngineError::new(ErrorKind::Data, step, format!("column {} is no number", column + 1)))
}

/// NULL becomes an empty text, which no verification accepts.
fn text<'a>(row: &'a Row, column: usize, step: &str) -> Result<&'a [u8]> {
    match row.as_ref(column) {
        Some(Value::Bytes(bytes)) => Ok(bytes),
        Some(Value::NULL) => Ok(&[]),
        _ => Err(EngineError::new(ErrorKind::Data, step, format!("column {} is no text", column + 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::Load;
    use slob_method::SchemaNo;

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: true, slice_rows: 40 };

    #[test]
    fn values_and_list_are_the_same_row() {
        let slice = LOAD.slices(SchemaNo::FIRST).nth(1).unwrap();
        let mut rows = SliceRows::new(&LOAD, &slice, 300);
        let values = values(&mut rows, 42);
        let custid = LOAD.scatter(SchemaNo::FIRST).key_at(42);
        assert_eq!(values[..2], [Value::UInt(126), Value::UInt(custid)]);
        let list: Vec<String> = values.iter().map(|value| value.as_sql(true)).collect();
        assert_eq!(value_list(&mut rows, 42..43), format!("({})", list.join(",")));
        assert_eq!(value_list(&mut rows, 42..44).matches("),(").count(), 1);
        assert!(list.len() == COLUMNS + 3 && list.last().unwrap().len() == 302);
    }

    #[test]
    fn keys_of_the_scan_table_are_positions() {
        let slice = LOAD.slices(SchemaNo::FIRST).last().unwrap();
        assert_eq!(values(&mut SliceRows::new(&LOAD, &slice, 0), 7)[1], Value::UInt(7));
    }

    /// A page without its rows: headers, trailer, the two boundary records, the directory.
    const PAGE_OVERHEAD: usize = 38 + 56 + 26 + 8 + 4;

    #[test]
    fn two_rows_and_a_sentinel_do_not_fit_and_one_does() {
        for page in [8192, 16_384, 32_768] {
            let layout = RowLayout::of_page(page, "test").unwrap();
            let room = page as usize - PAGE_OVERHEAD;
            let row = ROW_BYTES + ROW_OVERHEAD + layout.filler_bytes();
            let sentinel = layout.sentinel_bytes() + 40;
            assert!(2 * row + sentinel > room && row + sentinel < room, "{page}: {row} {sentinel}");
            assert!(2 * sentinel < room && 2 * sentinel + row > room, "{page}: two sentinels fill a page");
            // The limit of the server: half a page without its headers.
            assert!(sentinel < room / 2 && row < room / 2, "{page}: {row} {sentinel}");
        }
        assert!([4096, 65_536].into_iter().all(|page| RowLayout::of_page(page, "test").is_err()));
    }

    #[test]
    fn sentinels_lie_around_the_slices() {
        let keys: Vec<u64> = sentinels([1..5, 5..8].into_iter()).collect();
        assert_eq!(keys, [0, 2, 13, 14, 22]);
        assert_eq!((pos(1), pos(4), pos(5), pos(7)), (3, 12, 15, 21));
        assert_eq!(position(pos(7)), 7);
    }
}
