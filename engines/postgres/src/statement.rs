//! The statements of the method.

use slob_method::{SchemaNo, Table};
use slob_server::Kind;

use crate::sql::table;

/// The expressions are the first key, the key after the last one, and new values.
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

/// SELECTs at places `from` to `to` of the plan as one statement, until the clock reaches `stop`. Returns the last place, and
/// each one's rows and end.
///
/// Only a loop can join, as the inner side needs keys of the outer one. `OFFSET 0` passes on `c2` alone: count() would copy each
/// operation's first row twice.
pub(crate) fn stretch(
    schema: SchemaNo,
    [first, end]: [fn(&str) -> String; 2],
    [from, to]: [&str; 2],
    stop: &str,
) -> String {
    let main = table(schema, Table::Main);
    let range = format!("custid >= {} AND custid < {}", first("k.place"), end("k.place"));
    format!(
        "SELECT max(k.place), array_agg(x.counted), array_agg(clock_timestamp()) \
         FROM (SELECT place FROM generate_series({from}, {to}) place WHERE clock_timestamp() < {stop}) k, \
         LATERAL (SELECT count(c2) counted FROM (SELECT c2 FROM {main} WHERE {range} OFFSET 0) r) x"
    )
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
