//! Rows in the form of COPY BINARY (PostgreSQL's documentation of COPY, 'Binary Format').

use std::ops::Range;

use slob_engine::{Load, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Scatter, SchemaNo, Table};

/// Signature, flags and the length of a header extension that is not there.
pub(crate) const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The end of the data.
pub(crate) const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

/// Count of fields; custid with its length; each column with its length.
const ROW_COPY_BYTES: usize = 2 + (4 + 8) + COLUMNS * (4 + COLUMN_BYTES);

/// Makes the rows of a slice, in a buffer that is used again and again.
pub(crate) struct CopyRows {
    content: RowContent,
    scatter: Option<Scatter>,
    schema: SchemaNo,
    table: Table,
    text: Box<[u8; ROW_BYTES]>,
    buffer: Vec<u8>,
}

impl CopyRows {
    /// For the rows of a slice.
    pub(crate) fn new(load: &Load, slice: &Slice) -> Self {
        let Slice { schema, table, .. } = *slice;
        let scatter = (table == Table::Main).then(|| load.scatter(schema));
        let text = Box::new([0; ROW_BYTES]);
        Self { content: load.content(), scatter, schema, table, text, buffer: Vec::new() }
    }

    /// The rows at some positions, one after the other.
    pub(crate) fn rows(&mut self, positions: Range<u64>) -> &[u8] {
        self.buffer.clear();
        for position in positions {
            let custid = self.scatter.as_ref().map_or(position, |scatter| scatter.key_at(position));
            self.push(custid);
        }
        &self.buffer
    }

    fn push(&mut self, custid: u64) {
        const FIELDS: [u8; 2] = (1 + COLUMNS as i16).to_be_bytes();
        const KEY_LENGTH: [u8; 4] = 8_i32.to_be_bytes();
        const COLUMN_LENGTH: [u8; 4] = (COLUMN_BYTES as i32).to_be_bytes();
        self.content.fill_row(self.table, self.schema, custid, &mut self.text);
        self.buffer.reserve(ROW_COPY_BYTES);
        self.buffer.extend_from_slice(&FIELDS);
        self.buffer.extend_from_slice(&KEY_LENGTH);
        self.buffer.extend_from_slice(&custid.to_be_bytes());
        for column in self.text.as_chunks::<COLUMN_BYTES>().0 {
            self.buffer.extend_from_slice(&COLUMN_LENGTH);
            self.buffer.extend_from_slice(column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
