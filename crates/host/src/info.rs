//! What this host is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::roots::{Roots, attribute, read_text};

/// Facts about the host that explain a result. What cannot be told is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The host's name for itself.
    pub hostname: String,
    /// The distribution, as its os-release file words it.
    pub os: Option<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Machine architecture, as `uname -m`.
    pub architecture: String,
    /// The processor's name for itself.
    pub cpu_model: Option<String>,
    /// CPUs (hardware threads) this process may use: affinity and cgroup quota considered.
    pub cpus_usable: Option<u32>,
    /// CPUs (hardware threads) that the kernel runs.
    pub cpus_online: Option<u32>,
    /// Main memory, without what the kernel's image and firmware keep.
    pub memory_bytes: Option<u64>,
    /// The hypervisor, as far as the guest can tell; `None` on bare metal or when nothing tells.
    pub virtualisation: Option<String>,
}

impl HostInfo {
    /// The facts now.
    pub fn read() -> Self {
        Self::read_from(&Roots::default(), &["/etc/os-release", "/usr/lib/os-release"])
    }

    fn read_from(roots: &Roots, os_release: &[&str]) -> Self {
        let uname = rustix::system::uname();
        let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        let cpuinfo = read_text(&roots.proc.join("cpuinfo")).unwrap_or_default();
        Self {
            hostname: text(uname.nodename()),
            os: os_release.iter().find_map(|path| pretty_name(&read_text(path.as_ref()).ok()?)),
            kernel: text(uname.release()),
            architecture: text(uname.machine()),
            cpu_model: cpuinfo_value(&cpuinfo, "model name")
                .or_else(|| attribute(&roots.proc.join("device-tree/model")))
                .map(|model| model.trim_end_matches('\0').to_owned()),
            cpus_usable: std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok()),
            cpus_online: attribute(&roots.sys.join("devices/system/cpu/online")).and_then(|l| list_len(&l)),
            memory_bytes: read_text(&roots.proc.join("meminfo")).ok().and_then(|text| mem_total(&text)),
            virtualisation: virtualisation(&roots.sys, &cpuinfo),
        }
    }
}

/// `PRETTY_NAME` of an os-release file (freedesktop.org's os-release(5)), without its quotes.
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

fn mem_total(meminfo: &str) -> Option<u64> {
    let kib = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// How many numbers a kernel list such as `0-3,8` names.
fn list_len(list: &str) -> Option<u32> {
    list.trim().split(',').try_fold(0, |sum: u32, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// The hypervisor's product name where the firmware gives it, or at least that there is one.
fn virtualisation(sys: &Path, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = attribute(&sys.join("hypervisor/type")) {
        return Some(kind);
    }
    let in_guest = cpuinfo_value(cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"));
    let dmi = |name: &str| attribute(&sys.join("class/dmi/id").join(name));
    let maker: Vec<String> = [dmi("sys_vendor"), dmi("product_name")].into_iter().flatten().collect();
    // A physical host has a maker and a product as well: without the CPU's flag only well-known names count.
    const KNOWN: [&str; 9] = [
        "KVM",
        "QEMU",
        "VMware",
        "VirtualBox",
        "Amazon EC2",
        "Google",
        "Virtual Machine",
        "Xen",
        "OpenStack",
    ];
    let named = |word: &str| maker.iter().any(|name| name.contains(word));
    let known = KNOWN.iter().any(|known| named(known)) && !named("metal"); // clouds rent bare metal too
    match (in_guest, maker.is_empty()) {
        (true, true) => Some("a hypervisor that does not give its name".to_owned()),
        (true, false) => Some(maker.join(" ")),
        (false, _) => known.then(|| maker.join(" ")),
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
    fn a_guest_is_told_from_a_server() {
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
}
