//! Brings a server to a known state before a run and checks plans: an operation must visit exactly its blocks, one by one.

use std::time::{Duration, Instant};

use postgres::Client;
use slob_engine::{EngineError, ErrorKind, Result, RunPlan};
use slob_method::{SchemaNo, Table};
use slob_server::{INDEX, Kind, LoopPlace, Task, schema_name};

use crate::database::Database;
use crate::server::OTHERS;
use crate::session::publish;
use crate::sql::{Ask, InStep, failed, has_code, namespace, table};
use crate::statement::{statement, stretch};
use crate::{catalog, procedure};

/// A plan with it checks a stretch's deadline after an operation, not before it.
const LATE: &str = "Join Filter";
const PRUNING: Duration = Duration::from_secs(60);
const NO_CHECKPOINT: &str = "The role may not make a checkpoint, so blocks left dirty by earlier work may be written during the run: GRANT pg_checkpoint to it (15 and later), or run as a superuser.";

/// Returns notes on what the role may not do or see.
pub(crate) fn prepare(database: &Database, run: &RunPlan<'_>) -> Result<Vec<String>> {
    let Database { servers, loop_place, version, .. } = database;
    servers.check_capacity(run, OTHERS)?;
    servers.begin_run(run);
    let mut notes = servers.with(Task::Read, |client| {
        for schema in run.schemas {
            let step = format!("checking {}", namespace(*schema));
            check_logged(client, *schema, &step)?;
            if loop_place.is_in_server() {
                let load = catalog::schema(client, *schema, &step)?.load;
                procedure::install(client, &load, *schema, *version, &step)?;
            }
            check_plans(client, *schema, *loop_place == LoopPlace::Server)?;
        }
        let pruned = prune(client, run.schemas)?;
        let notes: Vec<String> = pruned.into_iter().chain(checkpoint(client)?.map(str::to_owned)).collect();
        for schema in run.schemas.iter().filter(|_| database.prewarm) {
            // A scan of the table would use a small ring of buffers.
            let sql = statement(Kind::Select, *schema, ["1", "9223372036854775807"], |_| String::new());
            client.row(&format!("reading {} into the cache", namespace(*schema)), &sql)?;
        }
        // The run must not count the reads of these checks.
        publish(client, *version)?;
        Ok(notes)
    })?;
    notes.extend(servers.notes());
    Ok(notes)
}

/// UPDATEs of an unlogged table make no redo.
fn check_logged(client: &mut Client, schema: SchemaNo, step: &str) -> Result<()> {
    let sql = format!(
        "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = '{}' AND c.relname IN ('cf1', 'cf2') AND c.relpersistence <> 'p'",
        schema_name(schema)
    );
    let Some(table) = client.row(step, &sql)?.get::<String>(0) else { return Ok(()) };
    let message = format!("{table} is unlogged: its updates would make no redo");
    Err(EngineError::new(ErrorKind::Usage, step, message)
        .with_advice(format!("ALTER TABLE {}.{table} SET LOGGED", namespace(schema))))
}

/// Otherwise the next reader of old versions would prune, log, and dirty their block. An interrupted VACUUM keeps its progress.
fn prune(client: &mut Client, schemas: &[SchemaNo]) -> Result<Option<String>> {
    const STEP: &str = "pruning old versions of rows";
    let begun = Instant::now();
    let mut pruned = Ok(());
    for schema in schemas {
        let left = PRUNING.saturating_sub(begun.elapsed()).as_millis().max(1);
        client.run(STEP, &format!("SET statement_timeout = {left}"))?;
        let main = table(*schema, Table::Main);
        let sql = format!("VACUUM (INDEX_CLEANUP FALSE, TRUNCATE FALSE, SKIP_LOCKED) {main}");
        pruned = client.batch_execute(&sql);
        if pruned.is_err() {
            break;
        }
    }
    client.run(STEP, "RESET statement_timeout")?;
    match pruned {
        Err(error) if has_code(&error, "57014") => Ok(Some(format!(
            "Old versions of rows that earlier runs left were not all pruned within {} s, so this run prunes and logs them.",
            PRUNING.as_secs()
        ))),
        // A standby has what its primary pruned.
        Err(error) if has_code(&error, "25006") => Ok(None),
        pruned => pruned.in_step(STEP).map(|()| None),
    }
}

/// A run then starts without dirty blocks of the one before it.
fn checkpoint(client: &mut Client) -> Result<Option<&'static str>> {
    match client.batch_execute("CHECKPOINT") {
        Ok(()) => Ok(None),
        Err(error) if has_code(&error, "42501") => Ok(Some(NO_CHECKPOINT)),
        Err(error) => Err(failed("making a checkpoint", &error)),
    }
}

/// The connection must have the settings of sessions. A plan without single-block I/O is an error of [`ErrorKind::Usage`].
fn check_plans(client: &mut Client, schema: SchemaNo, joined: bool) -> Result<()> {
    let step = format!("checking the plans of {}", namespace(schema));
    for kind in Kind::ALL {
        let plan = explain_kind(client, kind, schema, &step)?;
        require(&plan, &format!("{kind:?}"), &expected(kind), &step)?;
    }
    if joined {
        let keys: [fn(&str) -> String; 2] = [|at| format!("$1[{at}]"), |at| format!("$2[{at}]")];
        let sql = stretch(schema, keys, ["$3", "$4"], "$5");
        let types = "(bigint[], bigint[], integer, integer, timestamptz)";
        let plan = explain(client, &sql, types, "('{1}', '{2}', 1, 1, now())", &step)?;
        require(&plan, "consecutive SELECTs", &expected_of_stretch(), &step)?;
    }
    Ok(())
}

fn require(plan: &str, of: &str, expected: &[String], step: &str) -> Result<()> {
    if is_plan(plan, expected) {
        return Ok(());
    }
    let message = format!("the plan of {of} is not {}:\n{plan}\n", expected.join(" over "));
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "operations would not visit the blocks they should: look for planner settings of the role, the database or an extension, or load the schema again",
    ))
}

fn expected(kind: Kind) -> [String; 2] {
    let index = format!("Index Scan using {INDEX} on cf1");
    match kind {
        Kind::Select => ["Aggregate".into(), index],
        Kind::Lite | Kind::Heavy => ["Update on cf1".into(), index],
        Kind::Scan => ["Aggregate".into(), "Seq Scan on cf2".into()],
    }
}

fn expected_of_stretch() -> Vec<String> {
    let keys = ["Aggregate", "Nested Loop", "Function Scan on generate_series place"].map(str::to_owned);
    keys.into_iter().chain(expected(Kind::Select)).collect()
}

/// The schema must be loaded.
pub(crate) fn explain_kind(client: &mut Client, kind: Kind, schema: SchemaNo, step: &str) -> Result<String> {
    let sql = statement(kind, schema, ["$1", "$2"], |_| "$3".into());
    let (types, values) = match kind {
        Kind::Select => ("(bigint, bigint)", "(1, 2)"),
        Kind::Lite | Kind::Heavy => ("(bigint, bigint, text)", "(1, 2, 'x')"),
        Kind::Scan => ("", ""),
    };
    explain(client, &sql, types, values, step)
}

fn explain(client: &mut Client, sql: &str, types: &str, values: &str, step: &str) -> Result<String> {
    client.run(step, &format!("PREPARE slob_plan {types} AS {sql}"))?;
    // plan_cache_mode = force_generic_plan shows the plan for any key.
    let rows = client.rows(step, &format!("EXPLAIN (COSTS OFF) EXECUTE slob_plan {values}"))?;
    client.run(step, "DEALLOCATE slob_plan")?;
    let lines: Vec<&str> = rows.iter().filter_map(|row| row.0[0].as_deref()).collect();
    Ok(lines.join("\n"))
}

/// One node below the other.
fn is_plan(plan: &str, expected: &[String]) -> bool {
    let node = |(i, line): (usize, &str)| match line.trim_start().strip_prefix("->") {
        Some(node) => Some(node.trim().to_owned()),
        None => (i == 0).then(|| line.trim().to_owned()),
    };
    plan.lines().enumerate().filter_map(node).eq(expected.iter().cloned())
        && ["JIT:", LATE].iter().all(|bad| !plan.contains(bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Aggregate\n  ->  Index Scan using i_cf1 on cf1\n        Index Cond: ((custid >= $1) AND (custid < $2))";

    #[test]
    fn only_the_expected_nodes_pass() {
        let select = expected(Kind::Select);
        assert!(is_plan(GOOD, &select));
        for bad in [
            GOOD.replace("Index Scan using", "Index Only Scan using"),
            GOOD.replace("Index Scan using i_cf1", "Seq Scan"),
            GOOD.replace("i_cf1", "other"),
            GOOD.replace("Aggregate\n", "Finalize Aggregate\n  ->  Gather\n"),
            format!("{GOOD}\nJIT:\n  Functions: 4"),
            "Aggregate\n  ->  Bitmap Heap Scan on cf1\n        ->  Bitmap Index Scan on i_cf1".into(),
            String::new(),
        ] {
            assert!(!is_plan(&bad, &select), "{bad}");
        }
    }

    #[test]
    fn a_stretch_is_a_loop_over_keys_that_checks_the_clock_before_each() {
        let good = "Aggregate\n  ->  Nested Loop\n        ->  Function Scan on generate_series place\n              Filter: (clock_timestamp() < $5)\n        ->  Aggregate\n              ->  Index Scan using i_cf1 on cf1\n                    Index Cond: ((custid >= $1[place.place]) AND (custid < $2[place.place]))";
        let stretch = expected_of_stretch();
        assert!(is_plan(good, &stretch));
        let above =
            |node: &str, by: &str| good.replace(&format!("->  {node}"), &format!("->  {by}\n ->  {node}"));
        for bad in [
            above("Aggregate", "Memoize"),
            above("Aggregate", "Materialize"),
            above("Nested Loop", "Gather"),
            above("Function Scan", "Sort"),
            above("Index Scan", "Subquery Scan on r"),
            good.replace("Nested Loop", "Hash Join"),
            good.replace(
                "Index Scan using i_cf1 on cf1",
                "Bitmap Heap Scan on cf1\n ->  Bitmap Index Scan on i_cf1",
            ),
            good.replace("Index Scan using", "Index Only Scan using"),
            good.replace("Nested Loop", "Nested Loop\n        Join Filter: (clock_timestamp() < $5)"),
            GOOD.to_owned(),
        ] {
            assert!(!is_plan(&bad, &stretch), "{bad}");
        }
    }

    #[test]
    fn lines_that_are_no_nodes_do_not_count() {
        assert!(is_plan("Aggregate\n  ->  Seq Scan on cf2\n        Disabled: true", &expected(Kind::Scan)));
    }
}
