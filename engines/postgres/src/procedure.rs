//! The procedure that executes batches in the server.
//!
//! It walks arrays of numbers with static SQL: each statement is planned once for a session. What UPDATEs write is
//! the operation's stamp and a constant for each column, which the procedure of a schema carries as literals. An UPDATE
//! is followed by COMMIT, which is why this is a procedure, and why it has no exception handler: the two exclude each
//! other. A batch that ends with an error is therefore lost to the counts, though not to the database.
//!
//! Times are taken once for each operation, at its end, which is the start of the next one; once more after a pause.
//!
//! A stretch, SELECTs of one schema that follow each other without a pause, is one statement: to start the server's executor
//! for each costs more than a few blocks that are cached. The session says which operations are one.

use postgres::GenericClient;
use slob_engine::{EngineError, Load};
use slob_method::{COLUMNS, SchemaNo, UpdateText};
use slob_server::names::plain;
use slob_server::{Kind, homes};

use crate::error::failed;
use crate::namespace::namespace;
use crate::statement::{statement, stretch};
use crate::version::ServerVersion;

const NAME: &str = "slob_batch";

/// The body of the loop for one kind of operation.
fn branch(kind: Kind, schema: SchemaNo, updates: &UpdateText) -> String {
    let keys = ["firsts[i]", "ends[i]"];
    let sql = statement(kind, schema, keys, |column| format!("v{}", column + 2));
    match kind {
        Kind::Select | Kind::Scan => {
            format!("        {};\n", sql.replacen("count(c2)", "count(c2) INTO n", 1))
        }
        Kind::Lite | Kind::Heavy => {
            let mut text = "        h := to_hex(stamps[i]);\n".to_owned();
            for column in kind.updated_columns() {
                text += &format!("        v{} := h || '{}';\n", column + 2, updates.tail(*column));
            }
            text + &format!("        {sql};\n        GET DIAGNOSTICS n = ROW_COUNT;\n        COMMIT;\n")
        }
    }
}

/// The statement of a stretch, from operation `a` to `b`; what comes of it goes into variables.
fn stretch_into(schema: SchemaNo) -> String {
    let sql = stretch(schema, [|at| format!("firsts[{at}]"), |at| format!("ends[{at}]")], ["a", "b"], "stop");
    sql.replacen(" FROM ", " INTO last, rows_of, ends_of FROM ", 1)
}

fn body(load: &Load, schema: SchemaNo, version: ServerVersion) -> String {
    let updates = load.content().update_text();
    let (mut branches, mut stretches) = (String::new(), String::new());
    for (schema, hot) in homes(schema, true) {
        let word = if stretches.is_empty() { "IF" } else { "ELSIF" };
        stretches += &format!("      {word} kinds[a] = {} THEN\n", Kind::Select.number(hot));
        stretches += &format!("        {};\n", stretch_into(schema));
        for kind in Kind::ALL {
            let word = if branches.is_empty() { "IF" } else { "ELSIF" };
            branches += &format!("      {word} kinds[i] = {} THEN\n", kind.number(hot));
            branches += &branch(kind, schema, &updates);
        }
    }
    let texts: String = (2..2 + COLUMNS).map(|i| format!("  v{i} text;\n")).collect();
    let flush = if version.can_flush() { "  PERFORM pg_stat_force_next_flush();\n" } else { "" };
    include_str!("../sql/batch_body.sql")
        .replace("{texts}", &texts)
        .replace("{stretches}", &stretches)
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
    version: ServerVersion,
    step: &str,
) -> Result<(), EngineError> {
    let fail = |error: postgres::Error| failed(step, &error);
    let body = body(load, schema, version);
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
    let rows = client.query(sql, &[&plain(schema), &NAME])?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

fn drops(found: &[(String, String)]) -> String {
    found.iter().map(|(signature, _)| format!("DROP PROCEDURE {signature};\n")).collect()
}

/// The statement that executes a batch in the server.
pub(crate) fn call(schema: SchemaNo) -> String {
    format!("CALL {}.{NAME}($1, $2, $3, $4, $5, $6, $7, $8, '{{}}', '{{}}')", namespace(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V15: ServerVersion = ServerVersion::major(15);
    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: false, slice_rows: 40 };

    #[test]
    fn only_other_schemas_have_branches_for_schema_one() {
        let second = SchemaNo::new(2).unwrap();
        assert!(!body(&LOAD, SchemaNo::FIRST, V15).contains("kinds[i] = 4"));
        assert!(body(&LOAD, second, V15).contains("kinds[i] = 7"));
        assert!(body(&LOAD, second, V15).contains("pg_stat_force_next_flush"));
        assert!(!body(&LOAD, second, ServerVersion(140_005)).contains("pg_stat_force_next_flush"));
    }
}
