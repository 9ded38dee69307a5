//! What the servers are asked.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{Clues, EngineError};
use slob_server::{Limit, Sampler, Watch};

use crate::connect::Connector;
use crate::error::failed;
use crate::{capacity, clues, sampler};

const STEP: &str = "telling servers apart";

impl Watch for Connector {
    /// Servers that were cloned (machines, containers) may share all of it.
    fn identity(conn: &mut Conn) -> Result<String, EngineError> {
        let fail = |error: mysql::Error| failed(STEP, &error);
        let sql = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@socket, @@pid_file)";
        let place: Option<String> = conn.query_first(sql).map_err(fail)?;
        let uuid: Option<(String, String)> =
            conn.query_first("SHOW GLOBAL VARIABLES LIKE 'server_uuid'").map_err(fail)?;
        Ok(uuid.map_or_else(|| place.unwrap_or_default(), |(_, uuid)| uuid))
    }

    /// A lock that is taken through the one is then seen through the other. No cluster shares such locks among its nodes;
    /// where they are forbidden for that reason, equal identities must do.
    fn is_same(holder: &mut Conn, asker: &mut Conn) -> Result<bool, EngineError> {
        let fail = |error: mysql::Error| failed(STEP, &error);
        let name = format!("slob-{:016x}-{}", RandomState::new().hash_one(STEP), holder.connection_id());
        let taken = holder.query_first::<Option<bool>, _>(format!("SELECT GET_LOCK('{name}', 0)"));
        let Ok(Some(Some(true))) = taken else { return Ok(true) };
        let user = asker.query_first::<Option<u64>, _>(format!("SELECT IS_USED_LOCK('{name}')"));
        holder.query_drop(format!("DO RELEASE_LOCK('{name}')")).map_err(fail)?;
        Ok(user.map_err(fail)?.flatten().is_some())
    }

    fn clues(conn: &mut Conn) -> Result<Clues, EngineError> {
        clues::of_server(conn)
    }

    fn limits(conn: &mut Conn, step: &str) -> Result<Vec<Limit>, EngineError> {
        capacity::limits(conn, step)
    }

    fn sampler(connector: Arc<Self>, endpoint: usize) -> Sampler {
        sampler::start(connector, endpoint)
    }
}
