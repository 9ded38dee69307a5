//! The statements of the method. The block of a batch and the check of the plans take them from here.

use slob_method::Table;
use slob_server::Kind;

/// Reads one block after the other: the index leads there, and blocks are not gathered first (12.1 and later; earlier
/// releases don't know the second hint and ignore it).
const HINT: &str = "/*+ INDEX(t i_cf1) NO_BATCH_TABLE_ACCESS_BY_ROWID(t) */";

/// The statement of a kind of operation on the tables of `owner` (`"SLOB1."`, or nothing for the current schema), with
/// these expressions for the first key, the key after the last one, and the values of the columns that it sets. `into`
/// is where a block puts what a SELECT counts.
pub(crate) fn statement(
    kind: Kind,
    owner: &str,
    [first, end]: [&str; 2],
    into: &str,
    value: impl Fn(usize) -> String,
) -> String {
    let main = format!("{owner}{} t", Table::Main.name());
    let range = format!("WHERE t.custid >= {first} AND t.custid < {end}");
    match kind {
        Kind::Select => format!("SELECT {HINT} COUNT(t.c2){into} FROM {main} {range}"),
        Kind::Scan => format!("SELECT COUNT(t.c2){into} FROM {owner}{} t", Table::Scan.name()),
        Kind::Lite | Kind::Heavy => {
            format!("UPDATE {HINT} {main} SET {} {range}", kind.assignments("t.", value))
        }
    }
}
