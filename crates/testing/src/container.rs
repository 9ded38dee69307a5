//! A network namespace with a cable that can be pulled, and a container for a server, with a control group.

use std::ffi::OsStr;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::{Process, available, finish, until_it_serves, within};

pub(crate) const DATA: &str = "/srv";

/// The network is separate already.
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
const CONTROLLERS: [&str; 4] =
    ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/memory", "/sys/fs/cgroup"];

/// Four addresses of each lie below 10.0.0.0/8.
const NETWORKS: u32 = 100 * 250;
/// Others may be taken.
const TRIES: u32 = 100;

/// A process holds it, which the system ends with the test: connections of a later test must not go to the network of a killed
/// one.
#[derive(Debug)]
pub struct Network {
    holder: Option<Process>,
    name: String,
    number: u32,
}

impl Network {
    /// `None`, with a line on stderr, where this account may not make one.
    pub fn make_or_skip() -> Option<Self> {
        let made = Self::make();
        available(made.map_err(|error| {
            format!(
                "no network namespace can be made here (root, iproute2, veth and unshare are needed): {error}"
            )
        }))
    }

    fn make() -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "infinity"]);
        let holder = Process::spawn(&command, None)?;
        let of_process = |id: &str| fs::read_link(format!("/proc/{id}/ns/net")).ok();
        let pid = holder.pid().to_string();
        // The process shares this program's network until it has become `sleep`.
        let is_apart = || of_process(&pid).is_some_and(|its| Some(its) != of_process("self"));
        let holder = until_it_serves(holder, is_apart, Signal::KILL, Path::new("/dev/null"))?;
        let mut network = Self { holder: Some(holder), name: String::new(), number: 0 };
        network.lay_cable()?;
        network.bring_up()?;
        Ok(network)
    }

    /// The name of a cable exists once, so concurrent programs find different networks.
    fn lay_cable(&mut self) -> Result<(), String> {
        let mut refused = "no addresses are free".to_owned();
        for number in (0..TRIES).map(|tried| (std::process::id() + tried) % NETWORKS) {
            self.number = number;
            if !self.addresses()?.is_empty() {
                continue;
            }
            let name = format!("slobnet{number}");
            match ip(&format!("link add {name} type veth peer name cable netns {}", self.holder_id())) {
                Ok(_) => {
                    self.name = name;
                    return Ok(());
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Other programs may have these addresses already.
    fn addresses(&self) -> Result<String, String> {
        ip(&format!("-oneline address show to {}/30", self.host(0)))
    }

    fn holder_id(&self) -> u32 {
        self.holder.as_ref().map_or(0, Process::pid)
    }

    fn bring_up(&self) -> Result<(), String> {
        let Self { name, .. } = self;
        ip(&format!("address add {}/30 dev {name}", self.near()))?;
        ip(&format!("link set {name} up"))?;
        let inside = |words: &str| finish(self.command("ip").args(words.split(' ')));
        inside(&format!("address add {}/30 dev cable", self.far()))?;
        inside("link set cable up")?;
        inside("link set lo up")
    }

    pub fn near(&self) -> IpAddr {
        self.host(1)
    }

    pub fn far(&self) -> IpAddr {
        self.host(2)
    }

    fn host(&self, last: u8) -> IpAddr {
        let [second, third] = [100 + self.number / 250, 1 + self.number % 250].map(|part| part as u8);
        IpAddr::from([10, second, third, last])
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.holder_id().to_string(), "--"]).arg(program);
        command
    }

    /// Packets vanish, and neither side is notified.
    pub fn pull(&self) {
        ip(&format!("link set {} down", self.name)).expect("a cable");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = ip(&format!("link delete {}", self.name));
        if let Some(holder) = self.holder.take() {
            holder.end(Signal::KILL);
        }
    }
}

/// Both are removed with the value.
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
        // Other groups have no controller here, or are of the other version.
        let is_one = |folder: &PathBuf| folder.parent().is_some_and(|at| at.join("cgroup.procs").is_file());
        // A killed test left its group, with its limits.
        let is_made = |folder: &PathBuf| {
            let _ = fs::remove_dir(folder);
            fs::create_dir(folder).is_ok()
        };
        let groups = groups.filter(is_one).filter(is_made).collect();
        Some(Self { network, groups })
    }

    pub fn address(&self) -> IpAddr {
        self.network.far()
    }

    /// `None` removes the limit. False without such a controller.
    pub fn limit_cpus(&self, cpus: Option<f64>) -> bool {
        const PERIOD_US: f64 = 100_000.0;
        let quota = cpus.map(|cpus| (cpus * PERIOD_US).round());
        let of_one = quota.map_or_else(|| "-1".to_owned(), |quota| quota.to_string());
        let of_two = quota.map_or_else(|| "max".to_owned(), |quota| quota.to_string());
        self.write("cpu.cfs_quota_us", &of_one) || self.write("cpu.max", &format!("{of_two} {PERIOD_US}"))
    }

    /// The page cache counts too. False without such a controller.
    pub fn limit_memory(&self, bytes: u64) -> bool {
        let bytes = bytes.to_string();
        self.write("memory.limit_in_bytes", &bytes) || self.write("memory.max", &bytes)
    }

    fn write(&self, file: &str, text: &str) -> bool {
        let paths = self.groups.iter().map(|group| group.join(file));
        paths.filter(|path| path.is_file()).any(|path| fs::write(path, text).is_ok())
    }

    /// The container sees the folder `data` as [`DATA`].
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
        let unshare = self.network.command("unshare");
        command.arg(unshare.get_program()).args(unshare.get_args()).args(APART);
        command.args(["sh", "-c", &format!("mount --bind \"$data\" {DATA} && exec \"$@\""), "inner"]);
        within(command, inner)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Processes that were killed are in their group for a moment; a group that holds another process stays.
        let begun = Instant::now();
        loop {
            self.groups.retain(|group| group.is_dir() && fs::remove_dir(group).is_err());
            if self.groups.is_empty() || begun.elapsed() > Duration::from_secs(2) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn ip(words: &str) -> Result<String, String> {
    let say = |error: &dyn std::fmt::Display| format!("ip {words}: {error}");
    let done = Command::new("ip").args(words.split(' ')).output().map_err(|error| say(&error))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(say(&String::from_utf8_lossy(&done.stderr)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::process::send;
    use crate::tries::{ensure, until};

    /// Connections to a server in one network went to another one with the same addresses.
    #[test]
    fn two_networks_have_different_addresses_and_end_with_the_test() {
        let (Some(one), Some(other)) = (Network::make_or_skip(), Network::make_or_skip()) else { return };
        assert_ne!((one.near(), one.far()), (other.near(), other.far()));
        for network in [one, other] {
            let listener = TcpListener::bind((network.near(), 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let connect = format!("exec 3<>/dev/tcp/{}/{}", address.ip(), address.port());
            finish(network.command("bash").args(["-c", &connect])).unwrap();
            assert_eq!(listener.accept().unwrap().1.ip(), network.far());
            assert_eq!(network.addresses().unwrap().lines().count(), 1);
            // The system does this when a test is killed.
            send(network.holder_id(), Signal::KILL);
            until(|| network.addresses().and_then(|found| ensure(found.is_empty(), || found)));
        }
    }
}
