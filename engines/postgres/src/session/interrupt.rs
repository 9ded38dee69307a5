//! Asking the server to end a batch.

use std::sync::Arc;

use postgres::CancelToken;
use slob_server::Interrupt;

use crate::connect::Connector;

/// Ends the statement of the session with that token.
pub(crate) struct CancelRequest {
    pub(crate) token: CancelToken,
    pub(crate) connector: Arc<Connector>,
}

impl Interrupt for CancelRequest {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        Box::new(|| drop(self.connector.cancel(&self.token)))
    }

    fn others(&self) -> &'static str {
        "pg_cancel_backend()"
    }
}
