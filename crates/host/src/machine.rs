//! Facts and settings of the machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use procfs::Current;
use serde::{Deserialize, Serialize};

use crate::files::{attribute, read_text};

/// Unknown facts are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    pub hostname: String,
    /// The os-release file's words.
    pub os: Option<String>,
    /// `uname -r` prints it.
    pub kernel: String,
    pub architecture: String,
    pub cpu_model: Option<String>,
    /// Affinity and quota of this process limit them.
    pub cpus_usable: Option<u32>,
    pub cpus_online: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// Without kernel image and firmware.
    pub memory_bytes: Option<u64>,
    /// `None` on bare metal, or if the guest can't see it.
    pub virtualisation: Option<String>,
}

impl HostInfo {
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        let cpuinfo = read_text(Path::new("/proc/cpuinfo")).unwrap_or_default();
        let os_release = ["/etc/os-release", "/usr/lib/os-release"];
        let model = || attribute(Path::new("/proc/device-tree/model"));
        let online = attribute(Path::new("/sys/devices/system/cpu/online"));
        Self {
            hostname: text(uname.nodename()),
            os: os_release.iter().find_map(|path| pretty_name(&read_text(path.as_ref()).ok()?)),
            kernel: text(uname.release()),
            architecture: text(uname.machine()),
            cpu_model: cpuinfo_value(&cpuinfo, "model name")
                .or_else(model)
                .map(|model| model.trim_end_matches('\0').to_owned()),
            cpus_usable: std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok()),
            cpus_online: online.and_then(|list| list_len(&list)),
            // Guests without a topology have empty files.
            cores: distinct(Path::new("/sys"), "core_cpus_list")
                .or_else(|| distinct(Path::new("/sys"), "thread_siblings_list")),
            sockets: distinct(Path::new("/sys"), "physical_package_id"),
            memory_bytes: procfs::Meminfo::current().ok().map(|memory| memory.mem_total),
            virtualisation: virtualisation(Path::new("/sys"), &cpuinfo),
        }
    }
}

/// The form is freedesktop.org's os-release(5).
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

fn cpuinfo_value(cpuinfo: &str, key: &str) -> Option<String> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(k, _)| k.trim() == key)
        .map(|(_, v)| v.trim().to_owned())
}

/// Lists are such as `0-3,8`.
fn list_len(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0, |sum: u32, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// `None` if a running CPU lacks the file.
fn distinct(sys: &Path, name: &str) -> Option<u32> {
    let folders = fs::read_dir(sys.join("devices/system/cpu")).ok()?.flatten();
    let is_cpu = |entry: &fs::DirEntry| {
        let number =
            entry.file_name().to_str().and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        number.is_some() && entry.path().join("topology").is_dir()
    };
    let values = folders.filter(is_cpu).map(|cpu| attribute(&cpu.path().join("topology").join(name)));
    let values: Option<BTreeSet<String>> = values.collect();
    values.filter(|values| !values.is_empty() && !values.contains("-1")).map(|values| values.len() as u32)
}

/// The firmware's product name, or at least that there is a hypervisor.
fn virtualisation(sys: &Path, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = attribute(&sys.join("hypervisor/type")) {
        return Some(kind);
    }
    let in_guest = cpuinfo_value(cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"));
    let dmi = |name: &str| attribute(&sys.join("class/dmi/id").join(name));
    let maker: Vec<String> = [dmi("sys_vendor"), dmi("product_name")].into_iter().flatten().collect();
    // Physical hosts have makers and products too: without the CPU's flag only well-known names count.
    const KNOWN: &str = "KVM|QEMU|VMware|VirtualBox|Amazon EC2|Google|Virtual Machine|Xen|OpenStack";
    let named = |word: &str| maker.iter().any(|name| name.contains(word));
    let known = KNOWN.split('|').any(named) && !named("metal"); // clouds rent bare metal too
    match (in_guest, maker.is_empty()) {
        (true, true) => Some("a hypervisor that does not give its name".to_owned()),
        (true, false) => Some(maker.join(" ")),
        (false, _) => known.then(|| maker.join(" ")),
    }
}

/// These lower figures, or make them less even.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSettings {
    /// Empty if the kernel does not choose, as in most guests.
    pub governors: Vec<String>,
    pub clocksource: Option<String>,
}

impl MachineSettings {
    pub fn read() -> Self {
        Self::below(Path::new("/sys/devices/system"))
    }

    fn below(system: &Path) -> Self {
        let cpus = fs::read_dir(system.join("cpu")).into_iter().flatten().flatten();
        let governors: BTreeSet<String> =
            cpus.filter_map(|cpu| attribute(&cpu.path().join("cpufreq/scaling_governor"))).collect();
        Self {
            governors: governors.into_iter().collect(),
            clocksource: attribute(&system.join("clocksource/clocksource0/current_clocksource")),
        }
    }

    /// It slows waiting CPUs, such as those in a test of storage.
    pub fn slow_governor(&self) -> Option<&str> {
        self.governors.iter().map(String::as_str).find(|governor| *governor != "performance")
    }

    /// It takes a microsecond or more to read, for each operation.
    pub fn slow_clocksource(&self) -> Option<&str> {
        self.clocksource
            .as_deref()
            .filter(|clock| ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"].contains(clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(list_len("0-3,8,10-11\n"), Some(7));
        assert_eq!(list_len("0"), Some(1));
        assert_eq!(list_len("3-1"), None);
        assert_eq!(list_len(""), None);
    }

    #[test]
    fn the_distribution_is_unquoted() {
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\"Some Linux 9\"\n").as_deref(), Some("Some Linux 9"));
        assert_eq!(pretty_name("NAME=x\n"), None);
    }

    #[test]
    fn a_guest_is_distinguished_from_a_server() {
        let sys = tempfile::tempdir().unwrap();
        let dmi = sys.path().join("class/dmi/id");
        std::fs::create_dir_all(&dmi).unwrap();
        let guest = "flags\t\t: fpu hypervisor sse\n";
        assert!(virtualisation(sys.path(), guest).unwrap().contains("does not give its name"));
        std::fs::write(dmi.join("sys_vendor"), "Dell Inc.\n").unwrap();
        std::fs::write(dmi.join("product_name"), "PowerEdge R750\n").unwrap();
        assert_eq!(virtualisation(sys.path(), "flags\t\t: fpu sse\n"), None);
        std::fs::write(dmi.join("sys_vendor"), "QEMU\n").unwrap();
        assert_eq!(virtualisation(sys.path(), guest).as_deref(), Some("QEMU PowerEdge R750"));
        std::fs::write(dmi.join("sys_vendor"), "Amazon EC2\n").unwrap();
        std::fs::write(dmi.join("product_name"), "m6g.large\n").unwrap();
        assert_eq!(virtualisation(sys.path(), "").as_deref(), Some("Amazon EC2 m6g.large"));
        std::fs::write(dmi.join("product_name"), "m6g.metal\n").unwrap();
        assert_eq!(virtualisation(sys.path(), ""), None);
    }

    #[test]
    fn this_host_is_described() {
        let info = HostInfo::read();
        assert!(!info.kernel.is_empty() && !info.architecture.is_empty(), "{info:?}");
        assert!(info.memory_bytes.unwrap() > 1 << 20);
        assert!(info.cpus_usable.unwrap() >= 1 && info.cpus_online.unwrap() >= 1);
    }

    #[test]
    fn threads_of_a_core_and_cores_of_a_socket_are_counted_once() {
        let sys = tempfile::tempdir().unwrap();
        let write = |cpu: u32, core: &str, socket: &str| {
            let topology = sys.path().join(format!("devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&topology).unwrap();
            fs::write(topology.join("core_cpus_list"), core).unwrap();
            fs::write(topology.join("physical_package_id"), socket).unwrap();
        };
        for (cpu, core, socket) in [(0, "0,4", "0"), (4, "0,4", "0"), (1, "1,5", "0"), (2, "2", "1")] {
            write(cpu, core, socket);
        }
        // An offline CPU has no topology, and other folders are no CPUs.
        fs::create_dir_all(sys.path().join("devices/system/cpu/cpu9")).unwrap();
        fs::create_dir_all(sys.path().join("devices/system/cpu/cpufreq/topology")).unwrap();
        let all = |name| distinct(sys.path(), name);
        assert_eq!((all("core_cpus_list"), all("physical_package_id")), (Some(3), Some(2)));
        write(3, "3", "-1");
        assert_eq!((all("physical_package_id"), all("thread_siblings_list")), (None, None));
    }

    #[test]
    fn each_governor_is_listed_once_and_slow_ones_are_known() {
        let system = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = system.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(MachineSettings::below(system.path()), MachineSettings::default());
        for (cpu, governor) in [("cpu0", "performance\n"), ("cpu1", "powersave\n"), ("cpu2", "powersave\n")] {
            write(&format!("cpu/{cpu}/cpufreq/scaling_governor"), governor);
        }
        write("clocksource/clocksource0/current_clocksource", "hpet\n");
        let machine = MachineSettings::below(system.path());
        assert_eq!(machine.governors, ["performance", "powersave"]);
        assert_eq!((machine.slow_governor(), machine.slow_clocksource()), (Some("powersave"), Some("hpet")));
        write("clocksource/clocksource0/current_clocksource", "tsc\n");
        assert_eq!(MachineSettings::below(system.path()).slow_clocksource(), None);
    }
}
