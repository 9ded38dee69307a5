//! The procedure that executes batches in the server.
//!
//! It walks arrays with static SQL, planned once for a session. Values of UPDATEs are the stamp and literals of the schema. It
//! commits, so it can't have an exception handler: a batch with an error is lost to the counts.
//!
//! An operation's end is read from the clock and is the start of the next one. A stretch of SELECTs is one statement, as starting
//! the executor costs more than reading a few cached blocks.

use postgres::Client;
use slob_engine::{Load, Result};
use slob_method::{COLUMNS, SchemaNo, UpdateText};
use slob_server::{Kind, Row, homes, schema_name};

use crate::sql::{Ask, namespace};
use crate::statement::{statement, stretch};

const NAME: &str = "slob_batch";
/// Sessions can publish statistics at once since then.
pub(crate) const CAN_FLUSH: u32 = 15;

/// Its own time takes two readings of the clock.
const COMMIT: &str = "\
        c := clock_timestamp();
        COMMIT;
        waited := waited + (clock_timestamp() - c);
";

fn branch(kind: Kind, schema: SchemaNo, updates: &UpdateText, commit: &str) -> String {
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
            text + &format!("        {sql};\n        GET DIAGNOSTICS n = ROW_COUNT;\n{commit}")
        }
    }
}

fn body(load: &Load, schema: SchemaNo, version: u32) -> String {
    let updates = load.content().update_text();
    let (mut branches, mut stretches) = (String::new(), String::new());
    for (schema, hot) in homes(schema, true) {
        let word = if stretches.is_empty() { "IF" } else { "ELSIF" };
        stretches += &format!("      {word} kinds[a] = {} THEN\n", Kind::Select.number(hot));
        // The results of a stretch, from operation `a` to `b`, go into variables.
        let at = [|at: &str| format!("firsts[{at}]"), |at: &str| format!("ends[{at}]")];
        let into = stretch(schema, at, ["a", "b"], "stop").replacen(
            " FROM ",
            " INTO last, rows_of, ends_of FROM ",
            1,
        );
        stretches += &format!("        {into};\n");
        for kind in Kind::ALL {
            let word = if branches.is_empty() { "IF" } else { "ELSIF" };
            branches += &format!("      {word} kinds[i] = {} THEN\n", kind.number(hot));
            branches += &branch(kind, schema, &updates, COMMIT);
        }
    }
    for kind in Kind::UPDATES {
        branches += &format!("      ELSIF kinds[i] = {} THEN\n", kind.number_of_open());
        branches += &branch(kind, schema, &updates, "");
    }
    let texts: String = (2..2 + COLUMNS).map(|i| format!("  v{i} text;\n")).collect();
    let flush = if version >= CAN_FLUSH { "  PERFORM pg_stat_force_next_flush();\n" } else { "" };
    include_str!("../sql/batch_body.sql")
        .replace("{texts}", &texts)
        .replace("{stretches}", &stretches)
        .replace("{branches}", &branches)
        .replace("{flush}", flush)
}

pub(crate) fn install(
    client: &mut Client,
    load: &Load,
    schema: SchemaNo,
    version: u32,
    step: &str,
) -> Result<()> {
    let body = body(load, schema, version);
    let found = found(client, schema, step)?;
    if matches!(&found[..], [row] if row.0[1].as_ref() == Some(&body)) {
        return Ok(());
    }
    // Another release's arguments may differ; its procedure would stay beside ours.
    let sql = format!(
        "{}CREATE PROCEDURE {}.{NAME}({}) LANGUAGE plpgsql AS $slob${body}$slob$",
        drops(&found),
        namespace(schema),
        include_str!("../sql/batch_arguments.sql")
    );
    client.run(step, &sql)
}

pub(crate) fn found(client: &mut Client, schema: SchemaNo, step: &str) -> Result<Vec<Row>> {
    let sql = format!(
        "SELECT p.oid::pg_catalog.regprocedure, p.prosrc
         FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = '{}' AND p.proname = '{NAME}'",
        schema_name(schema)
    );
    client.rows(step, &sql)
}

pub(crate) fn drops(found: &[Row]) -> String {
    found.iter().flat_map(|row| &row.0[0]).map(|signature| format!("DROP PROCEDURE {signature};\n")).collect()
}

pub(crate) fn call(schema: SchemaNo) -> String {
    format!("CALL {}.{NAME}($1, $2, $3, $4, $5, $6, $7, $8, '{{}}', '{{}}', 0)", namespace(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: false, slice_rows: 40 };

    #[test]
    fn only_other_schemas_have_branches_for_schema_one() {
        let second = SchemaNo::new(2).unwrap();
        assert!(!body(&LOAD, SchemaNo::FIRST, 15).contains("kinds[i] = 4"));
        assert!(body(&LOAD, second, 15).contains("kinds[i] = 7"));
        assert!(body(&LOAD, second, 15).contains("pg_stat_force_next_flush"));
        assert!(!body(&LOAD, second, 14).contains("pg_stat_force_next_flush"));
    }
}
