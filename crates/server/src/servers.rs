//! The servers behind the endpoints, watched each by itself.

use std::sync::{Arc, Mutex, PoisonError};

use slob_engine::{
    Clues, Counters, EngineError, Figures, RunPlan, ServerLocation, ServerSnapshot, Snapshot, WaitEvent,
};

use crate::{Connector, Errand, Limit, Links, Sampler};

/// What an engine asks its servers.
pub trait Watch: Connector {
    /// What two servers never share, or share only if they were cloned, that every role may see and that is the same through
    /// every endpoint of one.
    ///
    /// # Errors
    /// If the server can't be asked.
    fn identity(connection: &mut Self::Connection) -> Result<String, EngineError>;

    /// Whether two endpoints with the same identity lead to one server indeed.
    ///
    /// # Errors
    /// If one can't be asked.
    fn is_same(_one: &mut Self::Connection, _other: &mut Self::Connection) -> Result<bool, EngineError> {
        Ok(true)
    }

    /// What the server can be found by on its host.
    ///
    /// # Errors
    /// If the server can't be asked.
    fn clues(connection: &mut Self::Connection) -> Result<Clues, EngineError>;

    /// The limits of connections that our sessions must keep to.
    ///
    /// # Errors
    /// If the server can't be asked.
    fn limits(connection: &mut Self::Connection, step: &str) -> Result<Vec<Limit>, EngineError>;

    /// Begins to sample what our sessions on the server of an endpoint do.
    fn sampler(connector: Arc<Self>, endpoint: usize) -> Sampler;
}

const SEVERAL: &str = "Sessions use several endpoints; the server settings are those of the first one.";

/// The servers of a target, by their endpoints, and the connections to them.
pub struct Servers<C: Watch> {
    links: Links<C>,
    watched: Vec<Watched>,
}

/// What an endpoint leads to.
struct Watched {
    /// The earlier endpoint of the same server, if there is one.
    same_as: Option<usize>,
    sampler: Mutex<Option<Sampler>>,
}

impl<C: Watch> Servers<C> {
    /// Connects to every endpoint, and finds out which lead to the same server.
    ///
    /// # Errors
    /// If one can't be reached: a run needs them all.
    pub fn watch(links: Links<C>) -> Result<Self, EngineError> {
        let endpoints = links.connector().endpoints();
        let mut watched = Vec::with_capacity(endpoints);
        // Of each server, its first endpoint.
        let mut known: Vec<(usize, String)> = Vec::new();
        for endpoint in 0..endpoints {
            let same_as = if endpoints == 1 {
                None
            } else {
                let identity = links.with(Errand::Watch(endpoint), C::identity)?;
                let earlier = earlier(&links, &known, endpoint, &identity)?;
                if earlier.is_none() {
                    known.push((endpoint, identity));
                }
                earlier
            };
            watched.push(Watched { same_as, sampler: Mutex::default() });
        }
        Ok(Self { links, watched })
    }

    /// The connections.
    pub fn links(&self) -> &Links<C> {
        &self.links
    }

    /// What makes them.
    pub fn connector(&self) -> &Arc<C> {
        self.links.connector()
    }

    /// The first endpoint of each server.
    pub fn first_endpoints(&self) -> impl Iterator<Item = usize> {
        (0..)
            .zip(&self.watched)
            .filter(|(_, watched)| watched.same_as.is_none())
            .map(|(endpoint, _)| endpoint)
    }

    /// The names of the endpoints; none where there is one only.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        if self.watched.len() > 1 { self.connector().names() } else { Vec::new() }
    }

    /// Lends a connection to the server of an endpoint.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub fn with<T>(
        &self,
        endpoint: usize,
        work: impl FnOnce(&mut C::Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.links.with(Errand::Watch(endpoint), work)
    }

    /// What the servers count, by `figures`, and what sessions of ours wait for there: as the server counts it, or, where
    /// `figures` has no events, as it was sampled since the first snapshot.
    ///
    /// # Errors
    /// If no server can be asked. One of several that can't is unreachable.
    pub fn snapshot(
        &self,
        figures: impl Fn(&mut C::Connection) -> Result<(Counters, Option<Vec<WaitEvent>>), EngineError>,
    ) -> Result<Snapshot, EngineError> {
        let mut error = None;
        let see = |(endpoint, watched): (usize, &Watched)| {
            if let Some(earlier) = watched.same_as {
                return ServerSnapshot::SameAs(earlier);
            }
            match self.with(endpoint, &figures) {
                Ok((counters, events)) => {
                    let events = events.unwrap_or_else(|| watched.sampled(self.connector(), endpoint));
                    ServerSnapshot::Figures(Figures { counters, events, ..Figures::default() })
                }
                Err(fault) => {
                    error = Some(fault);
                    ServerSnapshot::Unreachable
                }
            }
        };
        let seen: Vec<ServerSnapshot> = self.watched.iter().enumerate().map(see).collect();
        match error {
            Some(error) if !seen.iter().any(|seen| matches!(seen, ServerSnapshot::Figures(_))) => Err(error),
            _ => Ok(Snapshot::of_servers(seen)),
        }
    }

    /// What each server can be found by on its host; less of one that can't be asked.
    #[must_use]
    pub fn locations(&self) -> Vec<ServerLocation> {
        let of_server = |endpoint| ServerLocation {
            endpoint,
            host: self.connector().host(endpoint),
            clues: self.with(endpoint, C::clues).unwrap_or_default(),
        };
        self.first_endpoints().map(of_server).collect()
    }

    /// Each server must let in the sessions of a run that fall on it, beside `others` that watch.
    ///
    /// # Errors
    /// [`slob_engine::ErrorKind::Usage`] if one would not, with the figures.
    pub fn check_capacity(&self, run: &RunPlan<'_>, others: u64) -> Result<(), EngineError> {
        let endpoints = self.watched.len();
        for endpoint in 0..endpoints {
            let share = run.sessions / endpoints as u32;
            let sessions = share + u32::from(endpoint < run.sessions as usize % endpoints);
            let step = format!("counting the connections of {}", self.connector().endpoint(endpoint));
            let limits = self.with(endpoint, |connection| C::limits(connection, &step))?;
            limits.iter().try_for_each(|limit| limit.check(sessions, others, &step))?;
        }
        Ok(())
    }

    /// What the record should say of there being several.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        if self.watched.len() > 1 { vec![SEVERAL.to_owned()] } else { Vec::new() }
    }
}

/// The first endpoint of the server that has this identity, among those that are known.
fn earlier<C: Watch>(
    links: &Links<C>,
    known: &[(usize, String)],
    endpoint: usize,
    identity: &str,
) -> Result<Option<usize>, EngineError> {
    for (earlier, _) in known.iter().filter(|(_, known)| known == identity) {
        let is_same = links.with(Errand::Watch(*earlier), |one| {
            links.with(Errand::Watch(endpoint), |other| C::is_same(one, other))
        });
        if is_same? {
            return Ok(Some(*earlier));
        }
    }
    Ok(None)
}

impl Watched {
    /// What was seen since the first call.
    fn sampled<C: Watch>(&self, connector: &Arc<C>, endpoint: usize) -> Vec<WaitEvent> {
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        // What happens before the first look is in no window.
        sampler.get_or_insert_with(|| C::sampler(Arc::clone(connector), endpoint)).events()
    }
}

#[cfg(test)]
mod tests;
