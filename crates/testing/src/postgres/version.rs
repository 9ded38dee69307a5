//! Where the programs of a server are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test_servers;

/// A major version that the tests run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The one in Debian 12: the server of tests that are not about one version, for which `SLOB_TEST_POSTGRES` names another.
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

    /// The folder of `initdb` and `postgres`.
    ///
    /// # Errors
    /// With the places that were looked at, if this version is in none of them.
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
