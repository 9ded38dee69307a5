//! Connections for everything that is not a session: loading, looking, counting.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slob_engine::EngineError;

use crate::{Connector, Errand};

/// Idle connections, which are used again for the purpose that they were made for.
#[derive(Debug)]
pub struct Pool<K, C>(Mutex<BTreeMap<K, Vec<C>>>);

impl<K, C> Default for Pool<K, C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord + Copy, C> Pool<K, C> {
    /// Lends a connection: an idle one that is still sound, else a new one. After an error it is closed, and with it any
    /// transaction that it had open.
    ///
    /// # Errors
    /// Of `connect` and of `work`.
    pub fn with<T>(
        &self,
        purpose: K,
        is_sound: impl FnOnce(&mut C) -> bool,
        connect: impl FnOnce() -> Result<C, EngineError>,
        work: impl FnOnce(&mut C) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        // The lock is not held while the server is asked.
        let idle = self.idle().get_mut(&purpose).and_then(Vec::pop);
        let sound = idle.and_then(|mut connection| is_sound(&mut connection).then_some(connection));
        let mut connection = sound.map_or_else(connect, Ok)?;
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

/// Connections to the servers of a target, each prepared for its errand.
pub struct Links<C: Connector> {
    connector: Arc<C>,
    connect: fn(&C, Errand) -> Result<C::Connection, EngineError>,
    pool: Pool<Errand, C::Connection>,
}

impl<C: Connector> Links<C> {
    /// No connections yet; `connect` makes and prepares one for an errand.
    pub fn new(connector: C, connect: fn(&C, Errand) -> Result<C::Connection, EngineError>) -> Self {
        Self { connector: Arc::new(connector), connect, pool: Pool::default() }
    }

    /// What makes the connections.
    pub fn connector(&self) -> &Arc<C> {
        &self.connector
    }

    /// Lends a connection.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub fn with<T>(
        &self,
        errand: Errand,
        work: impl FnOnce(&mut C::Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.pool.with(errand, C::is_sound, || (self.connect)(&self.connector, errand), work)
    }

    /// Lends a connection for looking at data and plans.
    ///
    /// # Errors
    /// As [`Links::with`].
    pub fn look<T>(
        &self,
        work: impl FnOnce(&mut C::Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.with(Errand::Look, work)
    }

    /// Lends a connection for making, loading or removing schemas.
    ///
    /// # Errors
    /// As [`Links::with`].
    pub fn load<T>(
        &self,
        work: impl FnOnce(&mut C::Connection) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.with(Errand::Load, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::ErrorKind;
    use std::cell::Cell;

    #[test]
    fn a_connection_is_used_again_unless_it_failed_or_is_not_sound() {
        let (pool, made) = (Pool::default(), Cell::new(0));
        let connect = || {
            made.set(made.get() + 1);
            Ok(made.get())
        };
        let lend =
            |purpose, is_sound| pool.with(purpose, |_| is_sound, connect, |connection| Ok(*connection));
        assert_eq!([lend('a', true), lend('a', true), lend('b', true)].map(Result::unwrap), [1, 1, 2]);
        assert_eq!(lend('a', false).unwrap(), 3, "the idle one was ended by its server");
        let failed = || EngineError::new(ErrorKind::Fatal, "a step", "no");
        pool.with('a', |_| true, connect, |_| Err::<(), _>(failed())).unwrap_err();
        assert_eq!(lend('a', true).unwrap(), 4, "with what it had open");
        pool.close('b');
        assert_eq!(lend('b', true).unwrap(), 5);
    }
}
