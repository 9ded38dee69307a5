//! A real MariaDB server for a test: made in a temporary folder, reachable through a unix socket there and on loopback,
//! ended and removed with the value, and ended by the system if the test itself is killed.
#![allow(dead_code, reason = "each test program uses its own part of it")]

mod account;
pub(crate) mod galera;
mod process;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;
use tempfile::TempDir;

use account::Account;
use process::Process;

/// Where packages put the programs, beside the folders of PATH.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/mysql/bin", "/usr/local/bin"];

/// How long a server may take to start, and what is in its way to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a data folder of its own. Its administrator is `root` without a password.
#[derive(Debug)]
pub(crate) struct MariaDb {
    // Before the folder: fields are dropped in this order, and the server must be gone when its files go.
    process: Option<Process>,
    account: Account,
    settings: Vec<String>,
    port: u16,
    folder: TempDir,
}

impl MariaDb {
    /// Makes and starts a server, with options as on its command line but without their hyphens. Where none is installed
    /// the test is to be skipped, which stderr says.
    ///
    /// # Panics
    /// If it does not start, or is not installed where `CI=true`.
    pub(crate) fn start_or_skip(settings: &[&str]) -> Option<Self> {
        if skip() { None } else { Some(Self::start(settings).expect("a server")) }
    }

    fn start(settings: &[&str]) -> Result<Self, String> {
        let account = Account::choose()?;
        let folder =
            tempfile::Builder::new().prefix("slob-my").tempdir().map_err(|error| error.to_string())?;
        account.give(folder.path())?;
        // Small files, which a test does not wait for; everything else is the server's default.
        let mut all = vec!["innodb-log-file-size=64M".to_owned()];
        all.extend(settings.iter().map(|setting| (*setting).to_owned()));
        let mut server = Self { process: None, account, settings: all, port: 0, folder };
        server.init()?;
        server.begin()?;
        Ok(server)
    }

    /// A target of loopback for an account.
    pub(crate) fn target(&self, user: &str) -> String {
        format!("mysql://{user}@127.0.0.1:{}/?defaults-file=/dev/null", self.port)
    }

    /// The target of an account that has what the documentation asks for, and no more. It is made here.
    pub(crate) fn plain_target(&self) -> String {
        self.sql("CREATE USER IF NOT EXISTS plain@'%'");
        self.sql("GRANT ALL ON `slob%`.* TO plain@'%'");
        self.sql("GRANT SELECT ON mysql.innodb_index_stats TO plain@'%'");
        self.target("plain")
    }

    /// A target through the unix socket.
    pub(crate) fn socket_target(&self, user: &str) -> String {
        let path = self.socket().display().to_string().replace('/', "%2F");
        format!("mysql://{user}@{path}/?defaults-file=/dev/null")
    }

    /// The port on loopback.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The data folder.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The server's process id.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// A connection of the administrator that does not use the code under test.
    pub(crate) fn admin(&self) -> Conn {
        connect(&self.socket()).expect("the administrator connects")
    }

    /// Runs a statement as the administrator.
    pub(crate) fn sql(&self, statement: &str) {
        self.admin().query_drop(statement).expect("the administrator's statement");
    }

    /// A single number, asked by the administrator.
    pub(crate) fn ask(&self, sql: &str) -> u64 {
        self.admin().query_first(sql).expect("an answer").expect("a row")
    }

    /// Ends the server as an administrator would, and waits until it is gone.
    pub(crate) fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::TERM);
        }
    }

    /// Kills the server as a power failure would.
    pub(crate) fn kill9(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::KILL);
        }
    }

    /// Stops the server if it runs, and starts it again on the same port and data.
    ///
    /// # Errors
    /// If it does not start.
    pub(crate) fn restart(&mut self) -> Result<(), String> {
        self.stop();
        self.begin()
    }

    /// The same with more settings, which take the place of those it has.
    ///
    /// # Errors
    /// If it does not start.
    pub(crate) fn restart_with(&mut self, settings: &[String]) -> Result<(), String> {
        self.settings.extend_from_slice(settings);
        self.restart()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// One of the server's programs, in its folder and with its temporary files there: a server that starts removes the
    /// temporary tables of all others in the same folder.
    fn command(&self, name: &str) -> Result<Command, String> {
        let mut command = self.account.command(&program(name)?);
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        Ok(command)
    }

    fn init(&self) -> Result<(), String> {
        let mut command = self.command("mariadb-install-db")?;
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        command.arg(format!("--datadir={}", self.data_folder().display()));
        // The size of pages is decided here.
        command.args(
            self.settings
                .iter()
                .filter(|text| text.starts_with("innodb-page-size"))
                .map(|text| format!("--{text}")),
        );
        let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        if done.status.success() { Ok(()) } else { Err(format!("{command:?}: {}\n{said}", done.status)) }
    }

    /// Starts on the port it has; the first time on a free one, again if somebody else was faster.
    fn begin(&mut self) -> Result<(), String> {
        let fixed = (self.port != 0).then_some(self.port);
        let begun = Instant::now();
        loop {
            let port = fixed.map_or_else(free_port, Ok)?;
            match self.begin_on(port) {
                Ok(process) => {
                    (self.process, self.port) = (Some(process), port);
                    return Ok(());
                }
                Err(error) if begun.elapsed() > PATIENCE || !error.contains("Address already in use") => {
                    return Err(error);
                }
                Err(_) => thread::sleep(Duration::from_millis(250)),
            }
        }
    }

    fn begin_on(&self, port: u16) -> Result<Process, String> {
        let log = self.folder.path().join("log");
        let mut command = self.command("mariadbd")?;
        command.arg("--no-defaults").arg(format!("--datadir={}", self.data_folder().display()));
        command
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--log-error={}", log.display()));
        command.args([
            format!("--port={port}"),
            "--bind-address=127.0.0.1".into(),
            "--skip-name-resolve".into(),
        ]);
        command.args(self.settings.iter().map(|setting| format!("--{setting}")));
        let process = Process::spawn(command)?;
        let limit = Instant::now() + PATIENCE;
        loop {
            if connect(&self.socket()).is_ok() {
                return Ok(process);
            }
            let ended = process.ends_within(Duration::from_millis(20));
            if ended || Instant::now() > limit {
                if !ended {
                    process.end(Signal::KILL);
                }
                return Err(format!("the server does not start:\n{}", last_lines(&log)));
            }
        }
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Its files go with it: there is nothing to write out.
        self.kill9();
    }
}

/// Whether a test is to be skipped because there is no server; stderr says so.
///
/// # Panics
/// If it is not installed where `CI=true`.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
fn skip() -> bool {
    let Err(message) = program("mariadbd").and_then(|_| program("mariadb-install-db")) else { return false };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
    eprintln!("skipped: {message}");
    true
}

fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = FOLDERS.into_iter().map(PathBuf::from).chain(std::env::split_paths(&path));
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{name} is not installed; .ci/install-test-servers installs it"))
}

fn connect(socket: &Path) -> Result<Conn, mysql::Error> {
    Conn::new(OptsBuilder::new().socket(socket.to_str()).user(Some("root")))
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// What the log says of the last start.
fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}
