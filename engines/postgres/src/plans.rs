//! The plans that the server will use: an operation must visit exactly its blocks, one by one.

use postgres::{Client, SimpleQueryMessage};
use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;
use slob_server::Kind;
use slob_server::names::INDEX;

use crate::error::failed;
use crate::namespace::namespace;
use crate::statement::{statement, stretch};

/// What is in a plan whose deadline would be looked at after an operation, and not before it.
const LATE: &str = "Join Filter";

/// Looks at the generic plan of each statement of a schema; `joined` says whether SELECTs that follow each other are one.
/// `client` must have the settings of sessions.
///
/// # Errors
/// [`ErrorKind::Usage`], with the plan, if one is not single-block I/O.
pub(crate) fn check(client: &mut Client, schema: SchemaNo, joined: bool) -> Result<(), EngineError> {
    let step = format!("checking the plans of {}", namespace(schema));
    let fail = |error: postgres::Error| failed(step.as_str(), &error);
    for kind in Kind::ALL {
        let plan = explain_kind(client, kind, schema).map_err(fail)?;
        require(&plan, &format!("{kind:?}"), &expected(kind), &step)?;
    }
    if joined {
        let plan = explain_stretch(client, schema).map_err(fail)?;
        require(&plan, "consecutive SELECTs", &expected_of_stretch(), &step)?;
    }
    Ok(())
}

fn require(plan: &str, of: &str, expected: &[String], step: &str) -> Result<(), EngineError> {
    if is_plan(plan, expected) {
        return Ok(());
    }
    let message = format!("the plan of {of} is not {}:\n{plan}\n", expected.join(" over "));
    Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
        "operations would not visit the blocks they should: look for planner settings of the role, the database or an extension, or load the schema again",
    ))
}

/// The nodes that a plan must have, from the top.
fn expected(kind: Kind) -> [String; 2] {
    let index = format!("Index Scan using {INDEX} on cf1");
    match kind {
        Kind::Select => ["Aggregate".into(), index],
        Kind::Lite | Kind::Heavy => ["Update on cf1".into(), index],
        Kind::Scan => ["Aggregate".into(), "Seq Scan on cf2".into()],
    }
}

/// A plan that is a loop over keys, each of which is a SELECT by itself.
fn expected_of_stretch() -> Vec<String> {
    let keys = ["Aggregate", "Nested Loop", "Function Scan on generate_series place"].map(str::to_owned);
    keys.into_iter().chain(expected(Kind::Select)).collect()
}

fn explain_stretch(client: &mut Client, schema: SchemaNo) -> Result<String, postgres::Error> {
    let keys: [fn(&str) -> String; 2] = [|at| format!("$1[{at}]"), |at| format!("$2[{at}]")];
    let sql = stretch(schema, keys, ["$3", "$4"], "$5");
    let types = "(bigint[], bigint[], integer, integer, timestamptz)";
    explain(client, &sql, types, "('{1}', '{2}', 1, 1, now())")
}

/// The plan of an operation on a schema that is loaded.
pub(crate) fn explain_kind(
    client: &mut Client,
    kind: Kind,
    schema: SchemaNo,
) -> Result<String, postgres::Error> {
    let sql = statement(kind, schema, ["$1", "$2"], |_| "$3".into());
    let (types, values) = match kind {
        Kind::Select => ("(bigint, bigint)", "(1, 2)"),
        Kind::Lite | Kind::Heavy => ("(bigint, bigint, text)", "(1, 2, 'x')"),
        Kind::Scan => ("", ""),
    };
    explain(client, &sql, types, values)
}

fn explain(client: &mut Client, sql: &str, types: &str, values: &str) -> Result<String, postgres::Error> {
    client.batch_execute(&format!("PREPARE slob_plan {types} AS {sql}"))?;
    // With plan_cache_mode = force_generic_plan this shows the plan for any key.
    let messages = client.simple_query(&format!("EXPLAIN (COSTS OFF) EXECUTE slob_plan {values}"))?;
    client.batch_execute("DEALLOCATE slob_plan")?;
    let lines: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        })
        .collect();
    Ok(lines.join("\n"))
}

/// Whether a plan has exactly these nodes, one below the other.
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
    fn a_stretch_is_a_loop_over_keys_that_looks_at_the_clock_before_each() {
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
