//! Database servers with a plain account, and a folder for runs.

use std::process::Child;
use std::sync::Arc;

use serde_json::Value;
use slob_testing::Container;
use slob_testing::jobs::TestServer;
use slob_testing::mariadb::MariaDb;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::tries::{ensure, until};

use super::{Called, Folder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Postgres(Version),
    MariaDb,
}

impl Product {
    pub(crate) const ALL: [Self; 2] = [Self::Postgres(Version::V15), Self::MariaDb];

    /// With settings such as `max_connections=12`. `None`, with a line on stderr, where it is not installed.
    pub(crate) fn start(self, settings: &[&str]) -> Option<Bench> {
        let pairs: Vec<_> = settings.iter().map(|setting| setting.split_once('=').unwrap()).collect();
        Some(match self {
            Self::Postgres(version) => postgres(version, &pairs)?.of_any_product(),
            Self::MariaDb => mariadb(settings)?.of_any_product(),
        })
    }
}

/// A server, the target of a plain account on it, and a folder for runs.
pub(crate) struct Bench<S: ?Sized = dyn TestServer> {
    pub(crate) server: Box<S>,
    pub(crate) target: String,
    pub(crate) folder: Folder,
}

pub(crate) fn postgres(version: Version, settings: &[(&str, &str)]) -> Option<Bench<Cluster>> {
    let bench = Bench::of(Cluster::start_or_skip(version, settings)?);
    bench.server.sql("GRANT pg_read_all_settings TO plain");
    Some(bench)
}

/// The same in a container, with a loaded schema.
pub(crate) fn contained(
    version: Version,
    settings: &[(&str, &str)],
) -> Option<(Bench<Cluster>, Arc<Container>)> {
    let (bench, container) = postgres(version, settings)?.contained()?;
    bench.setup(1, "32M");
    Some((bench, container))
}

pub(crate) fn mariadb(settings: &[&str]) -> Option<Bench<MariaDb>> {
    MariaDb::start_or_skip(settings).map(Bench::of)
}

impl<S: TestServer + 'static> Bench<S> {
    pub(crate) fn of(server: S) -> Self {
        let target = server.plain_target();
        Self { server: Box::new(server), target, folder: Folder::new() }
    }

    fn of_any_product(self) -> Bench {
        Bench { server: self.server, target: self.target, folder: self.folder }
    }
}

impl<S: TestServer + ?Sized> Bench<S> {
    pub(crate) fn port(&self) -> u16 {
        self.server.served().port()
    }

    /// Restarts the server in a container, whose address becomes the target. `None`, with a line on stderr, where none can be
    /// made.
    pub(crate) fn contained(mut self) -> Option<(Self, Arc<Container>)> {
        let container = Arc::new(Container::make_or_skip()?);
        self.server.restart_contained(Arc::clone(&container));
        self.target = self.server.plain_target_at(container.address(), self.port());
        Some((self, container))
    }

    pub(crate) fn load(&self, flags: &str) -> Called {
        self.folder.slob(self.load_line(flags)).success()
    }

    pub(crate) fn load_line(&self, flags: &str) -> String {
        format!("setup --target {} --scan-table-sz 64 {flags}", self.target)
    }

    /// Runs in the folder use these schemas.
    pub(crate) fn setup(&self, schemas: u32, scale: &str) {
        self.load(&format!("--scale {scale} {schemas}"));
        self.folder.write(
            "slob.conf",
            &format!("TARGET='{}'\nSCALE={scale}\nWARMUP=0\nWORK_UNIT=64\n", self.target),
        );
    }

    pub(crate) fn verify(&self) -> Called {
        self.folder.slob(format!("verify --target {}", self.target))
    }

    pub(crate) fn run(&self, flags: impl AsRef<str>) -> Value {
        self.folder.run_json(flags)
    }

    pub(crate) fn long_run(&self, flags: &str) -> Child {
        let child = self.folder.start_run(format!("--update-pct 100 --work-unit 8 {flags}"));
        until(|| ensure(self.server.busy_sessions() > 0, || "no session went to work".to_owned()));
        child
    }
}
