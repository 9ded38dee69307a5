//! Connections to servers: addresses, passwords, encryption.
//!
//! Parameters come from the target, then from a service file, then from libpq's variables, then from its defaults. `PGAPPNAME` is
//! ignored, as this engine finds sessions by their name.

mod files;
pub(crate) mod guard;
mod tls;

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use postgres::config::{SslMode, SslNegotiation};
use postgres::{CancelToken, Client, Config};
use slob_engine::{EngineError, ErrorKind, Result, within};
use slob_server::errors::{refused, unanswered};
use slob_server::{
    CONNECT_TIMEOUT, Connector as _, Endpoint, Environment, Host, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL,
    KEEPALIVE_PROBES, Keywords, LOGIN_TIMEOUT, Parameters, Task, USER_TIMEOUT, port, unusable,
};
use slob_spec::{Secret, Target};

use crate::sql::{Ask, causes, quoted, with_causes};

use guard::Guard;
use tls::Tls;

const APPLICATION: &str = "slob";
pub(crate) const SESSION: &str = include_str!("../../sql/session.sql");
/// `tcp_syn_retries` of Linux is 127 s.
const SYSTEM_TIMEOUT: Duration = Duration::from_secs(150);
const DEFAULT_PORT: u16 = 5432;
const PORT_SOURCES: &str = "port= in the query, the service file, or PGPORT";
/// Distributions have the first, servers from source the second.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// libpq has the same.
const KEYWORDS: Keywords = Keywords {
    names: &[
        ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
        ("dbname", Some("PGDATABASE")),
        ("host", Some("PGHOST")),
        ("options", Some("PGOPTIONS")),
        ("passfile", Some("PGPASSFILE")),
        ("password", Some("PGPASSWORD")),
        ("port", Some("PGPORT")),
        ("service", Some("PGSERVICE")),
        ("ssl", None),
        ("sslcert", Some("PGSSLCERT")),
        ("sslkey", Some("PGSSLKEY")),
        ("sslmode", Some("PGSSLMODE")),
        ("sslrootcert", Some("PGSSLROOTCERT")),
        ("user", Some("PGUSER")),
    ],
    spelling: str::to_owned,
};

/// Reads files once, and looks names up once, on first use.
pub(crate) struct Connector {
    servers: Vec<Server>,
    tls: Tls,
    user: String,
    database: String,
}

struct Server {
    endpoint: Endpoint,
    addresses: OnceLock<Vec<IpAddr>>,
    config: Config,
    /// Advice on a refused password.
    hint: Option<String>,
}

impl Server {
    /// Empty for a unix socket. A failed lookup is repeated.
    fn addresses(&self) -> Result<&[IpAddr]> {
        let Host::Network(host) = &self.endpoint.host else { return Ok(&[]) };
        if let Some(known) = self.addresses.get() {
            return Ok(known);
        }
        let found = (host.as_str(), self.endpoint.port).to_socket_addrs().map_err(|error| {
            let step = format!("looking up the host '{host}'");
            EngineError::new(ErrorKind::Connection, step, error.to_string())
                .with_advice("check the host's name in the target, or give its address")
        })?;
        Ok(self.addresses.get_or_init(|| found.map(|address| address.ip()).collect()))
    }
}

impl Connector {
    pub(crate) fn new(target: &Target, environment: &Environment<'_>) -> Result<Self> {
        let mut parameters = Parameters::new(KEYWORDS, target, environment)?;
        if let Some(name) = parameters.get("service") {
            // Other parameters are for other programs.
            parameters.file = files::service(&name, environment)?;
        }
        // These are libpq's defaults.
        let user = parameters.user("postgres://USER@host/database")?;
        let database = target.database().map(str::to_owned).or_else(|| parameters.get("dbname"));
        let database = database.unwrap_or_else(|| user.clone());
        let common = common_config(&user, &database, &parameters)?;
        let endpoints = endpoints(target, &parameters)?;
        let remote = endpoints.iter().any(|endpoint| !endpoint.is_local());
        let given = target.password().cloned().or_else(|| parameters.get("password").map(Secret::new));
        let file = parameters.get("passfile").map(PathBuf::from).or_else(|| environment.home(".pgpass"));
        let server = |endpoint: Endpoint| {
            let (password, hint) = match (&given, &file) {
                (Some(password), _) => (Some(password.clone()), None),
                (None, Some(file)) => password_in(file, &endpoint, &database, &user),
                (None, None) => (None, None),
            };
            let mut config = common.clone();
            if let Some(password) = password {
                config.password(password.expose());
            }
            Server { endpoint, addresses: OnceLock::new(), config, hint }
        };
        let servers = endpoints.into_iter().map(server).collect();
        Ok(Self { servers, tls: Tls::new(&parameters, remote)?, user, database })
    }

    /// The connection is encrypted like the others. Success does not say that anything was cancelled.
    pub(crate) fn cancel(&self, token: &CancelToken, endpoint: usize) -> Result<()> {
        let done = token.cancel_query(self.guard(self.endpoint(endpoint)));
        done.map_err(|error| explain("cancelling a session".to_owned(), &error, None))
    }

    /// Unix sockets need no encryption.
    fn guard(&self, endpoint: &Endpoint) -> Guard {
        Guard(match &self.tls {
            Tls::On { mode, connect, remote_only } if !(*remote_only && endpoint.is_local()) => {
                Some((*mode, connect.clone()))
            }
            _ => None,
        })
    }

    /// The statement makes a missing role or database.
    fn with_statement(&self, error: EngineError) -> EngineError {
        let (user, database) = (quoted(&self.user), quoted(&self.database));
        let create = format!("CREATE DATABASE {database} OWNER {user}");
        let role = || format!("CREATE ROLE {user} LOGIN PASSWORD '...', then {create}");
        let said = error.to_string();
        let statement = match error.code() {
            Some("SQLSTATE 3D000") => create,
            Some("SQLSTATE 28000") if said.contains("does not exist") => role(),
            // The server does not tell a role that is missing from a wrong password.
            code if code == Some("SQLSTATE 28P01") || said.contains(NO_PASSWORD) => {
                return error
                    .or_advice(&format!("an administrator makes a role that is missing with {}", role()));
            }
            _ => return error,
        };
        error
            .with_advice(format!("an administrator makes it with {statement}; or name another in the target"))
    }

    fn step(&self, endpoint: &Endpoint) -> String {
        let Self { user, database, .. } = self;
        format!("connecting to {endpoint} as '{user}', database '{database}'")
    }
}

impl slob_server::Connector for Connector {
    type Connection = Client;

    fn endpoints(&self) -> usize {
        self.servers.len()
    }

    fn endpoint(&self, number: usize) -> &Endpoint {
        &self.servers[number % self.servers.len()].endpoint
    }

    fn connect(&self, endpoint: usize) -> Result<Client> {
        let server = &self.servers[endpoint % self.servers.len()];
        let mut config = server.config.clone();
        config.port(server.endpoint.port);
        match &server.endpoint.host {
            Host::Socket(folder) => {
                config.host_path(folder).ssl_mode(SslMode::Disable);
            }
            Host::Network(host) => {
                for address in server.addresses()? {
                    // Certificates are checked against the name.
                    config.host(host).hostaddr(*address);
                }
            }
        }
        let is_network = matches!(server.endpoint.host, Host::Network(_));
        if is_network {
            config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        }
        let guard = self.guard(&server.endpoint);
        // Each address of a name is tried.
        let addresses = u32::try_from(config.get_hostaddrs().len()).unwrap_or(1).max(1);
        let patience = config.get_connect_timeout().copied().unwrap_or(SYSTEM_TIMEOUT);
        let patience = patience.saturating_mul(addresses) + LOGIN_TIMEOUT;
        let made = within(patience, move || config.connect(guard));
        made.map_err(|silence| unanswered(self.step(&server.endpoint), &silence))?.map_err(|error| {
            self.with_statement(explain(self.step(&server.endpoint), &error, server.hint.as_deref()))
        })
    }

    fn connect_for(&self, task: Task) -> Result<Client> {
        let (client, settings) = match task {
            Task::Load => (self.connect_any(), include_str!("../../sql/loading.sql")),
            Task::Read => (self.connect_any(), SESSION),
            Task::Monitor(endpoint) => (self.connect(endpoint), "SET application_name = 'slob monitor'"),
        };
        let mut client = client?;
        client.run("preparing a connection", settings)?;
        Ok(client)
    }

    fn is_usable(client: &mut Client) -> bool {
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

/// The URL wins over `host`, which wins over the unix socket in its default folder. Hosts without a port take that of `port`, by
/// place if it is a list.
fn endpoints(target: &Target, parameters: &Parameters<'_>) -> Result<Vec<Endpoint>> {
    let named = target.endpoints();
    let hosts: Vec<(String, Option<u16>)> = match (named, parameters.get("host")) {
        ([], Some(text)) => text.split(',').map(|host| (host.trim().to_owned(), None)).collect(),
        ([], None) => vec![(default_folder().to_owned(), None)],
        _ => named.iter().map(|end| (end.host.clone(), end.port)).collect(),
    };
    let ports = match parameters.get("port") {
        Some(text) => text.split(',').map(|text| port(text, PORT_SOURCES)).collect::<Result<_, _>>()?,
        None => vec![DEFAULT_PORT],
    };
    if ports.len() != 1 && ports.len() != hosts.len() {
        let message = format!("there are {} ports for {} hosts", ports.len(), hosts.len());
        return Err(
            unusable(message).with_advice("give one port for all hosts or one for each, in port= or PGPORT")
        );
    }
    let ports = ports.iter().cycle();
    Ok(hosts.iter().zip(ports).map(|((host, own), port)| Endpoint::new(host, own.unwrap_or(*port))).collect())
}

fn default_folder() -> &'static str {
    SOCKET_FOLDERS.into_iter().find(|folder| Path::new(folder).is_dir()).unwrap_or(SOCKET_FOLDERS[0])
}

/// Also returns advice for a refused password.
fn password_in(
    file: &Path,
    endpoint: &Endpoint,
    database: &str,
    user: &str,
) -> (Option<Secret>, Option<String>) {
    let host = match &endpoint.host {
        Host::Network(host) => host.clone(),
        Host::Socket(folder) if SOCKET_FOLDERS.iter().any(|default| folder == Path::new(default)) => {
            "localhost".to_owned()
        }
        Host::Socket(folder) => folder.display().to_string(),
    };
    match files::password(file, [&host, &endpoint.port.to_string(), database, user]) {
        Ok(Some(password)) => {
            (Some(password), Some(format!("the one that was used is from {}", file.display())))
        }
        Ok(None) => (None, None),
        Err(why) => (None, Some(why)),
    }
}

fn common_config(user: &str, database: &str, parameters: &Parameters<'_>) -> Result<Config> {
    let mut config = Config::new();
    config.user(user).dbname(database).application_name(APPLICATION);
    config.keepalives(true).keepalives_idle(KEEPALIVE_IDLE);
    config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVE_PROBES);
    config.tcp_user_timeout(USER_TIMEOUT);
    if let Some(timeout) = connect_timeout(parameters)? {
        config.connect_timeout(timeout);
    }
    if let Some(options) = parameters.get("options") {
        config.options(&options);
    }
    Ok(config)
}

/// With 0 or less, the system's limit counts, as in libpq.
fn connect_timeout(parameters: &Parameters<'_>) -> Result<Option<Duration>> {
    let Some(text) = parameters.get("connect_timeout") else { return Ok(Some(CONNECT_TIMEOUT)) };
    let seconds: i64 = text.trim().parse().map_err(|_| {
        unusable(format!("connect_timeout={text} is not a number")).with_advice("write it in whole seconds")
    })?;
    Ok(u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs))
}

/// `hint` says what is known about the password.
fn explain(step: String, error: &postgres::Error, hint: Option<&str>) -> EngineError {
    let Some(db) = error.as_db_error() else {
        let message = with_causes(error);
        return refused(of_client(error, &message), step, message, hint);
    };
    let code = db.code().code();
    let reason = match code {
        "28P01" => (ErrorKind::Privilege, PASSWORD),
        "28000" => {
            (ErrorKind::Privilege, "check the user's name, and pg_hba.conf for this host, user and database")
        }
        "3D000" => {
            (ErrorKind::Usage, "create the database with CREATE DATABASE, or name another one in the target")
        }
        "42501" => (ErrorKind::Privilege, "GRANT CONNECT ON DATABASE to the role"),
        "53300" => (ErrorKind::Usage, "raise max_connections, or use fewer schemas or threads"),
        "57P03" => (ErrorKind::Connection, "the server is starting or stopping: wait, then try again"),
        _ => (ErrorKind::Connection, "see the server's log"),
    };
    refused(reason, step, db.message().to_owned(), hint).with_code(format!("SQLSTATE {code}"))
}

/// The words of the client.
const NO_PASSWORD: &str = "password missing";
const PASSWORD: &str =
    "give the password in PGPASSWORD, ~/.pgpass (mode 0600) or the target, and check the user's name";
const TLS: &str = "the server's certificate must come from an authority in sslrootcert (or the system's store) and, \
                   for verify-full, have the host as a subject alternative name; ?sslmode=require in the target (or \
                   PGSSLMODE) encrypts without verifying the server";
const NO_TLS: &str = "enable ssl in the server, or use ?sslmode=prefer in the target (or PGSSLMODE): then the \
                      connection is not encrypted, and anyone on the way can read it";

fn of_client(error: &postgres::Error, message: &str) -> (ErrorKind, &'static str) {
    let io_errors = || causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    // The causes leave out TLS errors inside I/O errors.
    let mut inner = io_errors().filter_map(io::Error::get_ref);
    if causes(error).any(|cause| cause.is::<rustls::Error>())
        || inner.any(|cause| cause.is::<rustls::Error>())
    {
        return (ErrorKind::Connection, TLS);
    }
    if message.contains("does not support TLS") {
        return (ErrorKind::Connection, NO_TLS);
    }
    if message.contains(NO_PASSWORD) {
        return (ErrorKind::Privilege, PASSWORD);
    }
    let advice = match io_errors().next().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            "nothing listens there: check that the server runs, its listen_addresses, and the port"
        }
        Some(io::ErrorKind::NotFound) => {
            "there is no such socket: check that the server runs, its unix_socket_directories, and the port"
        }
        Some(io::ErrorKind::TimedOut) => "check the address and the firewalls, or raise connect_timeout",
        Some(io::ErrorKind::PermissionDenied) => {
            "this account may not use the socket: see unix_socket_permissions"
        }
        _ => "check that a PostgreSQL server listens there, and see its log",
    };
    (ErrorKind::Connection, advice)
}
