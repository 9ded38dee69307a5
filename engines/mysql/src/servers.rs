//! The servers behind the endpoints, watched each by itself.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::{EngineError, Figures, Sampler, Seen, WaitEvent};

use crate::connect::Connector;
use crate::engine::Product;
use crate::error::failed;
use crate::link::Links;
use crate::{counters, processes, sampler, session, waits};

const STEP: &str = "telling servers apart";

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
    let endpoints = connector.endpoints();
    let mut all: Vec<Watched> = Vec::with_capacity(endpoints);
    let mut identities = Vec::with_capacity(endpoints);
    for endpoint in 0..endpoints {
        let links = Links::new(session::SETTINGS, endpoint);
        let mut same_as = None;
        if endpoints > 1 {
            let own = links.with(connector, identity)?;
            for earlier in all.iter().filter(|earlier| earlier.is_first()) {
                if identities[earlier.endpoint] == own && is_same(connector, &earlier.links, &links)? {
                    same_as = Some(earlier.endpoint);
                    break;
                }
            }
            identities.push(own);
        }
        all.push(Watched { endpoint, same_as, links, sampler: Mutex::default() });
    }
    Ok(all)
}

/// What every role may see of a server, and what is the same through every endpoint of it. Servers that were cloned (machines,
/// containers) may share all of it.
fn identity(conn: &mut Conn) -> Result<String, EngineError> {
    let sql = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@socket, @@pid_file)";
    let place: Option<String> = conn.query_first(sql).map_err(|error| failed(STEP, &error))?;
    let uuid: Option<(String, String)> =
        conn.query_first("SHOW GLOBAL VARIABLES LIKE 'server_uuid'").map_err(|error| failed(STEP, &error))?;
    Ok(uuid.map_or_else(|| place.unwrap_or_default(), |(_, uuid)| uuid))
}

/// Whether two endpoints lead to one server: a lock that is taken through the one is then seen through the other. No cluster
/// shares such locks among its nodes; where they are forbidden for that reason, equal identities must do.
fn is_same(connector: &Connector, one: &Links, other: &Links) -> Result<bool, EngineError> {
    let fail = |error: mysql::Error| failed(STEP, &error);
    one.with(connector, |holder| {
        let name = format!("slob-{:016x}-{}", RandomState::new().hash_one(STEP), holder.connection_id());
        let Ok(Some(Some(true))) =
            holder.query_first::<Option<bool>, _>(format!("SELECT GET_LOCK('{name}', 0)"))
        else {
            return Ok(true);
        };
        let user = other.with(connector, |asker| {
            asker.query_first::<Option<u64>, _>(format!("SELECT IS_USED_LOCK('{name}')")).map_err(fail)
        });
        holder.query_drop(format!("DO RELEASE_LOCK('{name}')")).map_err(fail)?;
        Ok(user?.flatten().is_some())
    })
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
