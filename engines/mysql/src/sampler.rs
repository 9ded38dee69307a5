//! What our sessions do: sampled, where the server counts no waits. Pauses of the plan are no work.

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;
use slob_server::{Connector as _, Sample, Sampler};

use crate::connect::Connector;
use crate::error::failed;

/// Sessions of ours are those whose default database is a schema.
const QUERY: &str = "SELECT STATE, COUNT(*) FROM information_schema.PROCESSLIST
    WHERE COMMAND IN ('Query', 'Execute') AND DB LIKE 'slob%' AND ID <> CONNECTION_ID()
      AND USER = SUBSTRING_INDEX(USER(), '@', 1) AND STATE IS NOT NULL AND STATE <> 'User sleep'
    GROUP BY STATE";
/// What a state is, for want of a better word of the server's.
const CLASS: &str = "state";

/// Samples the sessions on one server.
pub(crate) fn start(connector: Arc<Connector>, endpoint: usize) -> Sampler {
    Sampler::start(move || {
        let mut conn = connector.connect(endpoint)?;
        Ok(move || look(&mut conn))
    })
}

fn look(conn: &mut Conn) -> Result<Vec<Sample>, EngineError> {
    let states: Vec<(String, u32)> =
        conn.query(QUERY).map_err(|error| failed("looking at sessions", &error))?;
    let sample = |(state, sessions): (String, u32)| Sample {
        class: CLASS.into(),
        name: if state.is_empty() { "none".into() } else { state },
        sessions,
    };
    Ok(states.into_iter().map(sample).collect())
}
