//! What an engine and its sessions share: the databases of ours, on one or several servers.

use std::sync::{Mutex, PoisonError};

use slob_engine::{EngineError, OpenSpec};
use slob_server::{Complete, Links, LoopPlace, Servers, reach_any};

use crate::connect::Connector;
use crate::connections::links;
use crate::globals::Globals;
use crate::product::Product;
use crate::stretch;

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
    /// If one can't be reached, or the server is too old or keeps no pages.
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self, EngineError> {
        let connector = Connector::from_target(&spec.target)?;
        // Before anything is set: what is no server of ours may not know the settings either.
        let product = Product::ask(&mut reach_any(&connector)?)?;
        let links = links(connector);
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

    /// SELECTs of so many keys at most that follow each other are one statement.
    pub(crate) fn joined(&self) -> u16 {
        stretch::widest(&self.product, self.loop_place)
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
