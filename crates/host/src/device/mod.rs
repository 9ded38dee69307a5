//! The block devices behind a path: which they are, what they are like, and what they count.

mod counters;
mod disk;
mod mounts;
mod resolve;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use counters::{DeviceCounters, DeviceUse};
pub use disk::Disk;

use crate::HostError;
use crate::roots::Roots;

/// A block device by name and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockId {
    /// The kernel's name, as in `/sys/class/block`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
}

impl BlockId {
    /// This device's cumulative counters.
    ///
    /// # Errors
    /// The device is gone, or its counters do not read as expected.
    pub fn counters(&self) -> Result<DeviceCounters, HostError> {
        self.counters_in(&Roots::default())
    }

    fn counters_in(&self, roots: &Roots) -> Result<DeviceCounters, HostError> {
        DeviceCounters::read(&roots.sys.join(format!("dev/block/{}:{}/stat", self.major, self.minor)))
    }
}

/// What carries a path: the file system, the block device below it, and the disks at the bottom.
///
/// Where no block device can be told (memory, network, pools that hide their members) `disks` is empty, `top` is
/// `None`, and `note` says why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The path that was asked about.
    #[serde(serialize_with = "crate::lossy::path")]
    pub path: PathBuf,
    /// Type of the file system that carries it, as the kernel calls it: "ext4", "xfs", "overlay".
    pub file_system: String,
    /// Where that file system is mounted.
    #[serde(serialize_with = "crate::lossy::path")]
    pub mount_point: PathBuf,
    /// What is mounted there: a device, an export, or a mere word.
    pub mount_source: String,
    /// Options of the mount and of the file system, in the kernel's order.
    pub mount_options: Vec<String>,
    /// The block device that carries the file system: where its I/O is accounted. `None` if there is none, or if
    /// there are several (a btrfs of several devices): then the disks account for it together.
    pub top: Option<BlockId>,
    /// The kernel's names of all block devices from the top to the leaves, each once, depth first.
    pub stack: Vec<String>,
    /// The whole disks at the bottom of the stack.
    pub disks: Vec<Disk>,
    /// Whether something below `top` reads its file through the page cache (a loop device without direct I/O):
    /// then what `top` counts need not have reached a disk.
    #[serde(default)]
    pub cached_below: bool,
    /// What a reader must know about this stack; if `disks` is empty, why.
    pub note: Option<String>,
}

impl Device {
    /// Finds what carries `path`, which must exist.
    ///
    /// The file system is found by the mount id that the kernel gives for the path (by device number before Linux
    /// 5.8), the stack by following `/sys/dev/block`: partition to disk, device-mapper, md and bcache to their
    /// members, loop devices to the file behind them, an overlay to the folder that takes its writes.
    ///
    /// # Errors
    /// The path does not exist, or the mount table cannot be read.
    pub fn behind(path: &Path) -> Result<Self, HostError> {
        resolve::Resolver::of_this_host().device(path)
    }

    /// The same for an absolute path as the process `pid` sees it, whose root and mounts may be its own: that of a server in a
    /// container, a chroot or another namespace. Takes the right to look at that process.
    ///
    /// # Errors
    /// The process is gone or may not be looked at, or the path does not exist for it.
    pub fn behind_seen_by(pid: u32, path: &Path) -> Result<Self, HostError> {
        resolve::Resolver::of_this_host().device_seen_by(pid, path)
    }

    /// Cumulative counters of the device that carries the file system, with what the disks below it read; `None`
    /// if there is no single one.
    ///
    /// # Errors
    /// The device is gone, or its counters do not read as expected. Disks that can't be read are left out instead.
    pub fn counters(&self) -> Result<Option<DeviceCounters>, HostError> {
        self.counters_in(&Roots::default())
    }

    fn counters_in(&self, roots: &Roots) -> Result<Option<DeviceCounters>, HostError> {
        let Some(top) = &self.top else { return Ok(None) };
        let mut counters = top.counters_in(roots)?;
        counters.disk_read_bytes = self.disk_read_bytes(top, roots);
        Ok(Some(counters))
    }

    /// Bytes read by all disks below `top`; `None` if it is itself the only one, or if any can't be read.
    fn disk_read_bytes(&self, top: &BlockId, roots: &Roots) -> Option<u64> {
        if self.disks.iter().all(|disk| disk.id == *top) {
            return None;
        }
        let read = |disk: &Disk| disk.id.counters_in(roots).ok().map(|counters| counters.used.read_bytes);
        self.disks.iter().map(read).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn writes_to_a_file_reach_the_counters_of_its_device() {
        let dir = tempfile::tempdir().unwrap();
        let device = Device::behind(dir.path()).unwrap();
        assert!(!device.file_system.is_empty() && dir.path().starts_with(&device.mount_point), "{device:?}");
        let Some(before) = device.counters().unwrap() else {
            assert!(device.note.is_some(), "no block device and no reason: {device:?}");
            return;
        };
        assert!(!device.disks.is_empty() && device.stack.first() == device.top.as_ref().map(|t| &t.name));
        let mut file = tempfile::tempfile_in(dir.path()).unwrap();
        file.write_all(&vec![0xa5; 4 << 20]).unwrap();
        file.sync_all().unwrap();
        let interval = device.counters().unwrap().unwrap().since(&before).unwrap();
        assert!(interval.used.write_bytes >= 4 << 20 && interval.used.writes >= 1, "{interval:?}");
    }

    #[test]
    fn a_missing_path_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let error = Device::behind(&dir.path().join("missing")).unwrap_err();
        assert!(matches!(error, HostError::NoSuchPath { .. }), "{error}");
    }

    #[test]
    fn proc_has_no_disk_and_says_so() {
        let device = Device::behind("/proc/self".as_ref()).unwrap();
        assert_eq!((device.file_system.as_str(), device.top, device.disks.len()), ("proc", None, 0));
        assert!(device.note.is_some());
    }
}
