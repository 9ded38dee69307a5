//! A container for a server, as a runtime makes one: it has processes, mounts, a network and names of its own, and a control
//! group.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

/// Where a server in a container finds its data.
pub(crate) const DATA: &str = "/srv";

/// What is unshared, beside the network.
const APART: [&str; 9] = [
    "--pid",
    "--mount",
    "--ipc",
    "--uts",
    "--propagation=private",
    "--mount-proc",
    "--fork",
    "--kill-child",
    "--",
];
/// Where the controllers of CPU and its accounting are, in both versions.
const CONTROLLERS: [&str; 3] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"];

static NEXT: AtomicU8 = AtomicU8::new(1);

/// A network of its own, with one cable to this machine's, and a control group. Both are removed with the value.
#[derive(Debug)]
pub struct Container {
    name: String,
    number: u8,
    groups: Vec<PathBuf>,
}

impl Container {
    /// `None`, which stderr says, where this account may not make one.
    ///
    /// # Panics
    /// If it can't be made where `CI=true`.
    #[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
    pub fn make_or_skip() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slobc{}x{number}", std::process::id());
        let groups = CONTROLLERS.into_iter().map(|at| Path::new(at).join(&name));
        // What can't be made is not there, or of the other version.
        let is_one = |folder: &PathBuf| folder.parent().is_some_and(|at| at.join("cgroup.procs").is_file());
        let groups = groups.filter(is_one).filter(|folder| fs::create_dir(folder).is_ok()).collect();
        let container = Self { name, number, groups };
        if container.lay_cable() {
            return Some(container);
        }
        let message = "no container can be made here (root, iproute2, veth and unshare are needed)";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
        eprintln!("skipped: {message}");
        None
    }

    fn lay_cable(&self) -> bool {
        let Self { name, .. } = self;
        let cable = format!("c{name}");
        let near = self.host(1);
        let far = self.address();
        let steps = [
            format!("netns add {name}"),
            format!("link add {name} type veth peer name {cable} netns {name}"),
            format!("addr add {near}/30 dev {name}"),
            format!("link set {name} up"),
            format!("-n {name} addr add {far}/30 dev {cable}"),
            format!("-n {name} link set {cable} up"),
            format!("-n {name} link set lo up"),
        ];
        steps.iter().all(|step| ip(step))
    }

    /// Its address, as this machine reaches it.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.host(2)
    }

    fn host(&self, last: u8) -> IpAddr {
        // Test programs that run at the same time shall not meet.
        IpAddr::from([10, 100 + (std::process::id() % 100) as u8, self.number, last])
    }

    /// Holds what runs in it to so many CPUs from now on, or to none. False where the machine has no such controller.
    #[must_use]
    pub fn limit_cpus(&self, cpus: Option<f64>) -> bool {
        const PERIOD_US: f64 = 100_000.0;
        let quota = cpus.map(|cpus| (cpus * PERIOD_US).round());
        self.groups.iter().any(|group| {
            let of_one = quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
            let of_two = quota.map_or_else(|| "max".to_owned(), |quota| quota.to_string());
            let write = |file: &str, text: &str| {
                let path = group.join(file);
                path.is_file() && fs::write(path, text).is_ok()
            };
            write("cpu.cfs_quota_us", &of_one) || write("cpu.max", &format!("{of_two} {PERIOD_US}"))
        })
    }

    /// A command in there, whose folder `data` is [`DATA`] for it.
    pub(crate) fn command(&self, inner: &Command, data: &Path) -> Command {
        let mut command = Command::new("sh");
        // The first ones are those of the group, then come the folder and the words of the command.
        let script = "data=$1; n=$2; shift 2; while [ $n -gt 0 ]; do echo $$ > \"$1/cgroup.procs\"; shift; n=$((n-1)); done; \
                      export data; exec \"$@\"";
        command
            .arg("-c")
            .arg(script)
            .arg("container")
            .arg(data)
            .arg(self.groups.len().to_string())
            .args(&self.groups);
        command.args(["ip", "netns", "exec", &self.name, "unshare"]).args(APART);
        command.args(["sh", "-c", &format!("mount --bind \"$data\" {DATA} && exec \"$@\""), "inner"]);
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = inner.get_current_dir() {
            command.current_dir(folder);
        }
        command
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
        // One that somebody is still in stays.
        self.groups.iter().for_each(|group| drop(fs::remove_dir(group)));
    }
}

fn ip(words: &str) -> bool {
    let output = Command::new("ip").args(words.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}
