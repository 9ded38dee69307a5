//! The servers behind the endpoints, watched each by itself.

use std::sync::{Arc, Mutex, PoisonError};

use postgres::Client;
use slob_engine::{EngineError, Figures, Sampler, Seen};

use crate::catalog::get;
use crate::connect::Connector;
use crate::engine::ServerVersion;
use crate::error::failed;
use crate::link::Links;
use crate::{counters, processes, sampler};

/// What an endpoint leads to.
pub(crate) struct Watched {
    endpoint: usize,
    /// The earlier endpoint of the same server, if there is one.
    same_as: Option<usize>,
    links: Links,
    sampler: Mutex<Option<Sampler>>,
}

/// Connects to every endpoint, and finds out which lead to the same server.
///
/// # Errors
/// If one can't be reached: a run needs them all.
pub(crate) fn watch(connector: &Connector) -> Result<Vec<Watched>, EngineError> {
    let mut known = Vec::new();
    (0..connector.endpoints())
        .map(|endpoint| {
            let links = Links::to_endpoint("SET application_name = 'slob monitor'", endpoint);
            let same_as = if connector.endpoints() == 1 {
                None
            } else {
                let identity = links.with(connector, identity)?;
                let earlier = known.iter().position(|other| *other == identity);
                known.push(identity);
                earlier
            };
            Ok(Watched { endpoint, same_as, links, sampler: Mutex::default() })
        })
        .collect()
}

/// What two servers never share, and every role may see.
fn identity(client: &mut Client) -> Result<String, EngineError> {
    let step = "telling servers apart";
    let sql = "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), inet_server_port(), d.oid, version())
               FROM pg_catalog.pg_database d WHERE d.datname = current_database()";
    get(&client.query_one(sql, &[]).map_err(|error| failed(step, &error))?, 0, step)
}

impl Watched {
    /// Whether it is the first endpoint of its server.
    pub(crate) fn is_first(&self) -> bool {
        self.same_as.is_none()
    }

    /// What the server counts, and what sessions of ours wait for there since the first call.
    ///
    /// # Errors
    /// If the server can't be asked.
    pub(crate) fn see(
        &self,
        connector: &Arc<Connector>,
        version: ServerVersion,
    ) -> Result<Seen, EngineError> {
        if let Some(earlier) = self.same_as {
            return Ok(Seen::SameAs(earlier));
        }
        let counters = self.links.with(connector, |client| counters::read(client, version))?;
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        // What happens before the first look is in no window.
        let sampler = sampler.get_or_insert_with(|| sampler::start(Arc::clone(connector), self.endpoint));
        Ok(Seen::Figures(Figures { counters, events: sampler.events(), ..Figures::default() }))
    }

    /// Its processes, if they can be seen from here.
    pub(crate) fn processes(&self, connector: &Connector) -> Option<Vec<u32>> {
        if !connector.is_local(self.endpoint) {
            return None;
        }
        self.links.with(connector, processes::server_processes).ok().flatten()
    }

    /// Lends a connection to it.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn with<T>(
        &self,
        connector: &Connector,
        work: impl FnOnce(&mut Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.links.with(connector, work)
    }
}
