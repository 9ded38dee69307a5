//! Whether statements are carried out block by block.

use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;
use slob_server::Kind;

use crate::catalog::text;
use crate::client::{Bind, Client};
use crate::connector::Connector;
use crate::error::failed;
use crate::statement::statement;

/// Tells our lines of the table of plans, which is the session's own.
pub(crate) const ID: &str = "slob";

/// The statement that has the plan of a SELECT explained. It has numbers where a batch has variables, since not every client may
/// leave a variable of an EXPLAIN PLAN unbound; the hints decide on the plan of both.
pub(crate) fn explain(user: &str) -> String {
    let select = statement(Kind::Select, &format!("{user}."), ["1", "65"], "", |_| String::new());
    include_str!("../sql/explain.sql").trim_end().replace("{id}", ID).replace("{statement}", &select)
}

/// Refuses a plan that does not go from the index to one block after the other. The connection has the settings of sessions.
///
/// # Errors
/// [`ErrorKind::Usage`], with the plan.
pub(crate) fn check(
    client: &mut dyn Client,
    connector: &Connector,
    schema: SchemaNo,
) -> Result<(), EngineError> {
    let user = connector.prefix.user(schema);
    let step = format!("looking at the plan of a SELECT in {user}");
    let fail = |fault| failed(step.as_str(), &fault);
    client.execute(&explain(&user), &[]).map_err(fail)?;
    let rows = client.query(include_str!("../sql/plan.sql"), &[Bind::Text(ID.into())]).map_err(fail)?;
    client.rollback().map_err(fail)?;
    let lines: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", text(row, 0).unwrap_or_default(), text(row, 1).unwrap_or_default()))
        .collect();
    let by_index = lines.iter().any(|line| line == "INDEX RANGE SCAN");
    // With BATCHED after it, rows of several blocks are gathered first and their blocks read together.
    let by_rowid = lines.iter().any(|line| line == "TABLE ACCESS BY INDEX ROWID");
    if by_index && by_rowid {
        return Ok(());
    }
    let plan: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    Err(EngineError::new(
        ErrorKind::Usage,
        step,
        format!("it does not go from the index to one block after the other: {}", plan.join(", ")),
    )
    .with_advice(
        "gather statistics of CF1 with DBMS_STATS, drop SQL profiles, patches and plan baselines of it, and see that hints are not ignored",
    ))
}
