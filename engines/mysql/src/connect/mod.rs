//! Connections to one or several servers: addresses, passwords, encryption.
//!
//! Parameters come from the target, then from the groups `[client]`, `[client-server]` and `[client-mariadb]`, and those whose
//! names end with `MYSQL_GROUP_SUFFIX`, of `/etc/my.cnf`, `/etc/mysql/my.cnf` and `~/.my.cnf` (or of `defaults-file` alone) and
//! of what these include, then from `MYSQL_HOST`, `MYSQL_PWD`, `MYSQL_TCP_PORT` and `MYSQL_UNIX_PORT`, then from the clients'
//! defaults.

mod endpoint;
mod explain;
mod options_file;
mod sources;
mod tls;

use std::fmt;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::{Conn, DriverError, Error, OptsBuilder};
use slob_engine::{EngineError, within};
use slob_server::network::{
    CONNECT_TIMEOUT, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES, LOGIN_TIMEOUT, USER_TIMEOUT,
    unanswered,
};
use slob_server::{Connector as _, Environment, unusable, user};
use slob_spec::{Secret, Target};

use endpoint::Endpoint;
use explain::explain;
use sources::Sources;
use tls::Tls;

/// Makes connections to the servers of a target. Files are read once, when it is made.
pub(crate) struct Connector {
    endpoints: Vec<Endpoint>,
    tls: Tls,
    user: String,
    password: Option<Secret>,
    database: Option<String>,
    /// What people should know if the password is refused.
    hint: Option<String>,
    timeout: Duration,
}

impl Connector {
    /// Reads what a target and the process's environment say. Connects to nothing.
    ///
    /// # Errors
    /// If a parameter is not known or misspelt, or a file that is named can't be used.
    pub(crate) fn from_target(target: &Target) -> Result<Self, EngineError> {
        Self::from_environment(target, &Environment::process())
    }

    fn from_environment(target: &Target, environment: &Environment<'_>) -> Result<Self, EngineError> {
        let sources = Sources::new(target, environment)?;
        let user = user(target, || sources.get("user"), environment, "mysql://USER@host")?;
        let password = target.password().cloned().or_else(|| sources.get("password").map(Secret::new));
        let hint = sources.ignored().filter(|_| password.is_none()).map(str::to_owned);
        Ok(Self {
            endpoints: endpoint::endpoints(target.endpoints(), &sources)?,
            tls: Tls::from_sources(&sources)?,
            user,
            password,
            hint,
            database: target.database().map(str::to_owned),
            timeout: connect_timeout(&sources)?,
        })
    }

    fn options(&self, place: &Endpoint) -> OptsBuilder {
        let options = OptsBuilder::new()
            .user(Some(&self.user))
            .pass(self.password.as_ref().map(Secret::expose))
            .db_name(self.database.as_deref())
            .prefer_socket(false)
            // An UPDATE that is repeated finds its rows again, and changes none of them: it counts all the same.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .tcp_connect_timeout(Some(self.timeout))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_IDLE.as_millis() as u32))
            .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL.as_secs() as u32))
            .tcp_keepalive_probe_count(Some(KEEPALIVE_PROBES))
            .tcp_user_timeout_ms(Some(USER_TIMEOUT.as_millis() as u32));
        match place {
            Endpoint::Network(host, port) => options.ip_or_hostname(Some(host)).tcp_port(*port),
            Endpoint::Socket(path) => options.socket(path.to_str()),
        }
    }

    fn place(&self, endpoint: usize) -> &Endpoint {
        &self.endpoints[endpoint % self.endpoints.len()]
    }

    fn step(&self, place: &Endpoint) -> String {
        format!("connecting to {place} as '{}'", self.user)
    }
}

impl slob_server::Connector for Connector {
    type Connection = Conn;

    fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    fn endpoint(&self, endpoint: usize) -> String {
        self.place(endpoint).to_string()
    }

    fn host(&self, endpoint: usize) -> Option<String> {
        match self.place(endpoint) {
            Endpoint::Network(host, _) => Some(host.clone()),
            Endpoint::Socket(_) => None,
        }
    }

    fn connect(&self, endpoint: usize) -> Result<Conn, EngineError> {
        let place = self.place(endpoint);
        let options = self.options(place);
        let (encrypted, may_be_plain) =
            (options.clone().ssl_opts(self.tls.options(place)), self.tls.may_be_plain(place));
        let made = within(self.timeout + LOGIN_TIMEOUT, move || match Conn::new(encrypted) {
            Err(Error::DriverError(DriverError::TlsNotSupported)) if may_be_plain => Conn::new(options),
            made => made,
        });
        made.map_err(|silence| unanswered(self.step(place), &silence))?
            .map_err(|error| explain(self.step(place), &error, self.hint.as_deref()))
    }

    /// A server may have ended one that lay idle, which only asking tells.
    fn is_sound(conn: &mut Conn) -> bool {
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

/// Reads `connect-timeout`, in seconds.
fn connect_timeout(sources: &Sources<'_>) -> Result<Duration, EngineError> {
    let Some(text) = sources.get("connect-timeout") else { return Ok(CONNECT_TIMEOUT) };
    text.trim().parse().ok().filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(|| {
        unusable(format!("connect-timeout={text} is not a number of seconds"))
            .with_advice("write it in whole seconds, at least 1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_engine::ErrorKind;

    fn connector(target: &str, variables: &[(&str, &str)]) -> Result<Connector, EngineError> {
        let look =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Connector::from_environment(&target.parse().unwrap(), &Environment::new(&look))
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
    fn what_is_wrong_is_said_and_passwords_are_not() {
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
