//! A MariaDB server with a plain account, and a folder for runs.

use serde_json::Value;

use super::Folder;
use slob_testing::mariadb::MariaDb;

/// A server, the target of a plain account on it, and a folder for runs.
pub(crate) struct Bench {
    pub(crate) server: MariaDb,
    pub(crate) target: String,
    pub(crate) folder: Folder,
}

/// `None` where no server is installed, which stderr says.
pub(crate) fn bench(settings: &[&str]) -> Option<Bench> {
    let server = MariaDb::start_or_skip(settings)?;
    let target = server.plain_target();
    Some(Bench { server, target, folder: Folder::new() })
}

impl Bench {
    /// Loads schemas, and makes them what a run in the folder works on.
    pub(crate) fn setup(&self, schemas: &str, scale: &str) {
        let data = ["--scale", scale, "--scan-table-sz", "64"];
        self.folder.slob([&["setup", "--target", &self.target][..], &data, &[schemas]].concat()).success();
        self.folder
            .write("slob.conf", &format!("TARGET={}\nSCALE={scale}\nWARMUP=0\nWORK_UNIT=64\n", self.target));
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Value {
        self.folder.run_json(arguments)
    }
}
