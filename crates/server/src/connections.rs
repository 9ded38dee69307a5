//! Connections to the servers of a target, their pool, and answers.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Mutex;

use slob_engine::{EngineError, ErrorKind, Result, lock};

use crate::{Endpoint, Host};

pub trait Connector: Send + Sync + 'static {
    type Connection: Send + 'static;

    /// A target has at least one.
    fn endpoints(&self) -> usize;

    /// Numbers go round, so a session's number will do.
    fn endpoint(&self, number: usize) -> &Endpoint;

    /// Numbers go round.
    fn connect(&self, endpoint: usize) -> Result<Self::Connection>;

    fn connect_for(&self, task: Task) -> Result<Self::Connection>;

    fn is_usable(connection: &mut Self::Connection) -> bool;

    fn names(&self) -> Vec<String> {
        (0..self.endpoints()).map(|number| self.endpoint(number).to_string()).collect()
    }

    /// `None` for a unix socket.
    fn host(&self, endpoint: usize) -> Option<String> {
        match &self.endpoint(endpoint).host {
            Host::Network(host) => Some(host.clone()),
            Host::Socket(_) => None,
        }
    }

    /// Tries the next endpoint, as all have the same data. A refusal is an error at once.
    fn connect_any(&self) -> Result<Self::Connection> {
        let first = match self.connect(0) {
            Err(error) if error.kind() == ErrorKind::Connection => error,
            other => return other,
        };
        (1..self.endpoints()).find_map(|endpoint| self.connect(endpoint).ok()).ok_or(first)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    Load,
    Read,
    Monitor(usize),
}

/// Idle connections by the purpose that they were made for.
pub struct Pool<K, C>(Mutex<BTreeMap<K, Vec<C>>>);

impl<K, C> Default for Pool<K, C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Copy, C> Pool<K, C> {
    /// An error closes the connection, and with it any open transaction.
    pub fn with<T>(
        &self,
        purpose: K,
        is_usable: impl FnOnce(&mut C) -> bool,
        connect: impl FnOnce() -> Result<C>,
        work: impl FnOnce(&mut C) -> Result<T>,
    ) -> Result<T> {
        // The lock is released while the server is asked.
        let idle = lock(&self.0).get_mut(&purpose).and_then(Vec::pop);
        let usable = idle.and_then(|mut connection| is_usable(&mut connection).then_some(connection));
        let mut connection = usable.map_or_else(connect, Ok)?;
        let result = work(&mut connection)?;
        lock(&self.0).entry(purpose).or_default().push(connection);
        Ok(result)
    }

    pub fn close(&self, purpose: K) {
        lock(&self.0).remove(&purpose);
    }
}

/// `None` is NULL.
#[derive(Clone, Debug, Default)]
pub struct Row(pub Vec<Option<String>>);

impl Row {
    /// `None` if it is NULL, missing, or of another type.
    pub fn get<T: FromStr>(&self, column: usize) -> Option<T> {
        self.0.get(column)?.as_ref()?.parse().ok()
    }

    /// A missing value is an error of [`ErrorKind::Data`].
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
