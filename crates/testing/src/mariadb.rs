//! A real server of MariaDB or MySQL.

use std::any::Any;
use std::fs;
use std::net::IpAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;

use crate::container::{self, Container};
pub use crate::galera::Galera;
use crate::jobs::TestServer;
use crate::process::{Process, Served, available, finish, made_once, on_a_port, until_it_serves, within};
use crate::test_servers;
use crate::tries::until;

const VARIABLES: &str = "MYSQL";
/// Packages make this account.
pub(crate) const ACCOUNT: &str = "mysql";
const BUSY: &str =
    "FROM information_schema.PROCESSLIST WHERE USER = 'plain' AND DB LIKE 'slob%' AND COMMAND = 'Execute'";
/// A start with these words may succeed when it is repeated.
const PASSING: &[&str] = &["Address already in use"];

/// Its administrator is `root` without a password.
#[derive(Debug)]
pub struct MariaDb {
    pub(crate) served: Served,
    pub(crate) product: Product,
    pub(crate) settings: Vec<String>,
}

impl Deref for MariaDb {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

impl MariaDb {
    /// Settings are options without their hyphens. `None`, with a line on stderr, if it is not installed and the test is to be
    /// skipped.
    pub fn start_or_skip(settings: &[&str]) -> Option<Self> {
        Self::start_product_or_skip(Product::asked(), settings)
    }

    pub fn start_product_or_skip(product: Product, settings: &[&str]) -> Option<Self> {
        available(product.installed())?;
        Some(Self::start(product, settings).expect("a server"))
    }

    fn start(product: Product, settings: &[&str]) -> Result<Self, String> {
        let settings =
            product.settings().iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { served: Served::new(ACCOUNT, "slob-my")?, product, settings };
        server.init()?;
        server.begin()?;
        Ok(server)
    }

    pub fn target(&self, user: &str) -> String {
        format!("mysql://{user}@127.0.0.1:{}/?defaults-file=/dev/null", self.port)
    }

    pub fn socket_target(&self, user: &str) -> String {
        let path = self.socket().display().to_string().replace('/', "%2F");
        format!("mysql://{user}@{path}/?defaults-file=/dev/null")
    }

    /// It does not use the code under test.
    pub fn admin(&self) -> Conn {
        connect(&self.socket()).expect("the administrator connects")
    }

    pub fn sql(&self, statement: &str) {
        self.admin().query_drop(statement).expect("the administrator's statement");
    }

    pub fn ask(&self, sql: &str) -> u64 {
        self.admin().query_first(sql).expect("an answer").expect("a row")
    }

    pub fn stop(&mut self) {
        self.served.end(Signal::TERM);
    }

    /// They replace present settings.
    pub fn restart_with(&mut self, settings: &[String]) {
        self.settings.extend_from_slice(settings);
        self.restart();
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// Temporary files lie in its folder: a starting server removes the temporary tables of all others in a folder.
    fn command(&self, name: &str) -> Result<Command, String> {
        let command = self.account.command(&self.product.program(name)?, VARIABLES);
        let mut command = self.product.started(command);
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        Ok(command)
    }

    pub(crate) fn init(&self) -> Result<(), String> {
        let (program, arguments) = self.product.init();
        let mut command = self.command(program)?;
        command.args(arguments);
        command.arg(format!("--datadir={}", self.data_folder().display()));
        // The size of pages is decided here.
        let sizes = self.settings.iter().filter(|text| text.starts_with("innodb-page-size"));
        let sizes: Vec<String> = sizes.map(|text| format!("--{text}")).collect();
        command.args(&sizes);
        let name = format!("/{}/{program}{}", self.product.name(), sizes.concat());
        made_once(&name, &self.data_folder(), || {
            finish(&mut command)?;
            // Each server of MySQL has a name of its own in it.
            let _ = fs::remove_file(self.data_folder().join("auto.cnf"));
            Ok(())
        })
    }

    /// The first start takes a free port.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        let (process, port) = on_a_port(self.fixed_port(), PASSING, |port| self.begin_on(port))?;
        (self.served.process, self.served.port) = (Some(process), port);
        Ok(())
    }

    fn begin_on(&self, port: u16) -> Result<Process, String> {
        let log = self.folder.path().join("log.err");
        let mut command = self.command(self.product.server())?;
        let (data, listens) = match &self.container {
            Some(_) => (PathBuf::from(container::DATA), "*"),
            None => (self.data_folder(), "127.0.0.1"),
        };
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        command
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--log-error={}", log.display()));
        command.args([
            format!("--port={port}"),
            format!("--bind-address={listens}"),
            "--skip-name-resolve".into(),
        ]);
        command.args(self.settings.iter().map(|setting| format!("--{setting}")));
        if let Some(container) = &self.container {
            command = container.command(&command, &self.data_folder());
        }
        let process = Process::spawn(&command, None)?;
        let serves = || connect(&self.socket()).is_ok() && self.is_reachable(port);
        until_it_serves(process, serves, Signal::KILL, &log)
    }
}

impl TestServer for MariaDb {
    fn served(&self) -> &Served {
        &self.served
    }

    fn plain_target(&self) -> String {
        self.sql("CREATE USER IF NOT EXISTS plain@'%'");
        self.sql("GRANT ALL ON `slob%`.* TO plain@'%'");
        self.sql("GRANT SELECT ON mysql.innodb_index_stats TO plain@'%'");
        self.target("plain")
    }

    fn plain_target_at(&self, host: IpAddr, port: u16) -> String {
        format!("mysql://plain@{host}:{port}/?defaults-file=/dev/null&ssl-mode=disabled")
    }

    fn run(&self, statements: &str) {
        statements.split("; ").for_each(|statement| self.sql(statement));
    }

    fn number(&self, sql: &str) -> i64 {
        self.ask(sql).cast_signed()
    }

    fn busy_sessions(&self) -> i64 {
        self.number(&format!("SELECT COUNT(*) {BUSY}"))
    }

    fn end_busy_session(&self, with_connection: bool) {
        let busy = || self.admin().query_first(format!("SELECT ID {BUSY}")).expect("an answer");
        let id: u64 = until(|| busy().ok_or_else(|| "no session is busy".to_owned()));
        self.sql(&format!("{} {id}", if with_connection { "KILL" } else { "KILL QUERY" }));
    }

    fn kill(&mut self) {
        self.served.end(Signal::KILL);
    }

    fn restart(&mut self) {
        self.stop();
        self.begin().expect("it starts");
    }

    fn restart_contained(&mut self, container: Arc<Container>) {
        self.served.container = Some(container);
        self.restart();
    }

    fn lock_main_table(&self) -> Box<dyn Any> {
        let mut admin = self.admin();
        admin.query_drop("LOCK TABLES slob1.cf1 WRITE").expect("a lock");
        Box::new(admin)
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Its files are removed, so it need not write them.
        self.kill();
    }
}

pub(crate) fn connect(socket: &Path) -> Result<Conn, mysql::Error> {
    Conn::new(OptsBuilder::new().socket(socket.to_str()).user(Some("root")))
}

/// PATH comes first.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/mysql/bin", "/usr/local/bin"];
/// Another root's `/usr` takes the place of this machine's for one program alone, and nothing is left at its end.
const WITH_USR_OF: [&str; 6] =
    ["--mount", "--propagation=private", "--", "sh", "-c", r#"mount --bind "$0/usr" /usr && exec "$@""#];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    MariaDb,
    /// It has a root of its own.
    MariaDb11,
    /// It has a root of its own.
    MySql9,
}

impl Product {
    const ALL: [Self; 3] = [Self::MariaDb, Self::MariaDb11, Self::MySql9];

    /// `SLOB_TEST_MYSQL` names it.
    pub fn asked() -> Self {
        let Ok(asked) = std::env::var("SLOB_TEST_MYSQL") else { return Self::MariaDb };
        let named = Self::ALL.into_iter().find(|product| product.name() == asked);
        named.unwrap_or_else(|| panic!("SLOB_TEST_MYSQL={asked} is none of {:?}", Self::ALL.map(Self::name)))
    }

    /// Its folder of `target/test-servers` has the same name.
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MariaDb11 => "mariadb-11.8",
            Self::MySql9 => "mysql-9.7",
        }
    }

    pub fn is_mysql(self) -> bool {
        self == Self::MySql9
    }

    fn server(self) -> &'static str {
        if self.is_mysql() { "mysqld" } else { "mariadbd" }
    }

    /// Small files save time. All else is the server's default.
    fn settings(self) -> &'static [&'static str] {
        if self.is_mysql() {
            // The folder of its default for files is made by a package.
            &["innodb-redo-log-capacity=128M", "mysqlx=OFF", "secure-file-priv="]
        } else {
            &["innodb-log-file-size=64M"]
        }
    }

    /// The administrator gets no password.
    fn init(self) -> (&'static str, &'static [&'static str]) {
        if self.is_mysql() {
            ("mysqld", &["--no-defaults", "--initialize-insecure"])
        } else {
            (
                "mariadb-install-db",
                &["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"],
            )
        }
    }

    /// Fails if its programs are missing or may not be started.
    pub(crate) fn installed(self) -> Result<(), String> {
        self.program(self.server())?;
        self.program(self.init().0)?;
        if self.root().is_some() && !rustix::process::geteuid().is_root() {
            return Err(format!("{} has a root of its own, into which only root may go", self.name()));
        }
        Ok(())
    }

    /// The path is the one that its process will see.
    pub(crate) fn program(self, name: &str) -> Result<PathBuf, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let root = self.root();
        let places = FOLDERS.into_iter().map(PathBuf::from);
        let others = std::env::split_paths(&path).filter(|_| root.is_none());
        let is_there = |program: &PathBuf| match &root {
            Some(root) => program.strip_prefix("/").is_ok_and(|below| root.join(below).is_file()),
            None => program.is_file(),
        };
        let found = places.chain(others).map(|folder| folder.join(name)).find(is_there);
        found.ok_or_else(|| {
            format!("{name} of {} is not installed; .ci/install-test-servers installs it", self.name())
        })
    }

    fn started(self, command: Command) -> Command {
        let Some(root) = self.root() else { return command };
        let mut outer = Command::new("unshare");
        outer.args(WITH_USR_OF).arg(root);
        within(outer, &command)
    }

    fn root(self) -> Option<PathBuf> {
        (self != Self::MariaDb).then(|| test_servers(self.name()))
    }
}
