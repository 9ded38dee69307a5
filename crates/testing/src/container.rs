//! A network namespace with a cable that can be pulled, and a container for a server, as a runtime makes one: it has processes,
//! mounts, a network and names of its own, and a control group.

use std::ffi::OsStr;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::process::{available, within};

/// The data folder as a server in a container sees it.
pub(crate) const DATA: &str = "/srv";

/// Arguments of `unshare`: the network is separate already.
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
/// Folders of the CPU controllers, of both versions of control groups.
const CONTROLLERS: [&str; 3] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"];

static NEXT: AtomicU8 = AtomicU8::new(1);

/// A network namespace with one cable to this machine's network. It is removed with the value.
#[derive(Debug)]
pub struct Network {
    name: String,
    number: u8,
}

impl Network {
    /// `None`, with a line on stderr, where this account may not make one.
    pub fn make_or_skip() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let network = Self { name: format!("slob{}n{number}", std::process::id()), number };
        let Self { name, .. } = &network;
        let steps = [
            format!("netns add {name}"),
            format!("link add {name} type veth peer name cable netns {name}"),
            format!("addr add {}/30 dev {name}", network.near()),
            format!("link set {name} up"),
            format!("-n {name} addr add {}/30 dev cable", network.far()),
            format!("-n {name} link set cable up"),
            format!("-n {name} link set lo up"),
        ];
        let made = steps.iter().all(|step| ip(step));
        available(made.then_some(network).ok_or_else(|| {
            "no network namespace can be made here (root, iproute2, veth and unshare are needed)".to_owned()
        }))
    }

    /// This machine's address on the cable.
    pub fn near(&self) -> IpAddr {
        self.host(1)
    }

    /// The address at the other end.
    pub fn far(&self) -> IpAddr {
        self.host(2)
    }

    fn host(&self, last: u8) -> IpAddr {
        // Test programs that run at the same time use different addresses.
        IpAddr::from([10, 100 + (std::process::id() % 100) as u8, self.number, last])
    }

    /// Runs a program in the namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Pulls the cable: packets vanish, and neither side is notified.
    pub fn pull(&self) {
        assert!(ip(&format!("link set {} down", self.name)));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
    }
}

/// A network and a control group. Both are removed with the value.
#[derive(Debug)]
pub struct Container {
    network: Network,
    groups: Vec<PathBuf>,
}

impl Container {
    /// `None`, with a line on stderr, where this account may not make one.
    pub fn make_or_skip() -> Option<Self> {
        let network = Network::make_or_skip()?;
        let groups = CONTROLLERS.into_iter().map(|at| Path::new(at).join(&network.name));
        // A group that can't be made has no controller here, or is of the other version.
        let is_one = |folder: &PathBuf| folder.parent().is_some_and(|at| at.join("cgroup.procs").is_file());
        let groups = groups.filter(is_one).filter(|folder| fs::create_dir(folder).is_ok()).collect();
        Some(Self { network, groups })
    }

    /// Its address, as this machine reaches it.
    pub fn address(&self) -> IpAddr {
        self.network.far()
    }

    /// Limits its processes to so many CPUs, or removes the limit. False where the machine has no such controller.
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

    /// Runs a command in the container, which sees the folder `data` as [`DATA`].
    pub(crate) fn command(&self, inner: &Command, data: &Path) -> Command {
        let mut command = Command::new("sh");
        // Arguments: the data folder, the number of groups, the groups, the command.
        let script = "data=$1; n=$2; shift 2; while [ $n -gt 0 ]; do echo $$ > \"$1/cgroup.procs\"; shift; n=$((n-1)); done; \
                      export data; exec \"$@\"";
        command
            .arg("-c")
            .arg(script)
            .arg("container")
            .arg(data)
            .arg(self.groups.len().to_string())
            .args(&self.groups);
        command.args(["ip", "netns", "exec", &self.network.name, "unshare"]).args(APART);
        command.args(["sh", "-c", &format!("mount --bind \"$data\" {DATA} && exec \"$@\""), "inner"]);
        within(command, inner)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // A group that still holds a process stays.
        self.groups.iter().for_each(|group| drop(fs::remove_dir(group)));
    }
}

fn ip(words: &str) -> bool {
    let output = Command::new("ip").args(words.split(' ')).output();
    output.is_ok_and(|output| output.status.success())
}
