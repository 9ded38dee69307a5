//! The procedure that executes batches in the server.
//!
//! It walks arrays of numbers with static SQL: each statement is planned once for a session. What UPDATEs write is
//! the operation's stamp and a constant for each column, which the procedure of a schema carries as literals. An UPDATE
//! is followed by COMMIT, which is why this is a procedure, and why it has no exception handler: the two exclude each
//! other. A batch that ends with an error is therefore lost to the counts, though not to the database.
//!
//! Times are taken once for each operation, at its end, which is the start of the next one; once more after a pause.

use postgres::GenericClient;
use slob_engine::{EngineError, Load};
use slob_method::{COLUMNS, SchemaNo, Table, UpdateText};

use crate::error::failed;
use crate::namespace::{namespace, table};

const NAME: &str = "slob_batch";
/// Since this version, sessions can be told to publish their statistics when they become idle.
const FLUSH_SINCE: u32 = 150_000;

/// What an operation does, as the procedure's array `kinds` has it; in schema 1 instead of the home schema with
/// [`Kind::HOT`] added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub(crate) enum Kind {
    /// A SELECT.
    Select = 0,
    /// An UPDATE of c2 and c20.
    Lite = 1,
    /// An UPDATE of all columns.
    Heavy = 2,
    /// A short scan.
    Scan = 3,
}

impl Kind {
    /// Added for an operation in schema 1, in the procedure of another schema.
    pub(crate) const HOT: i16 = 4;
}

/// Columns that an UPDATE sets, from 0 for c2.
pub(crate) fn updated_columns(kind: Kind) -> &'static [usize] {
    const ALL: [usize; COLUMNS] = {
        let mut all = [0; COLUMNS];
        let mut i = 0;
        while i < COLUMNS {
            all[i] = i;
            i += 1;
        }
        all
    };
    match kind {
        Kind::Lite => &[0, COLUMNS - 1],
        Kind::Heavy => &ALL,
        Kind::Select | Kind::Scan => &[],
    }
}

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
            let columns = updated_columns(kind).iter();
            let set: Vec<_> = columns.map(|i| format!("c{} = {}", i + 2, value(*i))).collect();
            format!("UPDATE {main} SET {} {range}", set.join(", "))
        }
    }
}

/// The body of the loop for one kind of operation.
fn branch(kind: Kind, schema: SchemaNo, updates: &UpdateText) -> String {
    let keys = ["firsts[i]", "ends[i]"];
    let sql = statement(kind, schema, keys, |column| format!("v{}", column + 2));
    match kind {
        Kind::Select | Kind::Scan => {
            format!("      {};\n", sql.replacen("count(c2)", "count(c2) INTO n", 1))
        }
        Kind::Lite | Kind::Heavy => {
            let mut text = "      h := to_hex(stamps[i]);\n".to_owned();
            for column in updated_columns(kind) {
                text += &format!("      v{} := h || '{}';\n", column + 2, updates.tail(*column));
            }
            text + &format!("      {sql};\n      GET DIAGNOSTICS n = ROW_COUNT;\n      COMMIT;\n")
        }
    }
}

fn body(load: &Load, schema: SchemaNo, server_version: u32) -> String {
    let updates = load.content().update_text();
    let mut branches = String::new();
    let schemas = if schema == SchemaNo::FIRST { &[schema][..] } else { &[schema, SchemaNo::FIRST] };
    for (schema, offset) in schemas.iter().zip([0, Kind::HOT]) {
        for kind in [Kind::Select, Kind::Lite, Kind::Heavy, Kind::Scan] {
            let word = if branches.is_empty() { "IF" } else { "ELSIF" };
            branches += &format!("    {word} kinds[i] = {} THEN\n", kind as i16 + offset);
            branches += &branch(kind, *schema, &updates);
        }
    }
    let texts: String = (2..2 + COLUMNS).map(|i| format!("  v{i} text;\n")).collect();
    let flush = if server_version >= FLUSH_SINCE { "  PERFORM pg_stat_force_next_flush();\n" } else { "" };
    include_str!("../sql/batch_body.sql")
        .replace("{texts}", &texts)
        .replace("{branches}", &branches)
        .replace("{flush}", flush)
}

/// Makes the procedure of a schema, or replaces one that another release of ours made.
///
/// # Errors
/// If it can't be made.
pub(crate) fn install(
    client: &mut impl GenericClient,
    load: &Load,
    schema: SchemaNo,
    step: &str,
) -> Result<(), EngineError> {
    let fail = |error: postgres::Error| failed(step, &error);
    let version = "SELECT current_setting('server_version_num')::integer";
    let version: i32 = client.query_one(version, &[]).and_then(|row| row.try_get(0)).map_err(fail)?;
    let body = body(load, schema, version.unsigned_abs());
    let found = found(client, schema).map_err(fail)?;
    if matches!(&found[..], [(_, source)] if *source == body) {
        return Ok(());
    }
    // All at once. Another release's may take other arguments, and would then stay beside ours.
    let sql = format!(
        "{}CREATE PROCEDURE {}.{NAME}({}) LANGUAGE plpgsql AS $slob${body}$slob$",
        drops(&found),
        namespace(schema),
        include_str!("../sql/batch_arguments.sql")
    );
    client.batch_execute(&sql).map_err(fail)
}

/// Removes the procedures of a schema, whichever release of ours made them.
///
/// # Errors
/// If they can't be removed.
pub(crate) fn remove(client: &mut impl GenericClient, schema: SchemaNo) -> Result<(), postgres::Error> {
    let found = found(client, schema)?;
    client.batch_execute(&drops(&found))
}

/// Signature and source of the procedures of our name.
fn found(
    client: &mut impl GenericClient,
    schema: SchemaNo,
) -> Result<Vec<(String, String)>, postgres::Error> {
    let sql = "SELECT p.oid::pg_catalog.regprocedure::text, p.prosrc
               FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
               WHERE n.nspname = $1 AND p.proname = $2";
    let rows = client.query(sql, &[&format!("slob{schema}"), &NAME])?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

fn drops(found: &[(String, String)]) -> String {
    found.iter().map(|(signature, _)| format!("DROP PROCEDURE {signature};\n")).collect()
}

/// The statement that executes a batch in the server.
pub(crate) fn call(schema: SchemaNo) -> String {
    format!("CALL {}.{NAME}($1, $2, $3, $4, $5, $6, $7, '{{}}', '{{}}')", namespace(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: false, slice_rows: 40 };

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

    #[test]
    fn only_other_schemas_have_branches_for_schema_one() {
        let second = SchemaNo::new(2).unwrap();
        assert!(!body(&LOAD, SchemaNo::FIRST, 150_000).contains("kinds[i] = 4"));
        assert!(body(&LOAD, second, 150_000).contains("kinds[i] = 7"));
        assert!(body(&LOAD, second, 150_000).contains("pg_stat_force_next_flush"));
        assert!(!body(&LOAD, second, 140_005).contains("pg_stat_force_next_flush"));
    }
}
