//! The rows of a load, as the server takes them.

use std::fmt::Write;
use std::ops::Range;

use mysql::Value;
use slob_engine::{Load, Slice};
use slob_method::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Scatter, SchemaNo, Table};

use crate::layout::pos;

/// Makes the rows of a slice.
pub(crate) struct Rows {
    content: RowContent,
    scatter: Option<Scatter>,
    schema: SchemaNo,
    table: Table,
    text: Box<[u8; ROW_BYTES]>,
    filler: Vec<u8>,
}

impl Rows {
    /// For the rows of a slice, with so many bytes of filler.
    pub(crate) fn new(load: &Load, slice: &Slice, filler_bytes: usize) -> Self {
        let Slice { schema, table, .. } = *slice;
        let scatter = (table == Table::Main).then(|| load.scatter(schema));
        let (text, filler) = (Box::new([0; ROW_BYTES]), vec![0; filler_bytes]);
        Self { content: load.content(), scatter, schema, table, text, filler }
    }

    /// The row at a position as the values of a prepared statement.
    pub(crate) fn values(&mut self, position: u64) -> Vec<Value> {
        let custid = self.make(position);
        let mut values = Vec::with_capacity(COLUMNS + 3);
        values.extend([Value::UInt(pos(position)), Value::UInt(custid)]);
        let columns = self.text.as_chunks::<COLUMN_BYTES>().0.iter();
        values.extend(columns.map(|column| Value::Bytes(column.to_vec())));
        values.push(Value::Bytes(self.filler.clone()));
        values
    }

    /// Some rows as the list of an INSERT. No character of the texts needs an escape.
    pub(crate) fn list(&mut self, positions: Range<u64>) -> String {
        let mut sql = String::with_capacity((ROW_BYTES + self.filler.len() + 100) * 64);
        for position in positions {
            let custid = self.make(position);
            let separator = if sql.is_empty() { "" } else { "," };
            // Writing into memory does not fail.
            let _ = write!(sql, "{separator}({},{custid}", pos(position));
            for text in self.text.as_chunks::<COLUMN_BYTES>().0.iter().map(|text| &text[..]) {
                push_text(&mut sql, text);
            }
            push_text(&mut sql, &self.filler);
            sql.push(')');
        }
        sql
    }

    /// Makes the row at a position, and returns its key.
    fn make(&mut self, position: u64) -> u64 {
        let custid = self.scatter.as_ref().map_or(position, |scatter| scatter.key_at(position));
        self.content.fill_row(self.table, self.schema, custid, &mut self.text);
        self.content.fill_filler(self.table, self.schema, custid, &mut self.filler);
        custid
    }
}

fn push_text(sql: &mut String, text: &[u8]) {
    sql.push_str(",'");
    sql.extend(text.iter().map(|byte| char::from(*byte)));
    sql.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: true, slice_rows: 40 };

    #[test]
    fn values_and_list_are_the_same_row() {
        let slice = LOAD.slices(SchemaNo::FIRST).nth(1).unwrap();
        let mut rows = Rows::new(&LOAD, &slice, 300);
        let values = rows.values(42);
        let custid = LOAD.scatter(SchemaNo::FIRST).key_at(42);
        assert_eq!(values[..2], [Value::UInt(126), Value::UInt(custid)]);
        let list: Vec<String> = values.iter().map(|value| value.as_sql(true)).collect();
        assert_eq!(rows.list(42..43), format!("({})", list.join(",")));
        assert_eq!(rows.list(42..44).matches("),(").count(), 1);
        assert!(list.len() == COLUMNS + 3 && list.last().unwrap().len() == 302);
    }

    #[test]
    fn keys_of_the_scan_table_are_positions() {
        let slice = LOAD.slices(SchemaNo::FIRST).last().unwrap();
        assert_eq!(Rows::new(&LOAD, &slice, 0).values(7)[1], Value::UInt(7));
    }
}
