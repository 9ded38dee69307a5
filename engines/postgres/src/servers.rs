//! What the servers are asked.

use std::sync::Arc;

use postgres::Client;
use slob_engine::{Clues, EngineError};
use slob_server::{Limit, Sampler, Watch};

use crate::catalog::get;
use crate::connect::Connector;
use crate::error::failed;
use crate::{capacity, clues, sampler};

impl Watch for Connector {
    fn identity(client: &mut Client) -> Result<String, EngineError> {
        let step = "telling servers apart";
        let sql = "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), inet_server_port(), d.oid, version())
                   FROM pg_catalog.pg_database d WHERE d.datname = current_database()";
        get(&client.query_one(sql, &[]).map_err(|error| failed(step, &error))?, 0, step)
    }

    fn clues(client: &mut Client) -> Result<Clues, EngineError> {
        clues::of_server(client)
    }

    fn limits(client: &mut Client, step: &str) -> Result<Vec<Limit>, EngineError> {
        capacity::limits(client, step)
    }

    fn sampler(connector: Arc<Self>, endpoint: usize) -> Sampler {
        sampler::start(connector, endpoint)
    }
}
