//! SELECTs that follow each other as one statement: it visits the planned keys in order, each operation by itself, and reads the
//! clock after each.

use slob_method::{SchemaNo, Table};
use slob_server::LoopPlace;
use slob_server::names::INDEX;

use crate::names::table;
use crate::product::Product;

/// As many SELECTs as it takes for one statement of all to be worth its way to the server.
pub(crate) const SHORTEST: usize = 8;

/// The clock, in microseconds after the statement began.
const CLOCK: &str = "TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6))";

/// How many keys an operation may have for a stretch to cost less than a statement for each. A stretch looks each key up by
/// itself, a statement reads neighbours in the index: it loses where operations are wide. See docs/engines.md for what was measured.
pub(crate) fn widest(product: &Product, loop_place: LoopPlace) -> u16 {
    match loop_place {
        LoopPlace::Server if product.is_mariadb => 16,
        LoopPlace::Server => 8,
        LoopPlace::Statement | LoopPlace::Client => 0,
    }
}

/// The statement of operations of so many keys each, with question marks for the first key of each of them (a list in JSON)
/// and for the microseconds after which none begins. It answers a text: for each operation its rows, and when it ended. A list
/// begins with null, an operation without keys, which tells when the first one begins.
///
/// A range whose bounds come from another table would be planned anew for each key, and, with the statistics of tables of one row
/// in each page, as a scan of the table. So each key is an outer join: looked up by the unique index, one row or none.
pub(crate) fn statement(schema: SchemaNo, width: u16) -> String {
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

    #[test]
    fn each_key_is_looked_up_by_itself() {
        let sql = statement(SchemaNo::FIRST, 3);
        assert_eq!(sql.matches("LEFT JOIN `slob1`.`cf1` r").count(), 3);
        assert!(sql.contains("(r0.c2 IS NOT NULL) + (r1.c2 IS NOT NULL) + (r2.c2 IS NOT NULL)"), "{sql}");
        assert!(sql.contains("r2.custid = ops.first + 2") && !sql.contains("r3"), "{sql}");
    }
}
