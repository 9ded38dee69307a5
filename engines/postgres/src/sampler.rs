//! What our sessions wait for: sampled, since PostgreSQL counts no waits. One that waits for nothing is on a CPU, or wants to
//! be. Pauses of the plan are not waits.

use std::sync::Arc;

use postgres::{Client, Statement};
use slob_engine::EngineError;
use slob_server::{Connector as _, Sample, Sampler};

use crate::catalog::get;
use crate::connect::Connector;
use crate::error::failed;

const QUERY: &str = include_str!("../sql/sample.sql");
const STEP: &str = "looking at sessions";

/// Samples the sessions on one server.
pub(crate) fn start(connector: Arc<Connector>, endpoint: usize) -> Sampler {
    Sampler::start(move || {
        let mut client = connector.connect(endpoint)?;
        let query = client
            .batch_execute("SET application_name = 'slob monitor'")
            .and_then(|()| client.prepare(QUERY))
            .map_err(|error| failed(STEP, &error))?;
        Ok(move || look(&mut client, &query))
    })
}

fn look(client: &mut Client, query: &Statement) -> Result<Vec<Sample>, EngineError> {
    let rows = client.query(query, &[]).map_err(|error| failed(STEP, &error))?;
    let sample = |row: &postgres::Row| {
        let sessions = u32::try_from(get::<i64>(row, 2, STEP)?).unwrap_or(u32::MAX);
        Ok(Sample { class: get(row, 0, STEP)?, name: get(row, 1, STEP)?, sessions })
    };
    rows.iter().map(sample).collect()
}
