//! Names on the server.

use slob_method::{SchemaNo, Table};
use slob_server::names::plain;

/// The namespace of a schema, quoted.
pub(crate) fn namespace(schema: SchemaNo) -> String {
    quoted(&plain(schema))
}

/// A table of a schema, qualified and quoted.
pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.\"{}\"", namespace(schema), table.name())
}

/// Any name, quoted as an identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_cannot_be_escaped_from() {
        assert_eq!(quoted("fast disks"), "\"fast disks\"");
        assert_eq!(quoted("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
    }
}
