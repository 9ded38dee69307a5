use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use slob_engine::{ErrorKind, OpenSpec, Result, lock};
use slob_method::SchemaNo;
use slob_server::{LoadedSchemas, Pool};
use slob_spec::Secret;

use crate::client::{Cancellation, Client, Driver, During, Login, failed};
use crate::counters::{Unwanted, Views};
use crate::options::{Access, Accounts, Options, service_name};
use crate::passwords::Passwords;
use crate::release::{self, Scope, Version, is_needed};
use crate::session::CallOverhead;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Admin,
    /// Counters are read in the root of the container database.
    Root,
    Schema(SchemaNo),
}

/// Only connections of sessions are not reused.
pub(crate) struct Connections {
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) access: Access,
    pub(crate) options: Options,
    pub(crate) passwords: Passwords,
    settings: OnceLock<Vec<&'static str>>,
    refused: Mutex<BTreeMap<&'static str, String>>,
    idle: Pool<Role, Box<dyn Client>>,
    /// Schemas known to carry our mark: a load has thousands of slices.
    loading: Mutex<BTreeSet<SchemaNo>>,
    cancelling: Mutex<()>,
}

impl Connections {
    /// An error closes the connection and rolls its transaction back.
    pub(crate) fn with<T>(&self, role: Role, work: impl FnOnce(&mut dyn Client) -> Result<T>) -> Result<T> {
        self.idle.with(role, |_| true, || self.connect(role), |client| work(client.as_mut()))
    }

    pub(crate) fn forget(&self, schema: SchemaNo) {
        self.close(schema);
        lock(&self.loading).remove(&schema);
    }

    pub(crate) fn close(&self, schema: SchemaNo) {
        self.idle.close(Role::Schema(schema));
    }

    pub(crate) fn require_mark(&self, schema: SchemaNo, look: impl FnOnce() -> Result<()>) -> Result<()> {
        if !lock(&self.loading).contains(&schema) {
            look()?;
            lock(&self.loading).insert(schema);
        }
        Ok(())
    }

    /// Sessions choose their own service.
    pub(crate) fn connect(&self, role: Role) -> Result<Box<dyn Client>> {
        let root = self.access.root_service.as_ref().filter(|_| role == Role::Root);
        self.connect_to(role, root.unwrap_or(&self.access.admin_service))
    }

    pub(crate) fn connect_to_endpoint(&self, role: Role, endpoint: usize) -> Result<Box<dyn Client>> {
        self.connect_to(role, self.access.services.get(endpoint).unwrap_or(&self.access.admin_service))
    }

    fn connect_to(&self, role: Role, service: &str) -> Result<Box<dyn Client>> {
        let login = match role {
            Role::Admin | Role::Root => self.access.admin.clone(),
            Role::Schema(schema) => self.schema_login(schema)?,
        };
        let step = format!("connecting to {} as {}", service_name(service), login.name());
        let mut client = self.driver.connect(&login, service).during(&step)?;
        self.set_up(client.as_mut())?;
        Ok(client)
    }

    fn schema_login(&self, schema: SchemaNo) -> Result<Login> {
        let user = self.user(schema);
        let password = match self.options.accounts {
            Accounts::Kit => Secret::new(user.to_ascii_lowercase()),
            Accounts::Create | Accounts::Existing => self.passwords.get(&user)?,
        };
        Ok(Login { user: Some((user, password)), sysdba: false })
    }

    /// Other refused settings are notes.
    fn set_up(&self, client: &mut dyn Client) -> Result<()> {
        for sql in self.settings.get().into_iter().flatten().copied() {
            let Err(fault) = client.execute(sql, &[]) else { continue };
            let error = failed(&format!("executing {sql}"), &fault);
            if error.kind() == ErrorKind::Connection {
                return Err(error);
            }
            if is_needed(sql) {
                return Err(error.with_advice(
                    "figures rest on this setting: a lockdown profile or a trigger may refuse it; allow it to the account",
                ));
            }
            lock(&self.refused).insert(sql, fault.message.trim().to_owned());
        }
        Ok(())
    }

    pub(crate) fn refused_settings(&self) -> Vec<String> {
        let note = |(sql, why): (&&str, &String)| {
            format!("The server refuses {sql} ({why}); its own setting applies, and no figure rests on it.")
        };
        lock(&self.refused).iter().map(note).collect()
    }

    /// One call at a time, so that hundreds of sessions need one connection. A failure leaves the call to its deadline.
    pub(crate) fn cancel(&self, cancellation: &Cancellation) {
        let sql = match cancellation {
            Cancellation::Break(break_call) => return break_call(),
            Cancellation::Statement(sql) => sql,
        };
        let _turn = lock(&self.cancelling);
        let _ = self.with(Role::Admin, |client| {
            // Cancelling an idle session is an error, but the connection is good.
            let _ = client.execute(sql, &[]);
            Ok(())
        });
    }

    pub(crate) fn user(&self, schema: SchemaNo) -> String {
        self.options.prefix.user(schema)
    }
}

pub(crate) struct Database {
    pub(crate) connections: Connections,
    pub(crate) version: Version,
    pub(crate) views: Views,
    pub(crate) scope: Scope,
    /// `None` if endpoints and instances do not correspond.
    pub(crate) instances: OnceLock<Option<Vec<u64>>>,
    pub(crate) summed: OnceLock<Vec<u64>>,
    pub(crate) complete: LoadedSchemas,
    pub(crate) call_overhead: Arc<CallOverhead>,
    /// True if the run has UPDATEs.
    pub(crate) watched: Mutex<Option<(Unwanted, bool)>>,
    clock_step_us: OnceLock<Option<u64>>,
}

impl Database {
    /// A parameter for the file has precedence over `password_file`.
    pub(crate) fn open(
        spec: &OpenSpec,
        driver: Box<dyn Driver>,
        password_file: Option<PathBuf>,
    ) -> Result<Self> {
        let options = Options::new(spec)?;
        let access = Access::new(spec)?;
        let password_file = options.password_file.clone().or(password_file);
        let passwords = Passwords::new(password_file, &access.admin_service)?;
        let (settings, refused, idle) = (OnceLock::new(), Mutex::default(), Pool::default());
        let (loading, cancelling) = (Mutex::default(), Mutex::default());
        let connections =
            Connections { driver, access, options, passwords, settings, refused, idle, loading, cancelling };
        let (version, container, views) = connections.with(Role::Admin, |client| {
            let (version, container) = release::ask(client)?;
            container.refuse_root()?;
            let _ = connections.settings.set(version.settings());
            connections.set_up(client)?;
            Ok((version, container, views(client)))
        })?;
        let scope = match &connections.access.root_service {
            Some(service) => connections.with(Role::Root, |client| Scope::of_root(client, service))?,
            None => Scope::of(&version, &container),
        };
        Ok(Self {
            connections,
            version,
            views,
            scope,
            instances: OnceLock::new(),
            summed: OnceLock::new(),
            complete: LoadedSchemas::default(),
            call_overhead: Arc::default(),
            watched: Mutex::default(),
            clock_step_us: OnceLock::new(),
        })
    }

    /// One reading of the clock takes some time, which is the least step.
    pub(crate) fn clock_step_us(&self, client: &mut dyn Client) -> Option<u64> {
        let measure = || client.answer(include_str!("../sql/clock_step.sql")).ok().filter(|step| *step > 0);
        *self.clock_step_us.get_or_init(measure)
    }

    pub(crate) fn as_admin<T>(&self, work: impl FnOnce(&mut dyn Client) -> Result<T>) -> Result<T> {
        self.connections.with(Role::Admin, work)
    }

    pub(crate) fn with_counters<T>(&self, work: impl FnOnce(&mut dyn Client) -> Result<T>) -> Result<T> {
        let has_root = self.connections.access.root_service.is_some();
        self.connections.with(if has_root { Role::Root } else { Role::Admin }, work)
    }
}

/// One instance, or views that the account may not see, give the plain views.
fn views(client: &mut dyn Client) -> Views {
    match client.visible_number(include_str!("../sql/instances.sql")) {
        Some(instances) if instances > 1 => Views::Cluster,
        _ => Views::Instance,
    }
}
