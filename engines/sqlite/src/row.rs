//! A row as it is stored: its bytes, and why there are so many of them.

use slob_engine::Load;
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, SchemaNo, Table};

use crate::statement::Value;

/// Bytes of filler in each row.
///
/// A leaf of 8,192 bytes has 8 bytes of header and 2 for each row's place, and a row has up to 12 bytes in front of
/// its payload. Two rows do not fit if their payload is more than 4,081 bytes each; a row stays on its page up to
/// 8,157. 2,432 bytes of columns, at least 45 of record header and keys, and these are about 4,180.
pub(crate) const FILLER_BYTES: usize = 1700;

/// Parameters of the INSERT: id, custid, c2 to c20, filler.
pub(crate) const PARAMETERS: usize = COLUMNS + 3;

/// The memory in which rows are made.
pub(crate) struct RowBuffer {
    content: RowContent,
    schema: SchemaNo,
    columns: Box<[u8; ROW_BYTES]>,
    filler: [u8; FILLER_BYTES],
}

impl RowBuffer {
    pub(crate) fn new(load: &Load, schema: SchemaNo) -> Self {
        let columns = Box::new([0; ROW_BYTES]);
        Self { content: load.content(), schema, columns, filler: [0; FILLER_BYTES] }
    }

    /// The parameters that insert the row of `custid` at `position`.
    pub(crate) fn fill(&mut self, table: Table, position: i64, custid: u64) -> [Value<'_>; PARAMETERS] {
        self.content.fill_row(table, self.schema, custid, &mut self.columns);
        self.content.fill_filler(table, self.schema, custid, &mut self.filler);
        let (columns, _) = self.columns.as_chunks::<COLUMN_BYTES>();
        std::array::from_fn(|i| match i {
            0 => Value::Int(position),
            1 => Value::Int(custid.cast_signed()),
            i => columns.get(i - 2).map_or(Value::Blob(&self.filler), |column| Value::Text(column)),
        })
    }
}
