//! Asking the server to end a batch.

use std::sync::{Arc, PoisonError};

use slob_server::Interrupt;

use crate::client::Ending;
use crate::database::Database;

/// Ends the call of a session.
pub(super) struct EndCall {
    pub(super) ending: Ending,
    pub(super) database: Arc<Database>,
}

impl Interrupt for EndCall {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        Box::new(|| match &self.ending {
            Ending::Break(breaker) => breaker.break_call(),
            Ending::Statement(sql) => self.execute(sql),
        })
    }

    fn others(&self) -> &'static str {
        "ALTER SYSTEM CANCEL SQL or a resource plan"
    }
}

impl EndCall {
    /// One after the other, so that hundreds of sessions take one connection for it. If it can't be done, the call ends with
    /// its deadline.
    fn execute(&self, sql: &str) {
        let _turn = self.database.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.database.look(|client| {
            // A session that is at nothing any more is an error, and no reason to close the connection.
            let _ = client.execute(sql, &[]);
            Ok(())
        });
    }
}
