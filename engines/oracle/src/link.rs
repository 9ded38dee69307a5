//! Connections for everything that is not a session: loading, looking, counting.

use slob_engine::EngineError;
use slob_method::SchemaNo;
use slob_server::Pool;

use crate::client::Client;
use crate::connector::{Connector, Who};

/// Connections that are used again when they come back sound.
#[derive(Default)]
pub(crate) struct Links(Pool<Who, Box<dyn Client>>);

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
        self.0.with(who, |_| true, || connector.connect(who), |client| work(client.as_mut()))
    }

    /// Closes the idle connections of an account: nobody needs them any more, and with them it could not be dropped.
    pub(crate) fn close(&self, schema: SchemaNo) {
        self.0.close(Who::Schema(schema));
    }
}
