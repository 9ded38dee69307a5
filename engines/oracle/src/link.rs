//! Connections for everything that is not a session: loading, looking, counting.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use slob_engine::EngineError;
use slob_method::SchemaNo;

use crate::client::Client;
use crate::connector::{Connector, Who};

/// Connections that are used again when they come back sound.
#[derive(Default)]
pub(crate) struct Links(Mutex<BTreeMap<Who, Vec<Box<dyn Client>>>>);

impl Links {
    /// Lends a connection. After an error it is closed, and with it any transaction that it had open.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn with<T>(
        &self,
        connector: &Connector,
        who: Who,
        work: impl FnOnce(&mut dyn Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&who).and_then(Vec::pop);
        let mut client = match idle {
            Some(client) => client,
            None => connector.connect(who)?,
        };
        let result = work(client.as_mut())?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(who).or_default().push(client);
        Ok(result)
    }

    /// Closes the idle connections of an account: nobody needs them any more, and with them it could not be dropped.
    pub(crate) fn close(&self, schema: SchemaNo) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&Who::Schema(schema));
    }
}
