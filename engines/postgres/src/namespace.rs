//! Names on the server.

use slob_method::{SchemaNo, Table};

/// How the comment of every schema of ours begins: together with its name, the marker.
pub(crate) const COMMENT: &str = "OpenSLOB";
/// The name of the unique index on the keys of the main table.
pub(crate) const INDEX: &str = "i_cf1";

/// The namespace of a schema, quoted.
pub(crate) fn namespace(schema: SchemaNo) -> String {
    format!("\"slob{schema}\"")
}

/// A table of a schema, qualified and quoted.
pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.\"{}\"", namespace(schema), table.name())
}

/// The number of the schema that a namespace's name stands for.
pub(crate) fn schema_of(name: &str) -> Option<SchemaNo> {
    let schema = name.strip_prefix("slob")?.parse().ok().and_then(SchemaNo::new)?;
    // Not slob01 or slob+1, which are nobody's.
    (format!("slob{schema}") == name).then_some(schema)
}

/// Any name, quoted as an identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The names c2 to c20.
pub(crate) fn columns() -> impl Iterator<Item = String> {
    (2..2 + slob_method::COLUMNS).map(|number| format!("c{number}"))
}

/// Names as a list for SQL.
pub(crate) fn column_list() -> String {
    columns().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_names_are_schemas() {
        let number = |name: &str| schema_of(name).map(SchemaNo::get);
        assert_eq!((number("slob7"), number("slob4096")), (Some(7), Some(4096)));
        for name in ["slob07", "slob0", "slob", "slob+1", "xslob1", "slob1 ", "Slob1", "slob99999"] {
            assert_eq!(number(name), None, "{name}");
        }
    }

    #[test]
    fn quotes_cannot_be_escaped_from() {
        assert_eq!(quoted("fast disks"), "\"fast disks\"");
        assert_eq!(quoted("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
    }

    #[test]
    fn there_are_nineteen_columns() {
        assert!(column_list().starts_with("c2, c3, ") && column_list().ends_with(", c20"));
        assert_eq!(columns().count(), 19);
    }
}
