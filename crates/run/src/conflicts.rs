//! Conflicts with other sessions, such as deadlocks: the server rolled an operation back, and it is repeated.

use std::collections::BTreeMap;

use slob_engine::{EngineError, ErrorKind};

/// More retries in a row are a failure.
const MOST_RETRIES: u32 = 100;

#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    /// The key is the server's code.
    pub(crate) by_code: BTreeMap<String, u64>,
    /// Consecutive conflicts of the same operation.
    tries: u32,
}

impl Conflicts {
    /// `done` operations precede it. False for another error, and after too many retries.
    pub(crate) fn may_retry(&mut self, error: &EngineError, done: usize) -> bool {
        if error.kind() != ErrorKind::Retryable || self.tries >= MOST_RETRIES {
            return false;
        }
        self.tries = if done > 0 { 1 } else { self.tries + 1 };
        *self.by_code.entry(error.code().unwrap_or("conflict").to_owned()).or_default() += 1;
        true
    }

    pub(crate) fn end(&mut self) {
        self.tries = 0;
    }
}
