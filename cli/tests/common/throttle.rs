//! Control groups of version 1 and 2 with a limit. Making one needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use slob_host::Device;

use super::{Called, Folder, SLOB};

/// The group is removed with the value; its processes go back to the group around it.
pub(crate) struct Throttle {
    pub(crate) group: PathBuf,
}

impl Throttle {
    pub(crate) fn of_disk_below(folder: &Path, reads_per_s: u32) -> Result<Self, String> {
        Self::of_disk(folder, "read", reads_per_s)
    }

    pub(crate) fn of_writes_below(folder: &Path, writes_per_s: u32) -> Result<Self, String> {
        Self::of_disk(folder, "write", writes_per_s)
    }

    fn of_disk(folder: &Path, kind: &str, per_s: u32) -> Result<Self, String> {
        let device = Device::behind(folder).map_err(|error| error.to_string())?;
        let [disk] = device.disks.as_slice() else { return Err("the data are on no single disk".into()) };
        let number = fs::read_to_string(format!("/sys/block/{}/dev", disk.id.name));
        let number = number.map_err(|error| error.to_string())?;
        let number = number.trim();
        let limits = [
            ("blkio", &*format!("blkio.throttle.{kind}_iops_device"), format!("{number} {per_s}")),
            ("", "io.max", format!("{number} {}iops={per_s}", &kind[..1])),
        ];
        Self::make(&format!("{kind}s-{per_s}"), limits)
            .ok_or_else(|| format!("no control group can be made that limits {kind}s of a disk"))
    }

    /// Changes the limit of a throttled disk.
    pub(crate) fn limit_reads(&self, reads_per_s: u32) {
        for (file, name) in [("blkio.throttle.read_iops_device", ""), ("io.max", "riops=")] {
            let file = self.group.join(file);
            let Ok(limits) = fs::read_to_string(&file) else { continue };
            let number = limits.split_whitespace().next().unwrap();
            fs::write(file, format!("{number} {name}{reads_per_s}")).unwrap();
        }
    }

    pub(crate) fn of_cpu(percent: u32) -> Result<Self, String> {
        let quota_us = percent * 1000;
        let limits = [
            ("cpu", "cpu.cfs_quota_us", quota_us.to_string()),
            ("", "cpu.max", format!("{quota_us} 100000")),
        ];
        Self::make(&format!("cpu-{percent}"), limits)
            .ok_or_else(|| "no control group can be made that limits CPU time".into())
    }

    /// Controller, file and limit of each group.
    fn make(name: &str, limits: [(&str, &str, String); 2]) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        // Tests run in parallel.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("slob-{}-{number}-{name}", std::process::id());
        limits.into_iter().find_map(|(controller, file, limit)| {
            let group = Path::new("/sys/fs/cgroup").join(controller).join(&name);
            fs::create_dir(&group).ok()?;
            let made = Self { group };
            // Where no controllers are mounted, this is a folder in memory.
            let is_group = made.group.join(PROCESSES).exists();
            fs::write(made.group.join(file), limit).ok().filter(|()| is_group)?;
            Some(made)
        })
    }

    pub(crate) fn add(&self, pid: u32) {
        fs::write(self.group.join(PROCESSES), pid.to_string()).unwrap();
    }

    pub(crate) fn command(&self, folder: &Folder, line: &str) -> Command {
        let script = format!("echo $$ > {}/{PROCESSES} && exec {SLOB} {line}", self.group.display());
        folder.command_of("sh", format!("-c '{script}'"))
    }

    pub(crate) fn slob(&self, folder: &Folder, line: &str) -> Called {
        self.command(folder, line).output().unwrap().into()
    }
}

const PROCESSES: &str = "cgroup.procs";

impl Drop for Throttle {
    fn drop(&mut self) {
        let Some(around) = self.group.parent() else { return };
        // A process may start another meanwhile.
        for _ in 0..10 {
            for process in fs::read_to_string(self.group.join(PROCESSES)).unwrap_or_default().lines() {
                let _ = fs::write(around.join(PROCESSES), process);
            }
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
        }
    }
}
