//! Names on the server.

use slob_method::{SchemaNo, Table};

/// How the comment of the table that marks a schema of ours begins: with its name, the marker.
pub(crate) const COMMENT: &str = "OpenSLOB";
/// The table that remembers a load, and marks a database as ours.
pub(crate) const MARKER: &str = "slob_load";
/// The table that remembers which slices are in place.
pub(crate) const SLICES: &str = "slob_slice";
/// The name of the unique index on the keys of the main table.
pub(crate) const INDEX: &str = "i_cf1";

/// The database of a schema, as its plain name.
pub(crate) fn plain(schema: SchemaNo) -> String {
    format!("slob{schema}")
}

/// The database of a schema, quoted.
pub(crate) fn database(schema: SchemaNo) -> String {
    format!("`slob{schema}`")
}

/// A table of a schema, qualified and quoted.
pub(crate) fn table(schema: SchemaNo, table: Table) -> String {
    format!("{}.`{}`", database(schema), table.name())
}

/// The number of the schema that a database's name stands for.
pub(crate) fn schema_of(name: &str) -> Option<SchemaNo> {
    let schema = name.strip_prefix("slob")?.parse().ok().and_then(SchemaNo::new)?;
    // Not slob01 or slob+1, which are nobody's.
    (plain(schema) == name).then_some(schema)
}

/// The names c2 to c20.
pub(crate) fn columns() -> impl Iterator<Item = String> {
    (2..2 + slob_method::COLUMNS).map(|number| format!("c{number}"))
}

/// The columns that a load fills, as a list for SQL.
pub(crate) fn loaded_columns() -> String {
    let columns: Vec<String> = columns().collect();
    format!("pos, custid, {}, filler", columns.join(", "))
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
    fn there_are_nineteen_columns() {
        let columns = loaded_columns();
        assert!(columns.starts_with("pos, custid, c2, c3, ") && columns.ends_with(", c20, filler"));
    }
}
