//! A real PostgreSQL server.

use std::any::Any;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ::postgres::types::FromSql;
use ::postgres::{Client, NoTls};
use rustix::process::Signal;

use crate::container::{self, Container};
use crate::jobs::TestServer;
use crate::process::{
    Process, Served, available, children, finish, made_once, on_a_port, send, skipped, until_it_serves,
    within,
};
use crate::test_servers;
use crate::tries::{ensure, until};

/// A test may demand a password.
const TRUST: &[&str] = &["local all all trust", "host all all 127.0.0.1/32 trust"];

const VARIABLES: &str = "PG";
const BUSY: &str =
    "FROM pg_stat_activity WHERE application_name = 'slob' AND state = 'active' AND query LIKE 'CALL%'";
/// A start with these words may succeed when it is repeated.
const PASSING: &[&str] = &["could not bind", "pre-existing shared memory block", "lock file"];

/// The program that starts them ends these processes.
const APART: [&str; 5] = ["--pid", "--ipc", "--fork", "--kill-child", "--"];

/// Its superuser is `postgres`, its database too.
#[derive(Debug)]
pub struct Cluster {
    served: Served,
    programs: PathBuf,
    /// The system of the test does not know the numbers of its processes.
    apart: bool,
}

impl Deref for Cluster {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl Cluster {
    /// It trusts everybody.
    pub fn start(version: Version, settings: &[(&str, &str)]) -> Result<Self, String> {
        Self::start_with(version, settings, TRUST)
    }

    pub fn start_or_skip(version: Version, settings: &[(&str, &str)]) -> Option<Self> {
        Self::start_with_or_skip(version, settings, TRUST)
    }

    /// Lines of `pg_hba.conf` are `access`. The superuser may always use the unix socket. `None`, with a line on stderr, if the
    /// version is not installed and the test is to be skipped.
    pub fn start_with_or_skip(version: Version, settings: &[(&str, &str)], access: &[&str]) -> Option<Self> {
        available(version.programs())?;
        Some(Self::start_with(version, settings, access).expect("a server"))
    }

    fn start_with(version: Version, settings: &[(&str, &str)], access: &[&str]) -> Result<Self, String> {
        let programs = version.programs()?;
        let mut cluster = Self { served: Served::new("postgres", "slob-pg")?, programs, apart: false };
        cluster.init()?;
        cluster.append("postgresql.conf", &setting_lines(settings))?;
        cluster.write("pg_hba.conf", &format!("local all postgres trust\n{}\n", access.join("\n")), 0o600)?;
        cluster.begin()?;
        Ok(cluster)
    }

    pub fn target(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub fn unix_target(&self) -> String {
        let folder = self.socket_folder().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/postgres", self.port)
    }

    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// It does not use the code under test.
    pub fn admin(&self) -> Client {
        self.admin_of("postgres")
    }

    pub fn admin_of(&self, database: &str) -> Client {
        connect(self.socket_folder(), self.port, database).expect("the superuser connects")
    }

    /// The superuser asks in the database of our schemas.
    pub fn ask<T: for<'a> FromSql<'a>>(&self, sql: &str) -> T {
        self.admin_of("slob").query_one(sql, &[]).expect("an answer").get(0)
    }

    pub fn sql(&self, statements: &str) {
        self.admin().batch_execute(statements).expect("the superuser's statements");
    }

    /// The file belongs to the server's account.
    pub fn write(&self, name: &str, text: &str, mode: u32) -> Result<(), String> {
        let path = self.data_folder().join(name);
        let say = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::write(&path, text).map_err(say)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(say)?;
        self.account.give(&path)
    }

    /// They hold after [`Cluster::restart`].
    pub fn configure(&self, settings: &[(&str, &str)]) -> Result<(), String> {
        self.append("postgresql.conf", &setting_lines(settings))
    }

    /// Its sessions end too.
    pub fn stop(&mut self) {
        self.served.end(Signal::INT);
    }

    /// Its processes have other numbers than here. False where the system does not allow that; stderr says so.
    pub fn restart_apart(&mut self) -> bool {
        let allowed = Command::new("unshare").args(APART).arg("true").output();
        self.apart = allowed.is_ok_and(|done| done.status.success());
        if self.apart {
            self.restart();
        } else {
            skipped("unshare --pid is not allowed here");
        }
        self.apart
    }

    fn init(&self) -> Result<(), String> {
        let program = self.programs.join("initdb");
        let mut command = self.account.command(&program, VARIABLES);
        command.args(["--no-sync", "--no-locale", "--encoding=UTF8", "--username=postgres", "--auth=trust"]);
        // A file system that other tests share must not be flushed. The server's settings, with fsync, are its defaults.
        command.arg("-D").arg(self.data_folder()).current_dir(self.folder.path());
        made_once(&program.display().to_string(), &self.data_folder(), || finish(&mut command))
    }

    fn append(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.data_folder().join(name);
        let file = OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The first start takes a free port.
    fn begin(&mut self) -> Result<(), String> {
        let (process, port) = on_a_port(self.fixed_port(), PASSING, |port| self.begin_on(port))?;
        (self.served.process, self.served.port) = (Some(process), port);
        Ok(())
    }

    fn begin_on(&self, port: u16) -> Result<Process, String> {
        let log_path = self.folder.path().join("log");
        let log =
            File::options().create(true).append(true).open(&log_path).map_err(|error| error.to_string())?;
        let mut command = self.account.command(&self.programs.join("postgres"), VARIABLES);
        if self.apart {
            let mut outer = Command::new("unshare");
            outer.args(APART);
            command = within(outer, &command);
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
        let process = Process::spawn(&command, Some(log))?;
        let serves = || connect(self.socket_folder(), port, "postgres").is_ok() && self.is_reachable(port);
        until_it_serves(process, serves, Signal::QUIT, &log_path)
    }
}

impl TestServer for Cluster {
    fn served(&self) -> &Served {
        &self.served
    }

    /// The account owns a database, and may do nothing else.
    fn plain_target(&self) -> String {
        self.sql("CREATE ROLE plain LOGIN");
        self.sql("CREATE DATABASE slob OWNER plain");
        format!("postgres://plain@127.0.0.1:{}/slob", self.port)
    }

    fn plain_target_at(&self, host: IpAddr, port: u16) -> String {
        format!("postgres://plain@{host}:{port}/slob?sslmode=disable")
    }

    fn run(&self, statements: &str) {
        self.admin_of("slob").batch_execute(statements).expect("the superuser's statements");
    }

    fn number(&self, sql: &str) -> i64 {
        self.ask(sql)
    }

    fn busy_sessions(&self) -> i64 {
        self.number(&format!("SELECT count(*) {BUSY}"))
    }

    fn end_busy_session(&self, with_connection: bool) {
        let end = if with_connection { "pg_terminate_backend" } else { "pg_cancel_backend" };
        let sql = format!("SELECT count({end}(pid)) FROM (SELECT pid {BUSY} LIMIT 1) one");
        until(|| ensure(self.number(&sql) == 1, || "no session is busy".to_owned()));
    }

    fn kill(&mut self) {
        self.served.end(Signal::KILL);
    }

    fn power_off(&mut self) {
        let Some(postmaster) = self.pid() else { return };
        // Halted, it starts no more processes, and none of them works on.
        send(postmaster, Signal::STOP);
        children(postmaster).into_iter().for_each(|child| send(child, Signal::KILL));
        self.kill();
    }

    fn restart(&mut self) {
        self.stop();
        self.begin().expect("it starts");
    }

    fn restart_contained(&mut self, container: Arc<Container>) {
        self.append("pg_hba.conf", "host all all 10.0.0.0/8 trust\n").expect("the file is its own");
        self.served.container = Some(container);
        self.restart();
    }

    fn lock_main_table(&self) -> Box<dyn Any> {
        let mut admin = self.admin_of("slob");
        admin.batch_execute("BEGIN; LOCK TABLE slob1.cf1 IN ACCESS EXCLUSIVE MODE").expect("a lock");
        Box::new(admin)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The quickest end that still removes its shared memory. Processes apart have their own, and `unshare`, which runs them,
        // passes no signal on: without it they end, and their memory too.
        let is_apart = self.apart || self.container.is_some();
        self.served.end(if is_apart { Signal::KILL } else { Signal::QUIT });
    }
}

fn connect(folder: &Path, port: u16, database: &str) -> Result<Client, ::postgres::Error> {
    let mut config = ::postgres::Config::new();
    config.host_path(folder).port(port).user("postgres").dbname(database);
    config.connect_timeout(Duration::from_secs(10)).connect(NoTls)
}

fn setting_lines(settings: &[(&str, &str)]) -> String {
    settings.iter().map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''"))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Debian 12 has it. `SLOB_TEST_POSTGRES` names another for tests of any version.
    V15,
    /// The first with asynchronous I/O.
    V18,
}

impl Version {
    fn number(self) -> String {
        match self {
            Self::V15 => std::env::var("SLOB_TEST_POSTGRES").unwrap_or_else(|_| "15".to_owned()),
            Self::V18 => "18".to_owned(),
        }
    }

    pub fn programs(self) -> Result<PathBuf, String> {
        let places = self.places();
        let found = places.iter().find(|folder| self.is_in(folder)).cloned();
        found.ok_or_else(|| {
            let number = self.number();
            format!("PostgreSQL {number} is in none of {places:?}; .ci/install-test-servers installs it")
        })
    }

    fn places(self) -> Vec<PathBuf> {
        let number = self.number();
        let own = std::env::var_os(format!("SLOB_TEST_PG{number}")).map(PathBuf::from);
        let own = own.unwrap_or_else(|| test_servers(&format!("pg{number}"))).join("bin");
        let debian = PathBuf::from(format!("/usr/lib/postgresql/{number}/bin"));
        let path: OsString = std::env::var_os("PATH").unwrap_or_default();
        [own, debian].into_iter().chain(std::env::split_paths(&path)).collect()
    }

    fn is_in(self, folder: &Path) -> bool {
        if !folder.join("initdb").is_file() {
            return false;
        }
        let Ok(said) = Command::new(folder.join("postgres")).arg("-V").output() else { return false };
        String::from_utf8_lossy(&said.stdout).contains(&format!(") {}.", self.number()))
    }
}
