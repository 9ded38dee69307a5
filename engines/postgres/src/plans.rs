//! The plans that the server will use: an operation must visit exactly its blocks, one by one.

use postgres::{Client, SimpleQueryMessage};
use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;
use slob_server::Kind;
use slob_server::names::INDEX;

use crate::error::failed;
use crate::namespace::namespace;
use crate::statement::statement;

/// Looks at the generic plan of each statement of a schema. `client` must have the settings of sessions.
///
/// # Errors
/// [`ErrorKind::Usage`], with the plan, if one is not single-block I/O.
pub(crate) fn check(client: &mut Client, schema: SchemaNo) -> Result<(), EngineError> {
    for kind in Kind::ALL {
        let step = format!("checking the plans of {}", namespace(schema));
        let plan = explain(client, kind, schema).map_err(|error| failed(step.as_str(), &error))?;
        let expected = expected(kind);
        if !is_plan(&plan, &expected) {
            let message = format!("the plan of {kind:?} is not {}:\n{plan}\n", expected.join(" over "));
            return Err(EngineError::new(ErrorKind::Usage, step, message).with_advice(
                "operations would not visit the blocks they should: look for planner settings of the role, the database or an extension, or load the schema again",
            ));
        }
    }
    Ok(())
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

/// The plan of an operation on a schema that is loaded.
pub(crate) fn explain(client: &mut Client, kind: Kind, schema: SchemaNo) -> Result<String, postgres::Error> {
    let sql = statement(kind, schema, ["$1", "$2"], |_| "$3".into());
    let (types, values) = match kind {
        Kind::Select => ("(bigint, bigint)", "(1, 2)"),
        Kind::Lite | Kind::Heavy => ("(bigint, bigint, text)", "(1, 2, 'x')"),
        Kind::Scan => ("", ""),
    };
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
    plan.lines().enumerate().filter_map(node).eq(expected.iter().cloned()) && !plan.contains("JIT:")
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
    fn lines_that_are_no_nodes_do_not_count() {
        assert!(is_plan("Aggregate\n  ->  Seq Scan on cf2\n        Disabled: true", &expected(Kind::Scan)));
    }
}
