//! What an engine and its sessions share: the accounts of ours in one Oracle database.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use slob_engine::{EngineError, OpenSpec};
use slob_server::Complete;

use crate::access::Access;
use crate::catalog::number;
use crate::client::{Client, Dial};
use crate::connector::{Connector, Who};
use crate::counters::Views;
use crate::link::Links;
use crate::options::Options;
use crate::passwords::Passwords;
use crate::scope::Scope;
use crate::session;
use crate::version::{self, Version};

/// A database, on one or several instances.
pub(crate) struct Database {
    pub(crate) connector: Connector,
    pub(crate) links: Links,
    pub(crate) version: Version,
    pub(crate) views: Views,
    pub(crate) options: Options,
    /// The instances that endpoints lead to, once they were asked for.
    pub(crate) places: OnceLock<Option<Vec<u64>>>,
    /// What the counters are of.
    pub(crate) scope: Scope,
    /// Held by whoever asks the server to end the call of a session.
    pub(crate) ending: Mutex<()>,
    /// Schemas that were found to be complete.
    pub(crate) complete: Complete,
}

impl Database {
    /// Opens a target by those connections, with the passwords in that file unless a parameter names one.
    ///
    /// # Errors
    /// If a parameter is misspelt, or the server can't be asked or is too old.
    pub(crate) fn open(
        spec: &OpenSpec,
        dial: Box<dyn Dial>,
        password_file: Option<PathBuf>,
    ) -> Result<Self, EngineError> {
        let options = Options::from_spec(spec)?;
        let access = Access::new(&spec.target, &options)?;
        let password_file = options.password_file.clone().or(password_file);
        let passwords = Passwords::new(password_file, &access.admin_service)?;
        let connector = Connector::new(dial, access, options.prefix.clone(), options.accounts, passwords);
        let links = Links::default();
        let (version, container, views) = links.with(&connector, Who::Admin, |client| {
            let (version, container) = version::ask(client)?;
            container.refuse_root()?;
            connector.settle(client, session::settings(&version))?;
            Ok((version, container, views(client)))
        })?;
        let scope = match &options.root_service {
            Some(service) => links.with(&connector, Who::Root, |client| Scope::of_root(client, service))?,
            None => Scope::of(&version, &container),
        };
        Ok(Self {
            connector,
            links,
            version,
            views,
            options,
            places: OnceLock::new(),
            scope,
            ending: Mutex::default(),
            complete: Complete::default(),
        })
    }

    /// Works as the account that looks.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn look<T>(
        &self,
        work: impl FnOnce(&mut dyn Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.links.with(&self.connector, Who::Admin, work)
    }

    /// Works where counters are read.
    ///
    /// # Errors
    /// Of connecting, and of `work`.
    pub(crate) fn count<T>(
        &self,
        work: impl FnOnce(&mut dyn Client) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let who = if self.options.root_service.is_some() { Who::Root } else { Who::Admin };
        self.links.with(&self.connector, who, work)
    }
}

/// All instances, if there are several and the account may see them.
fn views(client: &mut dyn Client) -> Views {
    let rows = client.query(include_str!("../sql/instances.sql"), &[]).unwrap_or_default();
    match rows.first().and_then(|row| number(row, 0)) {
        Some(instances) if instances > 1 => Views::Cluster,
        _ => Views::Instance,
    }
}
