//! A real server of MariaDB, or of MySQL, for a test.

mod galera;
mod product;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::account::Account;
use crate::container::{self, Container};
use crate::process::Process;
use crate::start::{self, finish, on_a_port, until_it_serves};
pub use galera::Galera;
pub use product::Product;

/// How the variables of its clients begin.
const VARIABLES: &str = "MYSQL";
/// The account that packages make for it.
const ACCOUNT: &str = "mysql";
/// Words of a start that may succeed when it is repeated.
const PASSING: &[&str] = &["Address already in use"];

/// A server with a data folder of its own. Its administrator is `root` without a password.
#[derive(Debug)]
pub struct MariaDb {
    // Before the folder: fields are dropped in this order, and the server must be gone when its files go.
    process: Option<Process>,
    product: Product,
    account: Account,
    settings: Vec<String>,
    port: u16,
    container: Option<Arc<Container>>,
    folder: TempDir,
}

impl MariaDb {
    /// Makes and starts a server, MariaDB unless [`Product::asked`] says otherwise, with options as on its command line but
    /// without their hyphens. Where it is not installed the test is to be skipped, which stderr says.
    ///
    /// # Panics
    /// If it does not start, or is not installed where `CI=true`.
    pub fn start_or_skip(settings: &[&str]) -> Option<Self> {
        Self::start_product_or_skip(Product::asked(), settings)
    }

    /// As [`MariaDb::start_or_skip`], for a test that is about one product.
    ///
    /// # Panics
    /// As there.
    pub fn start_product_or_skip(product: Product, settings: &[&str]) -> Option<Self> {
        if start::skip(product.installed()) {
            None
        } else {
            Some(Self::start(product, settings).expect("a server"))
        }
    }

    fn start(product: Product, settings: &[&str]) -> Result<Self, String> {
        let account = Account::choose(ACCOUNT)?;
        let folder =
            tempfile::Builder::new().prefix("slob-my").tempdir().map_err(|error| error.to_string())?;
        account.give(folder.path())?;
        let settings =
            product.settings().iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { process: None, product, account, settings, port: 0, container: None, folder };
        server.init()?;
        server.begin()?;
        Ok(server)
    }

    /// A target of loopback for an account.
    pub fn target(&self, user: &str) -> String {
        format!("mysql://{user}@127.0.0.1:{}/?defaults-file=/dev/null", self.port)
    }

    /// The target of an account that has what the documentation asks for, and no more. It is made here.
    pub fn plain_target(&self) -> String {
        self.sql("CREATE USER IF NOT EXISTS plain@'%'");
        self.sql("GRANT ALL ON `slob%`.* TO plain@'%'");
        self.sql("GRANT SELECT ON mysql.innodb_index_stats TO plain@'%'");
        self.target("plain")
    }

    /// A target through the unix socket.
    pub fn socket_target(&self, user: &str) -> String {
        let path = self.socket().display().to_string().replace('/', "%2F");
        format!("mysql://{user}@{path}/?defaults-file=/dev/null")
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The data folder.
    pub fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The server's process id.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// A connection of the administrator that does not use the code under test.
    pub fn admin(&self) -> Conn {
        connect(&self.socket()).expect("the administrator connects")
    }

    /// Runs a statement as the administrator.
    pub fn sql(&self, statement: &str) {
        self.admin().query_drop(statement).expect("the administrator's statement");
    }

    /// A single number, asked by the administrator.
    pub fn ask(&self, sql: &str) -> u64 {
        self.admin().query_first(sql).expect("an answer").expect("a row")
    }

    /// Ends the server as an administrator would, and waits until it is gone.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::TERM);
        }
    }

    /// Kills the server as a power failure would.
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

    /// Starts it again in a container, where it listens at the container's address too.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart_contained(&mut self, container: Arc<Container>) {
        self.container = Some(container);
        self.restart().expect("it starts");
    }

    /// The same with more settings, which take the place of those it has.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart_with(&mut self, settings: &[String]) -> Result<(), String> {
        self.settings.extend_from_slice(settings);
        self.restart()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// One of the server's programs, in its folder and with its temporary files there: a server that starts removes the
    /// temporary tables of all others in the same folder.
    fn command(&self, name: &str) -> Result<Command, String> {
        let command = self.account.command(&self.product.program(name)?, VARIABLES);
        let mut command = self.product.started(command);
        command.current_dir(self.folder.path()).env("TMPDIR", self.folder.path());
        Ok(command)
    }

    fn init(&self) -> Result<(), String> {
        let (program, arguments) = self.product.init();
        let mut command = self.command(program)?;
        command.args(arguments);
        command.arg(format!("--datadir={}", self.data_folder().display()));
        // The size of pages is decided here.
        command.args(
            self.settings
                .iter()
                .filter(|text| text.starts_with("innodb-page-size"))
                .map(|text| format!("--{text}")),
        );
        finish(&mut command)
    }

    /// Starts on the port it has; the first time on a free one.
    fn begin(&mut self) -> Result<(), String> {
        let fixed = (self.port != 0).then_some(self.port);
        let (process, port) = on_a_port(fixed, PASSING, |port| self.begin_on(port))?;
        (self.process, self.port) = (Some(process), port);
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
        let process = Process::spawn(command, None)?;
        until_it_serves(process, || connect(&self.socket()).is_ok(), Signal::KILL, &log)
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Its files go with it: there is nothing to write out.
        self.kill9();
    }
}

fn connect(socket: &Path) -> Result<Conn, mysql::Error> {
    Conn::new(OptsBuilder::new().socket(socket.to_str()).user(Some("root")))
}
