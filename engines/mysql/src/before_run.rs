//! Brings servers to a known state before a run and checks plans: an operation must visit exactly its pages, one by one.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use slob_engine::{EngineError, ErrorKind, Result, RunPlan, lock};
use slob_method::SchemaNo;
use slob_server::{Connector as _, INDEX, Kind, Task, schema_name};

use crate::databases::Databases;
use crate::server::OTHERS;
use crate::sql::{Ask, InStep};
use crate::statement::{statement, stretch};
use crate::{catalog, globals, procedure};

/// Returns notes on what the role may not do or see.
pub(crate) fn prepare(databases: &Databases, run: &RunPlan<'_>) -> Result<Vec<String>> {
    let Databases { servers, loop_place, .. } = databases;
    servers.check_capacity(run, OTHERS)?;
    servers.begin_run(run);
    let mut notes = Vec::new();
    for endpoint in servers.first_endpoints() {
        let connector = &servers.connector;
        let name = connector.endpoint(endpoint).to_string();
        servers.with(Task::Monitor(endpoint), |conn| {
            catch_up(conn, &name)?;
            if loop_place.is_in_server() {
                check_clock(conn, &name)?;
            }
            for schema in run.schemas {
                let step = format!("checking {} on {name}", schema_name(*schema));
                let load = catalog::schema(conn, *schema, &step)?.load;
                if loop_place.is_in_server() {
                    procedure::install(conn, &load, *schema, &step)?;
                }
                check_plans(conn, *schema, databases.joined_keys())?;
            }
            let (switched, said) = globals::switch_off(conn, connector, endpoint)?;
            lock(&databases.changed).push(switched);
            notes.extend(said);
            notes.extend(globals::flush(conn, connector, endpoint, run)?);
            Ok(())
        })?;
    }
    notes.extend(servers.notes());
    notes.dedup();
    Ok(notes)
}

/// A load just committed on other nodes of a Galera cluster.
fn catch_up(conn: &mut Conn, endpoint: &str) -> Result<()> {
    let step = format!("waiting until {endpoint} has what its cluster has");
    let row = conn.row(&step, "SHOW VARIABLES LIKE 'wsrep_sync_wait'")?;
    let Some(before) = row.get::<String>(1) else { return Ok(()) };
    conn.run(&step, "SET SESSION wsrep_sync_wait = 1")?;
    // A CALL does not wait.
    conn.run(&step, "SELECT COUNT(*) FROM information_schema.SCHEMATA")?;
    conn.run(&step, &format!("SET SESSION wsrep_sync_wait = {before}"))
}

/// A server option can fix SYSDATE, the clock of operations, for a whole statement.
fn check_clock(conn: &mut Conn, endpoint: &str) -> Result<()> {
    let step = &format!("looking at the clock of {endpoint}");
    if conn.row(step, "SELECT SLEEP(0.002), SYSDATE(6) > NOW(6)")?.get(1) == Some(1) {
        return Ok(());
    }
    Err(EngineError::new(ErrorKind::Usage, step, "SYSDATE stands still within a statement")
        .with_advice("start the server without sysdate-is-now, or set LOOP=client"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    table: String,
    access: String,
    key: String,
    extra: String,
}

/// The connection must have the settings of sessions. A plan without single-page I/O is an error of [`ErrorKind::Usage`].
fn check_plans(conn: &mut Conn, schema: SchemaNo, joined: u16) -> Result<()> {
    let step = &format!("checking the plans of {}", schema_name(schema));
    for kind in Kind::ALL {
        let plan = explain(conn, &explained(kind, schema)).in_step(step)?;
        if !is_sound(&plan, kind) {
            let expected = match kind {
                Kind::Scan => "a scan of cf2".into(),
                _ => format!("a range of {INDEX} with a look into cf1 for each key"),
            };
            return Err(unsound(step, &format!("{kind:?}"), &expected, &plan));
        }
    }
    if joined > 0 {
        let sql = stretch(schema, joined).replacen('?', "'[1]'", 1).replacen('?', "1", 1);
        let plan = explain(conn, &explained_statement(&sql)).in_step(step)?;
        if !is_sound_stretch(&plan, joined) {
            let expected = format!("a look into {INDEX} and cf1 for each key");
            return Err(unsound(step, "SELECTs as one statement", &expected, &plan));
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

fn explain(conn: &mut Conn, sql: &str) -> Result<Vec<Line>, mysql::Error> {
    let rows: Vec<Row> = conn.query(sql)?;
    let text = |row: &Row, name: &str| row.get::<Option<String>, _>(name).flatten().unwrap_or_default();
    let line = |row: &Row| Line {
        table: text(row, "table"),
        access: text(row, "type"),
        key: text(row, "key"),
        extra: text(row, "Extra"),
    };
    Ok(rows.iter().map(line).collect())
}

/// The schema must be loaded.
pub(crate) fn explained(kind: Kind, schema: SchemaNo) -> String {
    explained_statement(&statement(kind, schema, ["1", "3"], |_| "'x'".into()))
}

/// The default form of MySQL 9 differs.
fn explained_statement(sql: &str) -> String {
    format!("EXPLAIN FORMAT=TRADITIONAL {sql}")
}

/// Each key is looked up by the index.
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
