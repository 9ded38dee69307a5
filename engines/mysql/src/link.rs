//! Connections for everything that is not a session: loading, looking, counting.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mysql::Conn;
use mysql::prelude::Queryable;
use slob_engine::EngineError;

use crate::connect::Connector;
use crate::error::failed;

/// Connections of one purpose, each prepared with the same statements and used again when it comes back sound.
pub(crate) struct Links {
    settings: &'static [&'static str],
    place: Place,
    idle: Mutex<Vec<Conn>>,
}

/// Where connections go.
#[derive(Clone, Copy)]
enum Place {
    /// To this endpoint.
    Only(usize),
    /// To the first endpoint that takes them: all have the same data.
    First,
}

impl Links {
    /// No connections yet; each that is made goes to an endpoint and is prepared with `settings`.
    pub(crate) fn new(settings: &'static [&'static str], endpoint: usize) -> Self {
        Self { settings, place: Place::Only(endpoint), idle: Mutex::default() }
    }

    /// As [`Links::new`], to the first endpoint, or the next one that can be reached.
    pub(crate) fn to_any(settings: &'static [&'static str]) -> Self {
        Self { settings, place: Place::First, idle: Mutex::default() }
    }

    /// Lends a connection. After an error it is closed, and with it any transaction that it had open.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn with<T>(
        &self,
        connector: &Connector,
        work: impl FnOnce(&mut Conn) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let idle = self.lock().pop();
        // A server may have ended one that lay idle, which only asking tells.
        let sound = idle.and_then(|mut conn| conn.ping().is_ok().then_some(conn));
        let mut conn = sound.map_or_else(|| self.connect(connector), Ok)?;
        let result = work(&mut conn)?;
        self.lock().push(conn);
        Ok(result)
    }

    fn connect(&self, connector: &Connector) -> Result<Conn, EngineError> {
        let mut conn = match self.place {
            Place::Only(endpoint) => connector.connect(endpoint)?,
            Place::First => first_reached(connector)?,
        };
        prepare(&mut conn, self.settings).map_err(|error| failed("preparing a connection", &error))?;
        Ok(conn)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Conn>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Errors
/// Of the last endpoint, if none lets us in.
fn first_reached(connector: &Connector) -> Result<Conn, EngineError> {
    let mut tried = connector.connect(0);
    for endpoint in 1..connector.endpoints() {
        if tried.is_ok() {
            break;
        }
        tried = connector.connect(endpoint);
    }
    tried
}

/// Sends statements that answer nothing.
///
/// # Errors
/// Of the first that fails.
pub(crate) fn prepare(conn: &mut Conn, statements: &[&str]) -> Result<(), mysql::Error> {
    statements.iter().try_for_each(|statement| conn.query_drop(statement))
}
