//! The statements of the method, for both loops and the check of plans.

use slob_method::{SchemaNo, Table};
use slob_server::{INDEX, Kind};

use crate::sql::table;

/// The expressions are the first key, the key after the last one, and new values.
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

/// Fewer SELECTs are not worth one statement's round trip.
pub(crate) const SHORTEST_STRETCH: usize = 8;

/// Microseconds after the statement began.
const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))";

/// SELECTs of so many keys each as one statement, in order, with the clock after each. Question marks are the first keys (a list
/// in JSON, after a null for the start) and the microseconds after which none begins. The answer has each operation's rows and
/// end.
///
/// A range with bounds of another table would be planned anew for each key, as a scan. So each key is an outer join by the unique
/// index.
pub(crate) fn stretch(schema: SchemaNo, width: u16) -> String {
    let main = table(schema, Table::Main);
    let keys = 0..width;
    let rows: Vec<String> = keys.clone().map(|key| format!("(r{key}.c2 IS NOT NULL)")).collect();
    let joins: String = keys
        .map(|key| {
            format!(" LEFT JOIN {main} r{key} FORCE INDEX (`{INDEX}`) ON r{key}.custid = ops.first + {key}")
        })
        .collect();
    format!(
        "SELECT GROUP_CONCAT((SELECT {} FROM (SELECT 1) one{joins}), ' ', {CLOCK} SEPARATOR ' ') \
         FROM JSON_TABLE(?, '$[*]' COLUMNS (first BIGINT UNSIGNED PATH '$')) ops WHERE {CLOCK} < ?",
        rows.join(" + ")
    )
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

    #[test]
    fn each_key_is_looked_up_by_itself() {
        let sql = stretch(SchemaNo::FIRST, 3);
        assert_eq!(sql.matches("LEFT JOIN `slob1`.`cf1` r").count(), 3);
        assert!(sql.contains("(r0.c2 IS NOT NULL) + (r1.c2 IS NOT NULL) + (r2.c2 IS NOT NULL)"), "{sql}");
        assert!(sql.contains("r2.custid = ops.first + 2") && !sql.contains("r3"), "{sql}");
    }
}
