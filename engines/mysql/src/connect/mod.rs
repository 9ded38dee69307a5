//! Connections to servers: addresses, passwords, encryption.
//!
//! Parameters come from the target, then from option files and what these include, then from `MYSQL_HOST`, `MYSQL_PWD`,
//! `MYSQL_TCP_PORT` and `MYSQL_UNIX_PORT`, then from the clients' defaults.

mod options_file;
mod tls;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Error, OptsBuilder};
use slob_engine::{EngineError, ErrorKind, Result, within};
use slob_server::errors::{refused, unanswered};
use slob_server::{
    CONNECT_TIMEOUT, Connector as _, Endpoint, Environment, Host, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL,
    KEEPALIVE_PROBES, Keywords, LOGIN_TIMEOUT, Parameters, Task, USER_TIMEOUT, port, unusable,
};
use slob_spec::{Secret, Target};

use crate::load::grants;
use crate::sql::InStep;
use tls::Tls;

/// Pins the plans of sessions: no sorted ranges, no cache of subqueries, and a lock ends the run instead of hanging it. MySQL
/// skips comments of MariaDB's, such as `subquery_cache`.
pub(crate) const SESSION: &[&str] = &[
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', lock_wait_timeout = 60",
    "SET SESSION optimizer_switch = 'mrr=off,index_condition_pushdown=on'",
    "/*M! SET SESSION optimizer_switch = 'subquery_cache=off' */",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];
/// The server then need not convert texts.
const LOADING: &[&str] = &[
    "SET SESSION character_set_client = ascii, collation_connection = ascii_bin",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', lock_wait_timeout = 60, net_read_timeout = 600",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];
const DEFAULT_PORT: u16 = 3306;
const PORT_SOURCES: &str = "port= in the query, an option file, or MYSQL_TCP_PORT";
/// Packages of MySQL, MariaDB and Debian have these, and servers from source.
const SOCKETS: [&str; 3] = ["/var/lib/mysql/mysql.sock", "/run/mysqld/mysqld.sock", "/tmp/mysql.sock"];

/// The servers' clients have the same. Underscores are as good as hyphens.
const KEYWORDS: Keywords = Keywords {
    names: &[
        ("connect-timeout", None),
        ("defaults-file", None),
        ("host", Some("MYSQL_HOST")),
        ("password", Some("MYSQL_PWD")),
        ("port", Some("MYSQL_TCP_PORT")),
        ("protocol", None),
        ("socket", Some("MYSQL_UNIX_PORT")),
        ("ssl-ca", None),
        ("ssl-cert", None),
        ("ssl-key", None),
        ("ssl-mode", None),
        ("user", None),
    ],
    spelling: |name| name.replace('_', "-"),
};

/// The default of MySQL's client.
const PACKET_BYTES: usize = 16 << 20;

pub(crate) struct Connector {
    endpoints: Vec<Endpoint>,
    tls: Tls,
    user: String,
    password: Option<Secret>,
    database: Option<String>,
    /// Advice on a refused password.
    hint: Option<String>,
    timeout: Duration,
}

impl Connector {
    pub(crate) fn new(target: &Target, environment: &Environment<'_>) -> Result<Self> {
        let mut parameters = Parameters::new(KEYWORDS, target, environment)?;
        let file = options_file::of_client(target, environment)?;
        parameters.file = file.options;
        let user = parameters.user("mysql://USER@host")?;
        let password = target.password().cloned().or_else(|| parameters.get("password").map(Secret::new));
        Ok(Self {
            endpoints: endpoints(target, &parameters)?,
            tls: Tls::new(&parameters)?,
            user,
            hint: file.ignored.filter(|_| password.is_none()),
            password,
            database: target.database().map(str::to_owned),
            timeout: connect_timeout(&parameters)?,
        })
    }

    fn options(&self, endpoint: &Endpoint) -> OptsBuilder {
        let options = OptsBuilder::new()
            .user(Some(&self.user))
            .pass(self.password.as_ref().map(Secret::expose))
            .db_name(self.database.as_deref())
            .prefer_socket(false)
            // The server's own limit may be a gigabyte of client memory.
            .max_allowed_packet(Some(PACKET_BYTES))
            // Counts rows that an UPDATE finds but does not change.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .tcp_connect_timeout(Some(self.timeout))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_IDLE.as_millis() as u32))
            .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL.as_secs() as u32))
            .tcp_keepalive_probe_count(Some(KEEPALIVE_PROBES))
            .tcp_user_timeout_ms(Some(USER_TIMEOUT.as_millis() as u32));
        match &endpoint.host {
            Host::Network(host) => options.ip_or_hostname(Some(host)).tcp_port(endpoint.port),
            Host::Socket(path) => options.socket(path.to_str()),
        }
    }
}

impl Connector {
    /// Adds the statements that make a missing account: the server does not tell it from a wrong password.
    fn with_statements(&self, error: EngineError) -> EngineError {
        if !matches!(error.code(), Some("error 1045" | "error 1698")) {
            return error;
        }
        let account = format!("'{}'@'%'", self.user);
        error.or_advice(&format!(
            "an administrator makes an account that is missing with CREATE USER {account} IDENTIFIED BY '...'; {}",
            grants(&account)
        ))
    }
}

impl slob_server::Connector for Connector {
    type Connection = Conn;

    fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    fn endpoint(&self, number: usize) -> &Endpoint {
        &self.endpoints[number % self.endpoints.len()]
    }

    fn connect(&self, endpoint: usize) -> Result<Conn> {
        let endpoint = self.endpoint(endpoint);
        let step = || format!("connecting to {endpoint} as '{}'", self.user);
        let options = self.options(endpoint);
        let encrypted = options.clone().ssl_opts(self.tls.options(endpoint));
        let may_be_plain = self.tls.may_be_plain(endpoint);
        let made = within(self.timeout + LOGIN_TIMEOUT, move || match Conn::new(encrypted) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if may_be_plain => Conn::new(options),
            made => made,
        });
        made.map_err(|silence| unanswered(step(), &silence))?
            .map_err(|error| self.with_statements(explain(step(), &error, self.hint.as_deref())))
    }

    /// Readers may move to another node of a cluster, which has the same data. One node makes a load.
    fn connect_for(&self, task: Task) -> Result<Conn> {
        let (conn, settings) = match task {
            Task::Load => (self.connect(0), LOADING),
            Task::Read => (self.connect_any(), SESSION),
            Task::Monitor(endpoint) => (self.connect(endpoint), SESSION),
        };
        let mut conn = conn?;
        prepare(&mut conn, settings).in_step("preparing a connection")?;
        Ok(conn)
    }

    /// The server may have ended an idle connection.
    fn is_usable(conn: &mut Conn) -> bool {
        conn.ping().is_ok()
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("endpoints", &self.names())
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

pub(crate) fn prepare(conn: &mut Conn, statements: &[&str]) -> Result<(), mysql::Error> {
    statements.iter().try_for_each(|statement| conn.query_drop(statement))
}

/// A host of the URL that begins with a slash is a unix socket. Without one, the query, option files and environment decide.
/// Without any host, or with `localhost`, a socket is used as by the clients, unless `protocol` differs or there is none.
fn endpoints(target: &Target, parameters: &Parameters<'_>) -> Result<Vec<Endpoint>> {
    let port = parameters.get("port").map_or(Ok(DEFAULT_PORT), |text| port(&text, PORT_SOURCES))?;
    let at = |host: &str, own: Option<u16>| {
        Endpoint::new(host, if host.starts_with('/') { 0 } else { own.unwrap_or(port) })
    };
    if !target.endpoints().is_empty() {
        return Ok(target.endpoints().iter().map(|end| at(&end.host, end.port)).collect());
    }
    let hosts = parameters.get("host").filter(|_| parameters.query("socket").is_none());
    Ok(match (hosts.as_deref(), socket(parameters)) {
        // Distributions name a socket for all clients.
        (None | Some("localhost"), Some(socket)) => vec![Endpoint { host: Host::Socket(socket), port: 0 }],
        (Some(hosts), _) => hosts.split(',').map(|host| at(host.trim(), None)).collect(),
        (None, None) => vec![at("127.0.0.1", None)],
    })
}

/// The named one, else the first that exists.
fn socket(parameters: &Parameters<'_>) -> Option<PathBuf> {
    if parameters.get("protocol").is_some_and(|protocol| protocol.eq_ignore_ascii_case("tcp")) {
        return None;
    }
    let usual = || SOCKETS.into_iter().map(PathBuf::from).find(|path| path.exists());
    parameters.get("socket").map(PathBuf::from).or_else(usual)
}

fn connect_timeout(parameters: &Parameters<'_>) -> Result<Duration> {
    let Some(text) = parameters.get("connect-timeout") else { return Ok(CONNECT_TIMEOUT) };
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(|| {
        unusable(format!("connect-timeout={text} is not a number of seconds"))
            .with_advice("write it in whole seconds, at least 1")
    })
}

/// The resolver's kind of error has no name.
const NO_SUCH_NAME: &str = "failed to lookup address information";
const NAME: &str = "check the host's name in the target, or give its address";
const TLS: &str = "the server's certificate must come from an authority in ssl-ca and, for verify_identity, have the \
                   host as a subject alternative name; ?ssl-mode=required in the target encrypts without verifying \
                   the server";
const NO_TLS: &str = "switch TLS on in the server, or use ?ssl-mode=preferred in the target: then the connection is not \
                      encrypted, and anyone on the way can read it";

fn explain(step: String, error: &Error, hint: Option<&str>) -> EngineError {
    let (message, advice) = match error {
        Error::MySqlError(server) => {
            let failure = refused(refusal(server.code), step, server.message.clone(), hint);
            return failure.with_code(format!("error {}", server.code));
        }
        Error::TlsError(tls) => (format!("{tls:?}"), TLS),
        Error::DriverError(DriverError::TlsNotSupported) => ("the server does not offer TLS".into(), NO_TLS),
        Error::DriverError(DriverError::CouldNotConnect(Some((_, why, kind)))) => {
            (why.clone(), if why.contains(NO_SUCH_NAME) { NAME } else { network(*kind) })
        }
        Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => {
            ("no answer in time".into(), network(io::ErrorKind::TimedOut))
        }
        Error::IoError(error) => {
            let is_tls = error.get_ref().is_some_and(|inner| inner.to_string().contains("certificate"));
            (error.to_string(), if is_tls { TLS } else { network(error.kind()) })
        }
        other if other.to_string().contains("certificate") => (other.to_string(), TLS),
        other => (other.to_string(), "see the server's log"),
    };
    refused((ErrorKind::Connection, advice), step, message, hint)
}

fn refusal(code: u16) -> (ErrorKind, &'static str) {
    match code {
        1045 | 1698 => (
            ErrorKind::Privilege,
            "give the password in MYSQL_PWD, in [client] of ~/.my.cnf (mode 0600) or in the target, and check the user's name and host",
        ),
        1044 => (ErrorKind::Privilege, "GRANT the role rights on that database, or name none in the target"),
        1049 => (ErrorKind::Usage, "name no database in the target: each schema is a database"),
        1040 | 1203 | 1226 => (
            ErrorKind::Usage,
            "raise max_connections (or max_user_connections), or use fewer schemas or threads",
        ),
        1129 | 1130 => (
            ErrorKind::Privilege,
            "the server does not let this host in: see the user's host, and empty performance_schema.host_cache (MariaDB: FLUSH HOSTS)",
        ),
        _ => (ErrorKind::Connection, "see the server's log"),
    }
}

fn network(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => {
            "nothing listens there: check that the server runs, its bind-address, and the port"
        }
        io::ErrorKind::NotFound => {
            "there is no such socket: check that the server runs, and its socket setting"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "check the address and the firewalls, or raise connect-timeout"
        }
        io::ErrorKind::PermissionDenied => "this account may not use the socket",
        _ => "check that a MySQL or MariaDB server listens there, and see its log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::ErrorKind;

    fn connector(target: &str, variables: &[(&str, &str)]) -> Result<Connector> {
        let look =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Connector::new(&target.parse().unwrap(), &Environment(&look))
    }

    fn password(connector: &Connector) -> Option<&str> {
        connector.password.as_ref().map(Secret::expose)
    }

    #[test]
    fn the_target_comes_before_files_and_these_before_the_environment() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".my.cnf"), "[client]\nuser=filed\npassword=from file\nport=3310\n")
            .unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(home.path().join(".my.cnf"), private).unwrap();
        let variables =
            [("HOME", home.path().to_str().unwrap()), ("MYSQL_PWD", "from variable"), ("MYSQL_HOST", "db9")];
        let full = connector("mysql://joe:inline@db1:3307,db2/x", &variables).unwrap();
        assert_eq!(full.names(), ["db1:3307", "db2:3310"]);
        assert_eq!((full.user.as_str(), password(&full)), ("joe", Some("inline")));
        let bare = connector("mysql:///", &variables).unwrap();
        assert_eq!((bare.names(), bare.user.as_str()), (vec!["db9:3310".to_owned()], "filed"));
        assert_eq!(password(&bare), Some("from file"));
        let named = connector("mysql://h/?defaults-file=/dev/null&user=u", &variables).unwrap();
        assert_eq!((named.user.as_str(), password(&named)), ("u", Some("from variable")));
    }

    #[test]
    fn a_socket_is_a_path() {
        for target in ["mysql://u@%2Frun%2Fs.sock", "mysql:///?socket=/run/s.sock&user=u"] {
            let connector = connector(target, &[]).unwrap();
            assert_eq!(connector.names(), ["/run/s.sock"], "{target}");
            assert_eq!(connector.host(0), None);
        }
    }

    #[test]
    fn unusable_parameters_are_refused_and_passwords_are_not_shown() {
        for target in [
            "mysql://u@h/?sslmode=require",
            "mysql://u@h/?ssl-mode=maybe",
            "mysql://u@h/?connect-timeout=soon",
            "mysql://u@h/?ssl-ca=/nowhere.pem",
            "mysql://u@h/?ssl-cert=/dev/null",
        ] {
            let error = connector(target, &[]).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Usage, "{target}: {error}");
        }
        let shown = format!("{:?}", connector("mysql://u:S3CRET@h", &[]).unwrap());
        assert!(!shown.contains("S3CRET"), "{shown}");
    }
}
