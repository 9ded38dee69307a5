//! Names on the servers.

use slob_method::SchemaNo;

/// How the comment on what marks a schema of ours begins.
pub const COMMENT: &str = "OpenSLOB";
/// The table that remembers a load.
pub const MARKER: &str = "slob_load";
/// The table that remembers which slices are in place.
pub const SLICES: &str = "slob_slice";
/// The unique index on the keys of the main table.
pub const INDEX: &str = "i_cf1";

/// What a schema is called, unquoted.
#[must_use]
pub fn plain(schema: SchemaNo) -> String {
    format!("slob{schema}")
}

/// The number of the schema that a name stands for.
#[must_use]
pub fn schema_of(name: &str) -> Option<SchemaNo> {
    let schema = name.strip_prefix("slob")?.parse().ok().and_then(SchemaNo::new)?;
    // Not slob01 or slob+1, which are nobody's.
    (plain(schema) == name).then_some(schema)
}

/// The names c2 to c20.
pub fn columns() -> impl Iterator<Item = String> {
    (2..2 + slob_method::COLUMNS).map(|number| format!("c{number}"))
}

/// The same as a list for SQL.
#[must_use]
pub fn column_list() -> String {
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
    fn there_are_nineteen_columns() {
        assert!(column_list().starts_with("c2, c3, ") && column_list().ends_with(", c20"));
        assert_eq!(columns().count(), 19);
    }
}
