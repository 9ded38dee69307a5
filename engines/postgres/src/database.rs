//! What an engine and its sessions share: one database, on one or several servers.

use std::time::Duration;

use postgres::Client;
use slob_engine::{EngineError, OpenSpec};
use slob_method::SchemaNo;
use slob_server::{Complete, Links, Servers};

use crate::connect::Connector;
use crate::connections::links;
use crate::locks;
use crate::options::Options;
use crate::version::ServerVersion;

/// A database of a PostgreSQL server.
pub(crate) struct Database {
    pub(crate) servers: Servers<Connector>,
    pub(crate) version: ServerVersion,
    pub(crate) options: Options,
    pub(crate) complete: Complete,
}

impl Database {
    /// Connects to all endpoints of a target.
    ///
    /// # Errors
    /// If one can't be reached, or the server is too old.
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self, EngineError> {
        let links = links(Connector::from_target(&spec.target)?);
        let version = links.look(ServerVersion::ask)?;
        let servers = Servers::watch(links)?;
        Ok(Self { servers, version, options: Options::from_spec(spec), complete: Complete::default() })
    }

    /// The connections that are not sessions.
    pub(crate) fn links(&self) -> &Links<Connector> {
        self.servers.links()
    }

    /// Work on a schema that needs locks; when they are not had in time, the error names who holds them.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn loading<T>(
        &self,
        schema: SchemaNo,
        patience: Duration,
        work: impl FnOnce(&mut Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let gave_up = |_: &mut Client| Ok(format!("{} s", patience.as_secs()));
        self.links().load(work).map_err(|error| locks::named(self.links(), schema, error, gave_up))
    }
}
