//! Connections for everything that is not a session: loading, looking, counting.

use postgres::Client;
use slob_engine::EngineError;
use slob_server::{Connector as _, Errand, Links, reach_any};

use crate::connect::Connector;
use crate::error::failed;

/// The settings that pin the plans of sessions; also for looking at plans before a run.
pub(crate) const SESSION: &str = include_str!("../sql/session.sql");

/// Connections to the servers of a target; none yet.
pub(crate) fn links(connector: Connector) -> Links<Connector> {
    Links::new(connector, connect)
}

fn connect(connector: &Connector, errand: Errand) -> Result<Client, EngineError> {
    let (client, settings) = match errand {
        Errand::Load => (reach_any(connector), include_str!("../sql/loading.sql")),
        Errand::Look => (reach_any(connector), SESSION),
        Errand::Watch(endpoint) => (connector.connect(endpoint), "SET application_name = 'slob monitor'"),
    };
    let mut client = client?;
    client.batch_execute(settings).map_err(|error| failed("preparing a connection", &error))?;
    Ok(client)
}
