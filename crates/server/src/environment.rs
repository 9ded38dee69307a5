//! What a connection takes from the process around it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Variables and the account's name; a value of its own so that tests need not change those of the process.
pub struct Environment<'a> {
    variables: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Environment<'a> {
    /// An environment with the variables that `variables` knows.
    #[must_use]
    pub fn new(variables: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variables }
    }

    /// The process's own.
    #[must_use]
    pub fn process() -> Environment<'static> {
        Environment::new(&|name| std::env::var(name).ok())
    }

    /// A variable; one that is empty counts as unset.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }

    /// A path below the home folder.
    #[must_use]
    pub fn home(&self, below: &str) -> Option<PathBuf> {
        self.variable("HOME").map(|home| PathBuf::from(home).join(below))
    }

    /// The name of the account that this process runs as: the default user.
    #[must_use]
    pub fn account(&self) -> Option<String> {
        let uid = std::fs::metadata("/proc/self").ok()?.uid().to_string();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let mut accounts = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let own = accounts.find(|fields| fields.get(2) == Some(&uid.as_str()));
        // An account of a directory service is not in the file.
        own.map(|fields| fields[0].to_owned()).or_else(|| self.variable("USER"))
    }
}
