//! Connections for everything that is not a session: loading, looking, counting.

use std::sync::{Mutex, PoisonError};

use postgres::Client;
use slob_engine::EngineError;

use crate::connect::Connector;
use crate::error::failed;

/// Connections of one purpose, each prepared with the same settings and used again when it comes back sound.
pub(crate) struct Links {
    settings: &'static str,
    /// `None` for any that answers, the first ones first.
    endpoint: Option<usize>,
    idle: Mutex<Vec<Client>>,
}

impl Links {
    /// No connections yet; each that is made goes to the first endpoint that answers and is prepared with
    /// `settings`.
    pub(crate) fn new(settings: &'static str) -> Self {
        Self { settings, endpoint: None, idle: Mutex::default() }
    }

    /// The same, to one endpoint.
    pub(crate) fn to_endpoint(settings: &'static str, endpoint: usize) -> Self {
        Self { settings, endpoint: Some(endpoint), idle: Mutex::default() }
    }

    /// Lends a connection. After an error it is closed, and with it any transaction that it had open.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn with<T>(
        &self,
        connector: &Connector,
        work: impl FnOnce(&mut Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let idle = self.lock().pop();
        let mut client = match idle {
            Some(client) if !client.is_closed() => client,
            _ => self.connect(connector)?,
        };
        let result = work(&mut client)?;
        self.lock().push(client);
        Ok(result)
    }

    fn connect(&self, connector: &Connector) -> Result<Client, EngineError> {
        let mut client = match self.endpoint {
            Some(endpoint) => connector.connect(endpoint)?,
            None => connector.connect_anywhere()?,
        };
        client.batch_execute(self.settings).map_err(|error| failed("preparing a connection", &error))?;
        Ok(client)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
