//! What an engine and its sessions share: the databases of ours, on one or several servers.

use std::sync::{Mutex, PoisonError};

use slob_engine::{EngineError, OpenSpec};
use slob_server::{Complete, Links, LoopPlace, Servers};

use crate::connect::Connector;
use crate::connections::links;
use crate::globals::Globals;
use crate::product::Product;

/// The databases of a target.
pub(crate) struct Databases {
    pub(crate) servers: Servers<Connector>,
    pub(crate) product: Product,
    pub(crate) loop_place: LoopPlace,
    pub(crate) complete: Complete,
    /// What was changed on the servers for a run, to be put back at the end.
    quiet: Mutex<Vec<Globals>>,
}

impl Databases {
    /// Connects to all endpoints of a target.
    ///
    /// # Errors
    /// If one can't be reached, or the server is too old.
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self, EngineError> {
        let links = links(Connector::from_target(&spec.target)?);
        let product = links.look(Product::ask)?;
        Ok(Self {
            servers: Servers::watch(links)?,
            product,
            loop_place: LoopPlace::from_options(&spec.options),
            complete: Complete::default(),
            quiet: Mutex::default(),
        })
    }

    /// The connections that are not sessions.
    pub(crate) fn links(&self) -> &Links<Connector> {
        self.servers.links()
    }

    /// Remembers what was changed on a server for a run.
    pub(crate) fn keep_quiet(&self, changed: Globals) {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner).push(changed);
    }

    /// Puts back what was changed for a run. Returns, in sentences, what could not be put back.
    pub(crate) fn put_back(&self) -> Vec<String> {
        let changed = std::mem::take(&mut *self.quiet.lock().unwrap_or_else(PoisonError::into_inner));
        changed.into_iter().flat_map(|of_server| of_server.put_back(None)).collect()
    }
}
