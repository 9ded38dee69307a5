//! The servers behind the endpoints, watched each by itself.

use std::sync::{Arc, Mutex, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, Figures, Sampler, Seen, WaitEvent};

use crate::connect::Connector;
use crate::engine::Product;
use crate::error::failed;
use crate::link::Links;
use crate::{counters, processes, sampler, session, waits};

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
            let links = Links::new(session::SETTINGS, endpoint);
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

/// What two servers never share, and every role may see; MySQL has a number of its own for it.
fn identity(conn: &mut Conn) -> Result<String, EngineError> {
    let step = "telling servers apart";
    let sql = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@socket, @@pid_file)";
    let place: Option<String> = conn.query_first(sql).map_err(|error| failed(step, &error))?;
    let uuid: Option<(String, String)> =
        conn.query_first("SHOW GLOBAL VARIABLES LIKE 'server_uuid'").map_err(|error| failed(step, &error))?;
    Ok(uuid.map_or_else(|| place.unwrap_or_default(), |(_, uuid)| uuid))
}

impl Watched {
    /// Whether it is the first endpoint of its server.
    pub(crate) fn is_first(&self) -> bool {
        self.same_as.is_none()
    }

    /// Which endpoint it is, counted from 0.
    pub(crate) fn endpoint(&self) -> usize {
        self.endpoint
    }

    /// What the server counts, and what sessions of ours wait for there.
    ///
    /// # Errors
    /// If the server can't be asked.
    pub(crate) fn see(&self, connector: &Arc<Connector>, product: &Product) -> Result<Seen, EngineError> {
        if let Some(earlier) = self.same_as {
            return Ok(Seen::SameAs(earlier));
        }
        let (counters, counted) =
            self.links.with(connector, |conn| Ok((counters::read(conn, product)?, waits::read(conn))))?;
        let events = counted.unwrap_or_else(|| self.sampled(connector));
        Ok(Seen::Figures(Figures { counters, events, ..Figures::default() }))
    }

    /// What was seen since the first call.
    fn sampled(&self, connector: &Arc<Connector>) -> Vec<WaitEvent> {
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        // What happens before the first look is in no window.
        sampler.get_or_insert_with(|| sampler::start(Arc::clone(connector), self.endpoint)).events()
    }

    /// Its process, if it can be seen from here.
    pub(crate) fn process(&self, connector: &Connector) -> Option<u32> {
        if !connector.is_local(self.endpoint) {
            return None;
        }
        self.links.with(connector, processes::server_process).ok().flatten()
    }

    /// Lends a connection to it.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn with<T>(
        &self,
        connector: &Connector,
        work: impl FnOnce(&mut Conn) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.links.with(connector, work)
    }
}
