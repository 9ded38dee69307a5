//! Where the programs of a server are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A major version that the tests run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The one in Debian 12.
    V15,
    /// The first with asynchronous I/O.
    V18,
}

impl Version {
    fn number(self) -> &'static str {
        match self {
            Self::V15 => "15",
            Self::V18 => "18",
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
        let own = match self {
            Self::V15 => None,
            Self::V18 => {
                let package = Path::new(env!("CARGO_MANIFEST_DIR"));
                let is_workspace = |folder: &&Path| folder.join("Cargo.lock").is_file();
                let workspace = package.ancestors().find(is_workspace).unwrap_or(package);
                let folder = std::env::var_os("SLOB_TEST_PG18").map(PathBuf::from);
                Some(folder.unwrap_or_else(|| workspace.join("target/test-servers/pg18")).join("bin"))
            }
        };
        let debian = PathBuf::from(format!("/usr/lib/postgresql/{}/bin", self.number()));
        let path: OsString = std::env::var_os("PATH").unwrap_or_default();
        own.into_iter().chain([debian]).chain(std::env::split_paths(&path)).collect()
    }

    fn is_in(self, folder: &Path) -> bool {
        if !folder.join("initdb").is_file() {
            return false;
        }
        let Ok(said) = Command::new(folder.join("postgres")).arg("-V").output() else { return false };
        String::from_utf8_lossy(&said.stdout).contains(&format!(") {}.", self.number()))
    }
}
