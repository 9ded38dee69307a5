//! A real PostgreSQL server for a test.

mod version;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ::postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::account::Account;
use crate::container::{self, Container};
use crate::process::Process;
use crate::start::{self, finish, on_a_port, until_it_serves};
pub use version::Version;

/// Who gets in without a password unless a test says otherwise: everybody.
const TRUST: &[&str] = &["local all all trust", "host all all 127.0.0.1/32 trust"];

/// How the variables of its clients begin.
const VARIABLES: &str = "PG";
/// Words of a start that may succeed when it is repeated.
const PASSING: &[&str] = &["could not bind", "pre-existing shared memory block", "lock file"];

/// Processes and shared memory apart from those of the test, ended with the program that starts them.
const APART: [&str; 5] = ["--pid", "--ipc", "--fork", "--kill-child", "--"];

/// A server with a data folder of its own. Its superuser is `postgres`, its database too.
#[derive(Debug)]
pub struct Cluster {
    // Before the folder: fields are dropped in this order, and the server must be gone when its files go.
    process: Option<Process>,
    account: Account,
    programs: PathBuf,
    port: u16,
    /// Whether its processes have numbers of their own, which the system of the test does not know.
    apart: bool,
    container: Option<Arc<Container>>,
    folder: TempDir,
}

impl Cluster {
    /// Makes and starts a server that trusts everybody, with settings of `postgresql.conf`.
    ///
    /// # Errors
    /// If the version is not installed, or the server does not start; with the end of its log.
    pub fn start(version: Version, settings: &[(&str, &str)]) -> Result<Self, String> {
        Self::start_with(version, settings, TRUST)
    }

    /// As [`Cluster::start`]; where the version is not installed the test is to be skipped, which stderr says.
    /// Where `CI=true` nothing is skipped.
    ///
    /// # Panics
    /// If the server does not start, or is not installed where `CI=true`.
    pub fn start_or_skip(version: Version, settings: &[(&str, &str)]) -> Option<Self> {
        if skip(version) { None } else { Some(Self::start(version, settings).expect("a server")) }
    }

    /// As [`Cluster::start`] with lines of `pg_hba.conf`. The superuser always gets in through the unix socket.
    ///
    /// # Errors
    /// As there.
    pub fn start_with(version: Version, settings: &[(&str, &str)], access: &[&str]) -> Result<Self, String> {
        let programs = version.programs()?;
        let account = Account::choose("postgres")?;
        let folder =
            tempfile::Builder::new().prefix("slob-pg").tempdir().map_err(|error| error.to_string())?;
        account.give(folder.path())?;
        let mut cluster =
            Self { process: None, account, programs, port: 0, apart: false, container: None, folder };
        cluster.init()?;
        cluster.append("postgresql.conf", &setting_lines(settings))?;
        cluster.write("pg_hba.conf", &format!("local all postgres trust\n{}\n", access.join("\n")), 0o600)?;
        cluster.begin()?;
        Ok(cluster)
    }

    /// A target with a host of loopback and the superuser's name.
    pub fn target(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// A target through the unix socket.
    pub fn unix_target(&self) -> String {
        let folder = self.socket_folder().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/postgres", self.port)
    }

    /// The port, on loopback and in the socket's name.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder that the unix socket is in.
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The postmaster's process id.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// A connection of the superuser that does not use the code under test.
    pub fn admin(&self) -> Client {
        self.try_admin().expect("the superuser connects")
    }

    /// Runs statements as the superuser.
    pub fn sql(&self, statements: &str) {
        self.admin().batch_execute(statements).expect("the superuser's statements");
    }

    /// Writes a file of the data folder, such as a certificate, as the server's account.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write(&self, name: &str, text: &str, mode: u32) -> Result<(), String> {
        let path = self.data_folder().join(name);
        let say = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::write(&path, text).map_err(say)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(say)?;
        self.account.give(&path)
    }

    /// Adds settings to `postgresql.conf`; they hold after [`Cluster::restart`].
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn configure(&self, settings: &[(&str, &str)]) -> Result<(), String> {
        self.append("postgresql.conf", &setting_lines(settings))
    }

    /// Ends the server as an administrator would, its sessions with it, and waits until it is gone.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::INT);
        }
    }

    /// Kills the postmaster as a power failure would.
    pub fn kill9(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::KILL);
        }
    }

    /// Stops the server if it runs, and starts it again on the same port and data.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&mut self) -> Result<(), String> {
        self.stop();
        self.begin()
    }

    /// Starts it again as in a container, where its processes have other numbers than here. False where the system does not allow
    /// that to this account; stderr says so then.
    ///
    /// # Panics
    /// If it does not start.
    #[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
    pub fn restart_apart(&mut self) -> bool {
        let allowed = Command::new("unshare").args(APART).arg("true").output();
        self.apart = allowed.is_ok_and(|done| done.status.success());
        if self.apart {
            self.restart().expect("it starts");
        } else {
            eprintln!("skipped: unshare --pid is not allowed here");
        }
        self.apart
    }

    /// Starts it again in a container, where it listens at the container's address too.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart_contained(&mut self, container: Arc<Container>) {
        self.append("pg_hba.conf", "host all all 10.0.0.0/8 trust\n").expect("the file is its own");
        self.container = Some(container);
        self.restart().expect("it starts");
    }

    /// Kills one backend; the server ends all others and recovers.
    pub fn backend_kill(&self, pid: u32) {
        signal_backend(pid, Signal::KILL);
    }

    /// Ends one backend as an administrator would (`pg_terminate_backend`); the others go on.
    pub fn backend_terminate(&self, pid: u32) {
        signal_backend(pid, Signal::TERM);
    }

    fn init(&self) -> Result<(), String> {
        let mut command = self.account.command(&self.programs.join("initdb"), VARIABLES);
        command.args(["--no-sync", "--no-locale", "--encoding=UTF8", "--username=postgres", "--auth=trust"]);
        // A file system that is shared with other tests must not be flushed by each of them; the data are real,
        // and the settings of the server (fsync among them) are its own defaults.
        command.arg("-D").arg(self.data_folder());
        finish(command.current_dir(self.folder.path()))
    }

    fn append(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.data_folder().join(name);
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Starts on the port it has; the first time on a free one.
    fn begin(&mut self) -> Result<(), String> {
        let fixed = (self.port != 0).then_some(self.port);
        let (process, port) = on_a_port(fixed, PASSING, |port| self.begin_on(port))?;
        (self.process, self.port) = (Some(process), port);
        Ok(())
    }

    fn begin_on(&self, port: u16) -> Result<Process, String> {
        let log_path = self.folder.path().join("log");
        let log =
            File::options().create(true).append(true).open(&log_path).map_err(|error| error.to_string())?;
        let mut command = self.account.command(&self.programs.join("postgres"), VARIABLES);
        if self.apart {
            let inner = command;
            command = Command::new("unshare");
            command.args(APART).arg(inner.get_program()).args(inner.get_args());
            for (name, _) in inner.get_envs() {
                command.env_remove(name);
            }
        }
        let (data, listens) = match &self.container {
            Some(_) => (PathBuf::from(container::DATA), "*"),
            None => (self.data_folder(), "127.0.0.1"),
        };
        command.arg("-D").arg(data).arg("-k").arg(self.socket_folder());
        command.args(["-h", listens, "-p", &port.to_string()]).current_dir(self.folder.path());
        if let Some(container) = &self.container {
            command = container.command(&command, &self.data_folder());
        }
        let process = Process::spawn(command, Some(log))?;
        let serves = || connect(self.socket_folder(), port).is_ok();
        until_it_serves(process, serves, Signal::QUIT, &log_path)
    }

    fn try_admin(&self) -> Result<Client, ::postgres::Error> {
        connect(self.socket_folder(), self.port)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // The quickest end that still removes its shared memory.
            process.end(Signal::QUIT);
        }
    }
}

/// Whether a test is to be skipped because a version is not installed; stderr says so.
///
/// # Panics
/// If it is not installed where `CI=true`.
#[must_use]
pub fn skip(version: Version) -> bool {
    start::skip(version.programs())
}

fn connect(folder: &Path, port: u16) -> Result<Client, ::postgres::Error> {
    let mut config = ::postgres::Config::new();
    config.host_path(folder).port(port).user("postgres").dbname("postgres");
    config.connect_timeout(Duration::from_secs(10)).connect(NoTls)
}

fn signal_backend(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("the id of a process");
    kill_process(pid, signal).expect("a backend that is there");
}

fn setting_lines(settings: &[(&str, &str)]) -> String {
    settings.iter().map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''"))).collect()
}
