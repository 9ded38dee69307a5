//! Connections to one or several servers: addresses, passwords, encryption.
//!
//! Parameters come from the target, then from a service file, then from the variables that libpq reads (`PGHOST`,
//! `PGPORT`, `PGUSER`, `PGDATABASE`, `PGPASSWORD`, `PGPASSFILE`, `PGSERVICE`, `PGSERVICEFILE`, `PGSSLMODE`,
//! `PGSSLROOTCERT`, `PGSSLCERT`, `PGSSLKEY`, `PGCONNECT_TIMEOUT`, `PGOPTIONS`), then from libpq's defaults. `PGAPPNAME`
//! is ignored: sessions are found by the name that this engine gives them.

mod endpoint;
mod explain;
mod login;
mod passfile;
mod service;
mod sources;
mod tls;

use std::fmt;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{CancelToken, Client, Config, NoTls};
use slob_engine::{EngineError, within};
use slob_server::network::{
    CONNECT_TIMEOUT, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES, LOGIN_TIMEOUT, USER_TIMEOUT,
    unanswered,
};
use slob_server::{Connector as _, Environment, unusable};
use slob_spec::Target;

use endpoint::{Endpoint, Place};
use explain::explain;
use login::Login;
use sources::Sources;
use tls::Tls;

/// What sessions are called in `pg_stat_activity`.
const APPLICATION: &str = "slob";
/// After that long the system has given up by itself (`tcp_syn_retries` of Linux: 127 s).
const SYSTEM_TIMEOUT: Duration = Duration::from_secs(150);

/// Makes connections to the servers of a target. Files are read once, when it is made; names are looked up once,
/// when they are first needed.
pub(crate) struct Connector {
    servers: Vec<Server>,
    tls: Tls,
    user: String,
    database: String,
}

/// An endpoint with everything that a connection to it needs except its addresses.
struct Server {
    endpoint: Endpoint,
    config: Config,
    /// What people should know if the password is refused.
    hint: Option<String>,
}

impl Server {
    fn new(endpoint: Endpoint, common: &Config, login: &Login) -> Self {
        let mut config = common.clone();
        let (password, hint) = login.password(&endpoint);
        if let Some(password) = password {
            config.password(password.expose());
        }
        Self { endpoint, config, hint }
    }
}

impl Connector {
    /// Reads what a target and the process's environment say. Connects to nothing.
    ///
    /// # Errors
    /// If a parameter is not known or misspelt, or a file that is named can't be used.
    pub(crate) fn from_target(target: &Target) -> Result<Self, EngineError> {
        Self::from_environment(target, &Environment::process())
    }

    /// As [`Connector::from_target`], in an environment that need not be the process's.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn from_environment(
        target: &Target,
        environment: &Environment<'_>,
    ) -> Result<Self, EngineError> {
        let sources = Sources::new(target, environment)?;
        let login = Login::new(target, &sources, environment)?;
        let common = common_config(&login, &sources)?;
        let endpoints = endpoint::endpoints(target.endpoints(), &sources)?;
        let remote = endpoints.iter().any(|endpoint| !endpoint.is_local());
        let servers = endpoints.into_iter().map(|endpoint| Server::new(endpoint, &common, &login)).collect();
        let tls = Tls::from_sources(&sources, environment, remote)?;
        Ok(Self { servers, tls, user: login.user, database: login.database })
    }

    /// Asks a server to end what the session of `token` does, through a connection that is encrypted like those of
    /// [`Connector::connect`].
    ///
    /// # Errors
    /// If the server can't be reached. Whether anything was cancelled is not known.
    pub(crate) fn cancel(&self, token: &CancelToken) -> Result<(), EngineError> {
        let done = match &self.tls {
            Tls::Off => token.cancel_query(NoTls),
            Tls::On { connect, .. } => token.cancel_query(connect.clone()),
        };
        done.map_err(|error| explain("cancelling a session".to_owned(), &error, None))
    }

    fn server(&self, endpoint: usize) -> &Server {
        &self.servers[endpoint % self.servers.len()]
    }

    fn step(&self, endpoint: usize) -> String {
        let Self { user, database, .. } = self;
        format!("connecting to {} as '{user}', database '{database}'", self.endpoint(endpoint))
    }
}

impl slob_server::Connector for Connector {
    type Connection = Client;

    fn endpoints(&self) -> usize {
        self.servers.len()
    }

    fn endpoint(&self, endpoint: usize) -> String {
        self.server(endpoint).endpoint.to_string()
    }

    fn host(&self, endpoint: usize) -> Option<String> {
        match &self.server(endpoint).endpoint.place {
            Place::Network(host) => Some(host.clone()),
            Place::Socket(_) => None,
        }
    }

    fn connect(&self, endpoint: usize) -> Result<Client, EngineError> {
        let server = self.server(endpoint);
        let mut config = server.config.clone();
        config.port(server.endpoint.port);
        match &server.endpoint.place {
            Place::Socket(folder) => {
                config.host_path(folder).ssl_mode(SslMode::Disable);
            }
            Place::Network(host) => {
                for address in server.endpoint.addresses()? {
                    // The name is what a certificate is checked against, the address where to go.
                    config.host(host).hostaddr(*address);
                }
            }
        }
        let tls = match &self.tls {
            Tls::Off => {
                config.ssl_mode(SslMode::Disable);
                None
            }
            Tls::On { mode, connect, remote_only } => {
                if matches!(server.endpoint.place, Place::Network(_)) {
                    let plain = *remote_only && server.endpoint.is_local();
                    config.ssl_mode(if plain { SslMode::Disable } else { *mode });
                }
                Some(connect.clone())
            }
        };
        // Of a name with several addresses each is tried.
        let addresses = u32::try_from(config.get_hostaddrs().len()).unwrap_or(1).max(1);
        let patience = config.get_connect_timeout().copied().unwrap_or(SYSTEM_TIMEOUT);
        let patience = patience.saturating_mul(addresses) + LOGIN_TIMEOUT;
        let made = within(patience, move || match tls {
            None => config.connect(NoTls),
            Some(connect) => config.connect(connect),
        });
        made.map_err(|silence| unanswered(self.step(endpoint), &silence))?
            .map_err(|error| explain(self.step(endpoint), &error, server.hint.as_deref()))
    }

    fn is_sound(client: &mut Client) -> bool {
        !client.is_closed()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, database, .. } = self;
        f.debug_struct("Connector")
            .field("endpoints", &self.names())
            .field("user", user)
            .field("database", database)
            .finish_non_exhaustive()
    }
}

/// What all connections have in common.
fn common_config(login: &Login, sources: &Sources<'_>) -> Result<Config, EngineError> {
    let mut config = Config::new();
    config.user(&login.user).dbname(&login.database).application_name(APPLICATION);
    config.keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
    config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_PROBES);
    config.tcp_user_timeout(USER_TIMEOUT);
    if let Some(timeout) = connect_timeout(sources)? {
        config.connect_timeout(timeout);
    }
    if let Some(options) = sources.get("options") {
        config.options(&options);
    }
    Ok(config)
}

/// Reads `connect_timeout` in seconds; with 0 or less it is the system that gives up, as in libpq.
fn connect_timeout(sources: &Sources<'_>) -> Result<Option<Duration>, EngineError> {
    let Some(text) = sources.get("connect_timeout") else { return Ok(Some(CONNECT_TIMEOUT)) };
    let seconds: i64 = text.trim().parse().map_err(|_| {
        unusable(format!("connect_timeout={text} is not a number")).with_advice("write it in whole seconds")
    })?;
    Ok(u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs))
}
