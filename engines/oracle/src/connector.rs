//! Connections to a target, by who is to work.

use std::sync::{Arc, OnceLock};

use slob_engine::EngineError;
use slob_method::SchemaNo;
use slob_spec::Secret;

use crate::access::Access;
use crate::client::{Client, Dial, Driver, Login};
use crate::error::failed;
use crate::names::Prefix;
use crate::options::Accounts;
use crate::passwords::Passwords;

/// Who a connection works as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The account that makes, drops and looks.
    Admin,
    /// The same account, in the root of the container database, where counters are read.
    Root,
    /// The account of a schema.
    Schema(SchemaNo),
}

/// Makes connections to one target.
pub(crate) struct Connector {
    dial: Box<dyn Dial>,
    pub(crate) access: Access,
    pub(crate) prefix: Prefix,
    pub(crate) accounts: Accounts,
    pub(crate) passwords: Arc<Passwords>,
    /// What every connection is set to, once the release of the server is known.
    settings: OnceLock<Vec<&'static str>>,
}

impl Connector {
    /// Nothing is connected yet.
    pub(crate) fn new(
        dial: Box<dyn Dial>,
        access: Access,
        prefix: Prefix,
        accounts: Accounts,
        passwords: Passwords,
    ) -> Self {
        Self { dial, access, prefix, accounts, passwords: Arc::new(passwords), settings: OnceLock::new() }
    }

    /// Connects for anything but the work of a session.
    ///
    /// # Errors
    /// If there is no client library, no password, or the server refuses.
    pub(crate) fn connect(&self, who: Who) -> Result<Box<dyn Client>, EngineError> {
        let service = match (who, &self.access.root_service) {
            (Who::Root, Some(service)) => service,
            _ => &self.access.admin_service,
        };
        self.dial(who, service)
    }

    /// Connects to one of the services of the sessions, as the account that looks.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub(crate) fn connect_admin(&self, endpoint: usize) -> Result<Box<dyn Client>, EngineError> {
        self.dial(Who::Admin, self.service(endpoint))
    }

    /// Connects to one of the services of the sessions, as the account of a schema.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub(crate) fn connect_session(
        &self,
        schema: SchemaNo,
        endpoint: usize,
    ) -> Result<Box<dyn Client>, EngineError> {
        self.dial(Who::Schema(schema), self.service(endpoint))
    }

    fn service(&self, endpoint: usize) -> &str {
        self.access.services.get(endpoint).map_or(self.access.admin_service.as_str(), String::as_str)
    }

    /// What makes the connections.
    pub(crate) fn driver(&self) -> Driver {
        self.dial.driver()
    }

    /// Has connections set to this from now on, and the one through which the release was asked for.
    ///
    /// # Errors
    /// Of the server.
    pub(crate) fn settle(
        &self,
        client: &mut dyn Client,
        settings: Vec<&'static str>,
    ) -> Result<(), EngineError> {
        let _ = self.settings.set(settings);
        self.set(client)
    }

    fn set(&self, client: &mut dyn Client) -> Result<(), EngineError> {
        self.settings.get().into_iter().flatten().try_for_each(|sql| {
            client.execute(sql, &[]).map(drop).map_err(|fault| failed(format!("executing {sql}"), &fault))
        })
    }

    /// The names of the services of the sessions.
    pub(crate) fn endpoints(&self) -> &[String] {
        &self.access.services
    }

    fn dial(&self, who: Who, service: &str) -> Result<Box<dyn Client>, EngineError> {
        let mut client = self.dial_plain(who, service)?;
        self.set(client.as_mut())?;
        Ok(client)
    }

    fn dial_plain(&self, who: Who, service: &str) -> Result<Box<dyn Client>, EngineError> {
        let login = match who {
            Who::Admin | Who::Root => self.access.admin.clone(),
            Who::Schema(schema) => self.schema_login(schema)?,
        };
        let name = match &login {
            Login::OperatingSystem { .. } => "the account of the operating system",
            Login::Password { user, .. } => user,
        };
        let step = format!("connecting to {} as {name}", Access::shown(service));
        self.dial.dial(&login, service).map_err(|fault| failed(step, &fault))
    }

    fn schema_login(&self, schema: SchemaNo) -> Result<Login, EngineError> {
        let user = self.prefix.user(schema);
        let password = match self.accounts {
            // The original gives each account its own name as password.
            Accounts::Kit => Secret::new(user.to_ascii_lowercase()),
            Accounts::Create | Accounts::Existing => self.passwords.get(&user)?,
        };
        Ok(Login::Password { user, password, sysdba: false })
    }
}
