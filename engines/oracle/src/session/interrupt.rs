//! Asking the server to end a batch.

use std::sync::Arc;

use slob_server::Interrupt;

use crate::client::Break;

/// Ends the call of the session with that connection.
pub(super) struct BreakCall(pub(super) Arc<dyn Break>);

impl Interrupt for BreakCall {
    fn asker(&self) -> Box<dyn FnMut() + '_> {
        Box::new(|| self.0.break_call())
    }

    fn others(&self) -> &'static str {
        "ALTER SYSTEM CANCEL SQL or a resource plan"
    }
}
