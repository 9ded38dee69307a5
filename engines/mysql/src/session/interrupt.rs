//! Asking the server to end a batch.

use std::sync::Arc;

use mysql::prelude::Queryable;
use slob_server::{Connector as _, Interrupt};

use crate::connect::Connector;

/// Ends the statement of the session with that number on its server.
pub(super) struct KillQuery {
    pub(super) connection: u32,
    pub(super) endpoint: usize,
    pub(super) connector: Arc<Connector>,
}

impl Interrupt for KillQuery {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        let mut conn = None;
        Box::new(move || {
            if conn.is_none() {
                conn = self.connector.connect(self.endpoint).ok();
            }
            if let Some(conn) = &mut conn {
                let _ = conn.query_drop(format!("KILL QUERY {}", self.connection));
            }
        })
    }

    fn others(&self) -> &'static str {
        "KILL QUERY or a time limit of statements"
    }
}
