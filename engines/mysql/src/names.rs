//! Names on the server.

use slob_method::{SchemaNo, Table};
use slob_server::names::{column_list, plain};

/// The database of a schema, quoted.
pub(crate) fn database(schema: SchemaNo) -> String {
    format!("`{}`", plain(schema))
}

/// A table of a schema, qualified and quoted.
pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.`{}`", database(schema), table.name())
}

/// The columns that a load fills, as a list for SQL.
pub(crate) fn loaded_columns() -> String {
    format!("pos, custid, {}, filler", column_list())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_a_load_fills_all_columns() {
        assert_eq!(table(SchemaNo::FIRST, Table::Main), "`slob1`.`cf1`");
        let columns = loaded_columns();
        assert!(columns.starts_with("pos, custid, c2, c3, ") && columns.ends_with(", c20, filler"));
    }
}
