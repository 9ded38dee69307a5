//! A PostgreSQL server with a plain role, whose database is the target, and a folder for runs.

use std::sync::Arc;

use serde_json::Value;

use super::Folder;
use slob_testing::Container;
use slob_testing::postgres::{Cluster, Version};

/// A server, the address of a plain role's database on it, and a folder for runs.
pub(crate) struct Bench {
    pub(crate) cluster: Cluster,
    pub(crate) target: String,
    pub(crate) folder: Folder,
}

/// `None` where that version is not installed, which stderr says.
pub(crate) fn bench(version: Version, settings: &[(&str, &str)]) -> Option<Bench> {
    let cluster = Cluster::start_or_skip(version, settings)?;
    cluster.sql("CREATE ROLE plain LOGIN; GRANT pg_read_all_settings TO plain");
    cluster.sql("CREATE DATABASE slob OWNER plain");
    let target = format!("postgres://plain@127.0.0.1:{}/slob", cluster.port());
    Some(Bench { cluster, target, folder: Folder::new() })
}

/// The same in a container, with a schema loaded; its target is the container's address.
pub(crate) fn contained(version: Version, settings: &[(&str, &str)]) -> Option<(Bench, Arc<Container>)> {
    let container = Arc::new(Container::make_or_skip()?);
    let mut bench = bench(version, settings)?;
    bench.cluster.restart_contained(Arc::clone(&container));
    bench.target = format!("postgres://plain@{}:{}/slob", container.address(), bench.cluster.port());
    bench.target.push_str("?sslmode=disable");
    bench.setup("1", "32M");
    Some((bench, container))
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

    /// The administrator, in the role's database.
    pub(crate) fn admin(&self) -> postgres::Client {
        let parameters = format!("host=127.0.0.1 port={} user=postgres dbname=slob", self.cluster.port());
        postgres::Client::connect(&parameters, postgres::NoTls).unwrap()
    }

    pub(crate) fn ask(&self, sql: &str) -> i64 {
        self.admin().query_one(sql, &[]).unwrap().get(0)
    }
}
