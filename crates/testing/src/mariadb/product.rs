//! Which server of the family a test runs on, and how its programs are started.

use std::path::PathBuf;
use std::process::Command;

use crate::test_servers;

/// Where packages put the programs, beside the folders of PATH.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/mysql/bin", "/usr/local/bin"];
/// Makes a mount namespace in which another root's `/usr` takes the place of this machine's, for the program that follows alone.
/// Nothing of the machine changes, and nothing is left when the program ends.
const WITH_USR_OF: [&str; 6] =
    ["--mount", "--propagation=private", "--", "sh", "-c", r#"mount --bind "$0/usr" /usr && exec "$@""#];

/// A server of the MySQL family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// The MariaDB of the machine's packages.
    MariaDb,
    /// A later MariaDB, in a root of its own.
    MariaDb11,
    /// MySQL, in a root of its own.
    MySql9,
}

impl Product {
    const ALL: [Self; 3] = [Self::MariaDb, Self::MariaDb11, Self::MySql9];

    /// The one that `SLOB_TEST_MYSQL` names: the server of tests that are not about one of them.
    ///
    /// # Panics
    /// If it names none.
    #[must_use]
    pub fn asked() -> Self {
        let Ok(asked) = std::env::var("SLOB_TEST_MYSQL") else { return Self::MariaDb };
        let named = Self::ALL.into_iter().find(|product| product.name() == asked);
        named.unwrap_or_else(|| panic!("SLOB_TEST_MYSQL={asked} is none of {:?}", Self::ALL.map(Self::name)))
    }

    /// Its name, which is that of its folder of `target/test-servers` too.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MariaDb11 => "mariadb-11.8",
            Self::MySql9 => "mysql-9.7",
        }
    }

    /// Whether it is MySQL.
    #[must_use]
    pub fn is_mysql(self) -> bool {
        self == Self::MySql9
    }

    /// The program that serves.
    pub(super) fn server(self) -> &'static str {
        if self.is_mysql() { "mysqld" } else { "mariadbd" }
    }

    /// Settings of every test: small files, which a test does not wait for. Everything else is the server's default.
    pub(super) fn settings(self) -> &'static [&'static str] {
        if self.is_mysql() {
            // The folder of its default for files is made by a package.
            &["innodb-redo-log-capacity=128M", "mysqlx=OFF", "secure-file-priv="]
        } else {
            &["innodb-log-file-size=64M"]
        }
    }

    /// The program that makes a data folder whose administrator has no password, and what it wants to be told.
    pub(super) fn init(self) -> (&'static str, &'static [&'static str]) {
        if self.is_mysql() {
            ("mysqld", &["--no-defaults", "--initialize-insecure"])
        } else {
            (
                "mariadb-install-db",
                &["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"],
            )
        }
    }

    /// Whether its programs are there and may be started.
    ///
    /// # Errors
    /// If not, with the reason.
    pub(super) fn installed(self) -> Result<(), String> {
        self.program(self.server())?;
        self.program(self.init().0)?;
        if self.root().is_some() && !rustix::process::geteuid().is_root() {
            return Err(format!("{} has a root of its own, into which only root may go", self.name()));
        }
        Ok(())
    }

    /// Where a program is, as its process will see it.
    ///
    /// # Errors
    /// If it is not installed.
    pub(super) fn program(self, name: &str) -> Result<PathBuf, String> {
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

    /// A command as the product's programs must be started.
    pub(super) fn started(self, command: Command) -> Command {
        let Some(root) = self.root() else { return command };
        let mut within = Command::new("unshare");
        within.args(WITH_USR_OF).arg(root).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            within.current_dir(folder);
        }
        within
    }

    fn root(self) -> Option<PathBuf> {
        (self != Self::MariaDb).then(|| test_servers(self.name()))
    }
}
