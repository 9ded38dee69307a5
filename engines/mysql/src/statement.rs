//! The statements of the method. The loop in the server, the loop here and the check of the plans all take them from
//! here.

use slob_method::{SchemaNo, Table};
use slob_server::Kind;
use slob_server::names::INDEX;

use crate::names::table;

/// The statement of a kind of operation, with these expressions for the first key, the key after the last one, and
/// the values of the columns that it sets.
pub(crate) fn statement(
    kind: Kind,
    schema: SchemaNo,
    [first, end]: [&str; 2],
    value: impl Fn(usize) -> String,
) -> String {
    let main = format!("{} FORCE INDEX (`{INDEX}`)", table(schema, Table::Main));
    let range = format!("WHERE custid >= {first} AND custid < {end}");
    match kind {
        Kind::Select => format!("SELECT COUNT(c2) FROM {main} {range}"),
        Kind::Scan => format!("SELECT COUNT(c2) FROM {}", table(schema, Table::Scan)),
        Kind::Lite | Kind::Heavy => {
            format!("UPDATE {main} SET {} {range}", kind.assignments("", value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_method::COLUMNS;

    #[test]
    fn statements_name_their_schema_and_columns() {
        let lite = statement(Kind::Lite, SchemaNo::FIRST, ["?", "?"], |i| format!("v{}", i + 2));
        assert_eq!(
            lite,
            "UPDATE `slob1`.`cf1` FORCE INDEX (`i_cf1`) SET c2 = v2, c20 = v20 WHERE custid >= ? AND custid < ?"
        );
        let heavy = statement(Kind::Heavy, SchemaNo::FIRST, ["?", "?"], |_| "?".into());
        assert_eq!(heavy.matches(" = ?").count(), COLUMNS);
    }
}
