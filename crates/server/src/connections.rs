//! Connections to the servers of a target, the pool of those that are not sessions, and their answers.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use slob_engine::{EngineError, ErrorKind, Result};

use crate::{Endpoint, Host};

/// Makes connections to the endpoints of a target, by a client library.
pub trait Connector: Send + Sync + 'static {
    /// A connection of the library.
    type Connection: Send + 'static;

    /// The number of endpoints, at least one.
    fn endpoints(&self) -> usize;

    /// Numbers go round, so that the number of a session will do.
    fn endpoint(&self, number: usize) -> &Endpoint;

    /// Connects to an endpoint; numbers go round here too.
    fn connect(&self, endpoint: usize) -> Result<Self::Connection>;

    /// Connects for a task, with its settings.
    fn connect_for(&self, task: Task) -> Result<Self::Connection>;

    /// True if an idle connection can still be used.
    fn is_usable(connection: &mut Self::Connection) -> bool;

    /// The names of all endpoints, in order.
    fn names(&self) -> Vec<String> {
        (0..self.endpoints()).map(|number| self.endpoint(number).to_string()).collect()
    }

    /// The host of an endpoint; `None` for a unix socket.
    fn host(&self, endpoint: usize) -> Option<String> {
        match &self.endpoint(endpoint).host {
            Host::Network(host) => Some(host.clone()),
            Host::Socket(_) => None,
        }
    }

    /// Connects to the first endpoint that can be reached: all have the same data. A refusal is an error at once.
    fn connect_any(&self) -> Result<Self::Connection> {
        let first = match self.connect(0) {
            Err(error) if error.kind() == ErrorKind::Connection => error,
            other => return other,
        };
        (1..self.endpoints()).find_map(|endpoint| self.connect(endpoint).ok()).ok_or(first)
    }
}

/// The purpose of a connection that is not a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Creating, loading and dropping schemas.
    Load,
    /// Reading data and plans, with the settings of sessions.
    Read,
    /// Monitoring the server of an endpoint.
    Monitor(usize),
}

/// Idle connections, which are used again for the purpose they were made for.
pub struct Pool<K, C>(Mutex<BTreeMap<K, Vec<C>>>);

impl<K, C> Default for Pool<K, C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Copy, C> Pool<K, C> {
    /// Lends an idle connection that is still usable, else a new one. After an error it is closed, and with it any open
    /// transaction.
    pub fn with<T>(
        &self,
        purpose: K,
        is_usable: impl FnOnce(&mut C) -> bool,
        connect: impl FnOnce() -> Result<C>,
        work: impl FnOnce(&mut C) -> Result<T>,
    ) -> Result<T> {
        // The lock is released while the server is asked.
        let idle = self.idle().get_mut(&purpose).and_then(Vec::pop);
        let usable = idle.and_then(|mut connection| is_usable(&mut connection).then_some(connection));
        let mut connection = usable.map_or_else(connect, Ok)?;
        let result = work(&mut connection)?;
        self.idle().entry(purpose).or_default().push(connection);
        Ok(result)
    }

    /// Closes the idle connections of a purpose.
    pub fn close(&self, purpose: K) {
        self.idle().remove(&purpose);
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<K, Vec<C>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row of an answer in texts; `None` is NULL.
#[derive(Clone, Debug, Default)]
pub struct Row(pub Vec<Option<String>>);

impl Row {
    /// The value of a column; `None` if it is NULL, not there, or of another type.
    pub fn get<T: FromStr>(&self, column: usize) -> Option<T> {
        self.0.get(column)?.as_ref()?.parse().ok()
    }

    /// The value of a column that must be there.
    ///
    /// # Errors
    /// [`ErrorKind::Data`] if it is not.
    pub fn need<T: FromStr>(&self, column: usize, step: &str) -> Result<T> {
        self.get(column).ok_or_else(|| {
            let message = format!("column {} of the answer is missing or of another type", column + 1);
            EngineError::new(ErrorKind::Data, step, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_connection_is_used_again_unless_it_failed_or_is_unusable() {
        let (pool, made) = (Pool::default(), Cell::new(0));
        let connect = || {
            made.set(made.get() + 1);
            Ok(made.get())
        };
        let lend =
            |purpose, is_usable| pool.with(purpose, |_| is_usable, connect, |connection| Ok(*connection));
        assert_eq!([lend('a', true), lend('a', true), lend('b', true)].map(Result::unwrap), [1, 1, 2]);
        assert_eq!(lend('a', false).unwrap(), 3, "the server ended the idle one");
        let failed = || EngineError::new(ErrorKind::Fatal, "a step", "no");
        pool.with('a', |_| true, connect, |_| Err::<(), _>(failed())).unwrap_err();
        assert_eq!(lend('a', true).unwrap(), 4, "the failed one was closed with its transaction");
        pool.close('b');
        assert_eq!(lend('b', true).unwrap(), 5);
    }
}
