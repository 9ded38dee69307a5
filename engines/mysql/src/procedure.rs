//! The procedures that execute batches in the server.
//!
//! One takes any operations. The other takes SELECTs of one width, the usual case, in which each step of a loop counts. Plans are
//! texts of fixed columns, because there are no arrays. The answer is a text of numbers: each operation's end in microseconds
//! since the start, its rows, and the end of its pause. Beside it is the time in commits. An error comes after the answer.

use mysql::Conn;
use slob_engine::{Load, Result};
use slob_method::{COLUMNS, SchemaNo, UpdateText};
use slob_server::{Kind, homes, schema_name};

use crate::sql::{Ask, database};
use crate::statement::statement;

pub(crate) const BATCH: &str = "slob_batch";
/// All of one width, in the home schema, without pauses.
pub(crate) const SELECTS: &str = "slob_selects";
pub(crate) const SELECT_BYTES: usize = 16;
/// Kind, first key, keys, pause, stamp.
pub(crate) const OP_BYTES: usize = 1 + 14 + 5 + 10 + 16;

/// A part shares one copy of the answers.
const PART_OPS: usize = 64;
/// Three numbers and their blanks.
const OP_ANSWER_BYTES: usize = 3 * 20;

/// Its own time takes two readings of the clock.
const COMMIT: &str = "\
        SET us = TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6));
        COMMIT;
        SET waited = waited + TIMESTAMPDIFF(MICROSECOND, began, SYSDATE(6)) - us;
        SET is_held = FALSE;
";

fn procedures(load: &Load, schema: SchemaNo) -> [(&'static str, &'static str, String); 2] {
    let updates = load.content().update_text();
    [
        (BATCH, include_str!("../sql/batch_arguments.sql"), batch_body(schema, &updates)),
        (SELECTS, include_str!("../sql/selects_arguments.sql"), selects_body(schema)),
    ]
}

fn selects_body(schema: SchemaNo) -> String {
    let select = counted(Kind::Select, schema, ["first", "first + width"]);
    let body = include_str!("../sql/selects_loop.sql").replace("{select}", &select);
    assemble("", &body, "ROLLBACK", SELECT_BYTES)
}

fn batch_body(schema: SchemaNo, updates: &UpdateText) -> String {
    let texts: String =
        (2..2 + COLUMNS).map(|i| format!("  DECLARE v{i} VARCHAR(128) CHARACTER SET ascii;\n")).collect();
    let variables = include_str!("../sql/batch_variables.sql").to_owned() + &texts;
    let mut branches = String::new();
    for (home, hot) in homes(schema, true) {
        for kind in Kind::ALL {
            let word = if branches.is_empty() { "IF" } else { "ELSEIF" };
            branches += &format!("      {word} kind = {} THEN\n", kind.number(hot));
            branches += &branch(kind, home, updates, COMMIT);
        }
    }
    for kind in Kind::UPDATES {
        branches += &format!("      ELSEIF kind = {} THEN\n", kind.number_of_open());
        branches += &branch(kind, schema, updates, "        SET is_held = TRUE;\n");
    }
    let body = include_str!("../sql/batch_loop.sql").replace("{branches}", &branches);
    assemble(&variables, &body, "IF is_held THEN COMMIT; ELSE ROLLBACK; END IF", OP_BYTES)
}

fn assemble(variables: &str, body: &str, end: &str, op_bytes: usize) -> String {
    let text = [
        include_str!("../sql/batch_open.sql"),
        variables,
        include_str!("../sql/batch_part.sql"),
        body,
        include_str!("../sql/batch_close.sql"),
    ];
    text.concat()
        .replace("{end}", end)
        .replace("{op_bytes}", &op_bytes.to_string())
        .replace("{part_bytes}", &(op_bytes * PART_OPS).to_string())
        .replace("{answer_bytes}", &(OP_ANSWER_BYTES * PART_OPS).to_string())
}

fn counted(kind: Kind, schema: SchemaNo, keys: [&str; 2]) -> String {
    statement(kind, schema, keys, |_| String::new()).replacen("COUNT(c2)", "COUNT(c2) INTO n", 1)
}

fn branch(kind: Kind, schema: SchemaNo, updates: &UpdateText, then: &str) -> String {
    let keys = ["first", "past"];
    match kind {
        Kind::Select | Kind::Scan => format!("        {};\n", counted(kind, schema, keys)),
        Kind::Lite | Kind::Heavy => {
            let mut text = "        SET stamp = SUBSTR(part, at + 30, 16);\n".to_owned();
            for column in kind.updated_columns() {
                text +=
                    &format!("        SET v{} = CONCAT(stamp, '{}');\n", column + 2, updates.tail(*column));
            }
            let sql = statement(kind, schema, keys, |column| format!("v{}", column + 2));
            text + &format!("        {sql};\n        SET n = ROW_COUNT();\n{then}")
        }
    }
}

/// Replaces those of other releases.
pub(crate) fn install(conn: &mut Conn, load: &Load, schema: SchemaNo, step: &str) -> Result<()> {
    let db = database(schema);
    for (name, arguments, body) in procedures(load, schema) {
        let body = body.trim_end();
        let sql = format!(
            "SELECT CAST(ROUTINE_DEFINITION AS CHAR) FROM information_schema.ROUTINES
             WHERE ROUTINE_SCHEMA = '{}' AND ROUTINE_NAME = '{name}'",
            schema_name(schema)
        );
        if conn.row(step, &sql)?.get::<String>(0).as_deref() == Some(body) {
            continue;
        }
        conn.run(step, &format!("DROP PROCEDURE IF EXISTS {db}.{name}"))?;
        let head =
            format!("CREATE PROCEDURE {db}.{name} (\n{arguments}) MODIFIES SQL DATA SQL SECURITY INVOKER");
        conn.run(step, &format!("{head}\n{body}"))?;
    }
    Ok(())
}

/// A question mark stands for each argument.
pub(crate) fn call(schema: SchemaNo, name: &str) -> String {
    format!("CALL {}.{name}(?, ?, ?, ?)", database(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load { seed: 3, scale: 100, scan_blocks: 10, obfuscated: false, slice_rows: 40 };

    #[test]
    fn only_other_schemas_have_branches_for_schema_one() {
        let [(_, _, first), _] = procedures(&LOAD, SchemaNo::FIRST);
        let [(_, _, second), _] = procedures(&LOAD, SchemaNo::new(2).unwrap());
        assert!(!first.contains("kind = 4") && second.contains("kind = 7"));
        assert!(second.contains("`slob1`.`cf2`") && second.contains("`slob2`.`cf1`"));
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (_, _, body) in procedures(&LOAD, SchemaNo::FIRST) {
            assert!(!body.contains('{'), "{body}");
        }
    }

    #[test]
    fn columns_of_a_plan_hold_the_largest_numbers() {
        assert!(slob_method::MAX_SCALE < 10_u64.pow(14) && u32::MAX.to_string().len() <= 10);
        assert!(u16::MAX.to_string().len() <= 5);
    }
}
