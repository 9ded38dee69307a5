//! The statements of the method.

use slob_method::{SchemaNo, Table};
use slob_server::Kind;

use crate::namespace::table;

/// The statement of a kind of operation, with these expressions for the first key, the key after the last one, and
/// the values of the columns that it sets. The loop in the server, the loop in the client and the check of the plans
/// all take it from here.
pub(crate) fn statement(
    kind: Kind,
    schema: SchemaNo,
    [first, end]: [&str; 2],
    value: impl Fn(usize) -> String,
) -> String {
    let main = table(schema, Table::Main);
    let range = format!("WHERE custid >= {first} AND custid < {end}");
    match kind {
        Kind::Select => format!("SELECT count(c2) FROM {main} {range}"),
        Kind::Scan => format!("SELECT count(c2) FROM {}", table(schema, Table::Scan)),
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
        let keys = ["$1", "$2"];
        let value = |i: usize| format!("${}", i + 3);
        let lite = statement(Kind::Lite, SchemaNo::FIRST, keys, value);
        assert_eq!(
            lite,
            "UPDATE \"slob1\".\"cf1\" SET c2 = $3, c20 = $21 WHERE custid >= $1 AND custid < $2"
        );
        let heavy = statement(Kind::Heavy, SchemaNo::FIRST, keys, value);
        assert_eq!(heavy.matches(" = $").count(), COLUMNS);
    }
}
