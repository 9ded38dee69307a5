//! The plans that the server will use: an operation must visit exactly its pages, one by one.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;
use slob_server::Kind;
use slob_server::names::{INDEX, plain};

use crate::error::failed;
use crate::statement::statement;
use crate::stretch;

/// One line of an EXPLAIN, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    table: String,
    access: String,
    key: String,
    extra: String,
}

/// Looks at the plan of each statement of a schema; SELECTs of up to `joined` keys that follow each other are one. `conn` must have the settings of sessions.
///
/// # Errors
/// [`ErrorKind::Usage`], with the plan, if one is not single-page I/O.
pub(crate) fn check(conn: &mut Conn, schema: SchemaNo, joined: u16) -> Result<(), EngineError> {
    let step = format!("checking the plans of {}", plain(schema));
    let mut explain = |sql: String| explain(conn, sql).map_err(|error| failed(step.as_str(), &error));
    for kind in Kind::ALL {
        let plan = explain(question(kind, schema))?;
        if !is_sound(&plan, kind) {
            return Err(unsound(&step, &format!("{kind:?}"), &expected(kind), &plan));
        }
    }
    if joined > 0 {
        let plan = explain(question_of_stretch(schema, joined))?;
        if !is_sound_stretch(&plan, joined) {
            let expected = format!("a look into {INDEX} and cf1 for each key");
            return Err(unsound(&step, "SELECTs as one statement", &expected, &plan));
        }
    }
    Ok(())
}

fn unsound(step: &str, what: &str, expected: &str, plan: &[Line]) -> EngineError {
    let message = format!("the plan of {what} is not {expected}:\n{}\n", shown(plan));
    EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "operations would not visit the pages they should: look for optimizer settings of the server, or load the schema again",
    )
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Scan => "a scan of cf2".into(),
        _ => format!("a range of {INDEX} with a look into cf1 for each key"),
    }
}

fn explain(conn: &mut Conn, question: String) -> Result<Vec<Line>, mysql::Error> {
    let rows: Vec<Row> = conn.query(question)?;
    let text = |row: &Row, name: &str| row.get::<Option<String>, _>(name).flatten().unwrap_or_default();
    let line = |row: &Row| Line {
        table: text(row, "table"),
        access: text(row, "type"),
        key: text(row, "key"),
        extra: text(row, "Extra"),
    };
    Ok(rows.iter().map(line).collect())
}

/// What asks for the plan of an operation on a schema that is loaded.
pub(crate) fn question(kind: Kind, schema: SchemaNo) -> String {
    let sql = statement(kind, schema, ["1", "3"], |_| "'x'".into());
    asked(&sql)
}

/// The same for SELECTs of so many keys each as one statement.
fn question_of_stretch(schema: SchemaNo, width: u16) -> String {
    asked(&stretch::statement(schema, width).replacen('?', "'[1]'", 1).replacen('?', "1", 1))
}

fn asked(sql: &str) -> String {
    // Both products know several forms; that of MySQL 9 is another one unless a setting says otherwise.
    format!("EXPLAIN FORMAT=TRADITIONAL {sql}")
}

/// Each key by the index, one after the other, whatever stands around them.
fn is_sound_stretch(plan: &[Line], width: u16) -> bool {
    let is_lookup = |line: &Line| {
        let (access, key, extra) = (line.access.as_str(), line.key.as_str(), line.extra.as_str());
        (access, key) == ("eq_ref", INDEX) && ["", "Using where", "Using index condition"].contains(&extra)
    };
    (0..width).all(|key| {
        let mut of_key = plan.iter().filter(|line| line.table == format!("r{key}"));
        of_key.next().is_some_and(is_lookup) && of_key.next().is_none()
    })
}

fn is_sound(plan: &[Line], kind: Kind) -> bool {
    let [Line { table, access, key, extra }] = plan else { return false };
    let extras: Vec<&str> = extra.split(';').map(str::trim).collect();
    let harmless = |extra: &&str| ["", "Using where", "Using index condition"].contains(extra);
    let (of, way, by) = if kind == Kind::Scan { ("cf2", "ALL", "") } else { ("cf1", "range", INDEX) };
    (table.as_str(), access.as_str(), key.as_str()) == (of, way, by) && extras.iter().all(harmless)
}

fn shown(plan: &[Line]) -> String {
    let line = |line: &Line| {
        let Line { table, access, key, extra } = line;
        format!("table={table} type={access} key={key} Extra={extra}")
    };
    plan.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(access: &str, key: &str, extra: &str) -> Vec<Line> {
        vec![Line { table: "cf1".into(), access: access.into(), key: key.into(), extra: extra.into() }]
    }

    #[test]
    fn only_a_range_of_the_index_with_lookups_passes() {
        assert!(is_sound(&line("range", INDEX, "Using index condition"), Kind::Select));
        assert!(is_sound(&line("range", INDEX, "Using where"), Kind::Lite));
        for bad in [
            line("range", INDEX, "Using index condition; Rowid-ordered scan"),
            line("range", INDEX, "Using index condition; Using MRR"),
            line("range", INDEX, "Using where; Using index"),
            line("range", "PRIMARY", "Using where"),
            line("ALL", "", "Using where"),
            line("index", INDEX, ""),
            Vec::new(),
        ] {
            assert!(!is_sound(&bad, Kind::Select), "{bad:?}");
        }
    }
    #[test]
    fn a_stretch_looks_up_every_key() {
        let of = |table: &str, access: &str| Line {
            table: table.into(),
            access: access.into(),
            key: INDEX.into(),
            extra: "Using index condition".into(),
        };
        let around = Line {
            table: "ops".into(),
            access: "ALL".into(),
            key: String::new(),
            extra: "Using where".into(),
        };
        let plan = vec![around, of("r0", "eq_ref"), of("r1", "eq_ref")];
        assert!(is_sound_stretch(&plan, 2));
        assert!(!is_sound_stretch(&plan, 3), "one is missing");
        assert!(!is_sound_stretch(&[of("r0", "eq_ref"), of("r1", "range")], 2));
    }
}
