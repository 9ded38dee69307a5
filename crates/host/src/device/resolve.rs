//! From a path to its file system, and down the stack of block devices to the disks.

use std::fs;
use std::path::{Path, PathBuf};

use super::{BlockId, Device, Disk};
use crate::HostError;
use crate::files::{Roots, attribute, number};
use crate::mounts::{Location, Mount, read_mounts};

const MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];
/// Overlays and loop devices may lie on each other.
const MAX_LAYERS: usize = 8;

type Locate<'a> = Box<dyn Fn(&Path) -> Result<Location, HostError> + 'a>;

/// Tests give fixture trees and their own `locate`.
pub(super) struct Resolver<'a> {
    roots: Roots,
    locate: Locate<'a>,
}

impl Resolver<'_> {
    pub(super) fn of_this_host() -> Self {
        Self { roots: Roots::default(), locate: Box::new(Location::of) }
    }

    pub(super) fn device(&self, path: &Path) -> Result<Device, HostError> {
        let mounts = read_mounts(&self.roots, "self")?;
        let mount = self.mount_of(&mounts, &(self.locate)(path)?)?.clone();
        Ok(self.device_of(path, &mounts, mount))
    }

    /// An overlay's upper directory and a loop device's file are the host's, so this process's mounts show them.
    pub(super) fn device_seen_by(&self, pid: u32, path: &Path) -> Result<Device, HostError> {
        let theirs = read_mounts(&self.roots, &pid.to_string())?;
        let mount = self.mount_of(&theirs, &Location::seen_by(pid, path)?)?.clone();
        Ok(self.device_of(path, &read_mounts(&self.roots, "self")?, mount))
    }

    fn mount_of<'m>(&self, mounts: &'m [Mount], location: &Location) -> Result<&'m Mount, HostError> {
        location.mount(mounts).ok_or_else(|| {
            HostError::unexpected(
                &self.roots.proc.join("self/mountinfo"),
                format!("no mount carries {}", location.path.display()),
            )
        })
    }

    fn device_of(&self, path: &Path, mounts: &[Mount], mount: Mount) -> Device {
        let mut walk = Walk {
            resolver: self,
            mounts,
            stack: Vec::new(),
            disks: Vec::new(),
            cached_device: None,
            memory: None,
            notes: Vec::new(),
        };
        let top = walk.follow_mount(&mount, 0);
        Device {
            path: path.to_path_buf(),
            file_system: mount.file_system,
            mount_point: mount.point,
            mount_source: mount.source,
            mount_options: mount.options,
            top,
            stack: walk.stack,
            disks: walk.disks,
            cached_below: walk.cached_device.is_some(),
            cached_device: walk.cached_device,
            memory: walk.memory,
            note: (!walk.notes.is_empty()).then(|| walk.notes.join("; ")),
        }
    }
}

struct Walk<'a> {
    resolver: &'a Resolver<'a>,
    mounts: &'a [Mount],
    stack: Vec<String>,
    disks: Vec<Disk>,
    cached_device: Option<String>,
    memory: Option<String>,
    notes: Vec<String>,
}

impl Walk<'_> {
    /// `None` unless a single block device carries the mount.
    fn follow_mount(&mut self, mount: &Mount, layer: usize) -> Option<BlockId> {
        if layer >= MAX_LAYERS {
            return self.none(format!("more than {MAX_LAYERS} layers of file systems: not followed further"));
        }
        match mount.file_system.as_str() {
            "overlay" => self.follow_overlay(mount, layer),
            "btrfs" => self.follow_btrfs(mount, layer),
            kind if MEMORY.contains(&kind) => {
                self.memory = Some(kind.to_owned());
                self.none(format!("{kind}: memory, not a device"))
            }
            _ if mount.major == 0 => self.none(no_block_device(mount)),
            _ => self.follow_block((mount.major, mount.minor), layer),
        }
    }

    fn none(&mut self, note: impl Into<String>) -> Option<BlockId> {
        self.notes.push(note.into());
        None
    }

    /// This process must see the path.
    fn mount_of(&self, path: &Path) -> Option<Mount> {
        let location = (self.resolver.locate)(path).ok()?;
        self.resolver.mount_of(self.mounts, &location).ok().cloned()
    }

    /// An overlay writes to its upper directory.
    fn follow_overlay(&mut self, mount: &Mount, layer: usize) -> Option<BlockId> {
        let Some(upper) = mount.option("upperdir") else {
            return self.none("overlay without an upper directory (read-only): its layers are not followed");
        };
        let absolute = upper.starts_with('/'); // a relative path depends on the mounter's folder
        match self.mount_of(upper.as_ref()) {
            Some(below) if absolute && below.id != mount.id => {
                let (kind, point) = (&below.file_system, below.point.display());
                self.notes.push(format!("overlay: writes go to {upper} on {kind} at {point}"));
                self.follow_mount(&below, layer + 1)
            }
            _ => self.none(format!(
                "overlay: its upper directory {upper} can't be seen from here (a container's root usually): \
                 ask on the host, or use a volume"
            )),
        }
    }

    /// A btrfs has a device number of its own. `/sys/fs/btrfs/UUID/devices` lists its members.
    fn follow_btrfs(&mut self, mount: &Mount, layer: usize) -> Option<BlockId> {
        let source = Path::new(&mount.source);
        let source = source.canonicalize().unwrap_or_else(|_| source.to_path_buf()); // /dev/mapper/x -> /dev/dm-0
        let name = source.file_name()?.to_string_lossy().into_owned();
        let sys = &self.resolver.roots.sys;
        let pools = sys.join("fs/btrfs");
        let mut pools =
            sorted_names(&pools).into_iter().map(|uuid| sorted_names(&pools.join(uuid).join("devices")));
        // Kernels that list no members leave the mounted device.
        let members = pools.find(|members| members.contains(&name)).unwrap_or_else(|| vec![name]);
        let ids: Vec<(u32, u32)> = members
            .iter()
            .filter_map(|member| device_number(&sys.join("class/block").join(member)))
            .collect();
        match ids.as_slice() {
            [] => self.none(format!("btrfs: its devices can't be told from {}", mount.source)),
            [single] => self.follow_block(*single, layer),
            several => {
                for id in several {
                    self.follow_block(*id, layer);
                }
                self.none(format!("btrfs on {} devices: no single one accounts for it", several.len()))
            }
        }
    }

    fn follow_block(&mut self, (major, minor): (u32, u32), layer: usize) -> Option<BlockId> {
        let link = self.resolver.roots.sys.join(format!("dev/block/{major}:{minor}"));
        let Ok(dir) = link.canonicalize() else {
            return self
                .none(format!("block device {major}:{minor} is not in sysfs: nothing more can be told"));
        };
        let name = dir.file_name()?.to_string_lossy().into_owned();
        let id = BlockId { name, major, minor };
        if self.stack.contains(&id.name) {
            return Some(id);
        }
        self.stack.push(id.name.clone());
        let below = directly_below(&dir);
        for lower in &below {
            self.follow_block(*lower, layer);
        }
        if below.is_empty() && !self.follow_loop(&id, &dir, layer) {
            self.disks.push(Disk::read(id.clone(), &dir));
            self.note_virtual(&id.name);
        }
        Some(id)
    }

    fn note_virtual(&mut self, name: &str) {
        let kind = name.trim_end_matches(|end: char| end.is_ascii_digit());
        match kind {
            "zram" | "ram" | "nullb" => {
                self.memory = Some(name.to_owned());
                self.notes.push(format!("{name}: memory, not a disk"));
            }
            "nbd" | "rbd" | "drbd" => {
                self.notes.push(format!("{name}: a device over the network, whose disks are at the server"));
            }
            "ublkb" => {
                self.notes.push(format!("{name}: a program serves this device; what it reads is not known"));
            }
            _ => {}
        }
    }

    /// False if no disk is below: the device itself is then the leaf.
    fn follow_loop(&mut self, id: &BlockId, dir: &Path, layer: usize) -> bool {
        let Some(file) = attribute(&dir.join("loop/backing_file")).map(PathBuf::from) else { return false };
        // Kernels before 4.4 lack the attribute and direct I/O in loop devices.
        let cached = number::<u8>(&dir.join("loop/dio")) != Some(1);
        if cached && self.cached_device.is_none() {
            self.cached_device = Some(id.name.clone());
        }
        let (name, path) = (&id.name, file.display());
        let Some(mount) = self.mount_of(&file) else {
            self.notes.push(format!("{name}: the file behind it, {path}, can't be seen from here"));
            return false;
        };
        let cache =
            if cached { ", read and written through the page cache even with direct I/O" } else { "" };
        self.notes.push(format!("{name} is the file {path} on {}{cache}", mount.file_system));
        let before = self.disks.len();
        self.follow_mount(&mount, layer + 1).is_some() || self.disks.len() > before
    }
}

/// A partition lies on its disk, a stacked device on its members.
fn directly_below(dir: &Path) -> Vec<(u32, u32)> {
    if dir.join("partition").exists() {
        return dir.parent().and_then(device_number).into_iter().collect();
    }
    let slaves = dir.join("slaves");
    sorted_names(&slaves).iter().filter_map(|name| device_number(&slaves.join(name))).collect()
}

fn no_block_device(mount: &Mount) -> String {
    let kind = mount.file_system.as_str();
    let why = match kind {
        "zfs" => "a pool that does not tell the kernel its devices: use 'zpool iostat'".to_owned(),
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "glusterfs" | "lustre" | "afs" | "gpfs" | "beegfs" => {
            format!("a network file system ({}): its devices are at the server", mount.source)
        }
        "9p" | "virtiofs" | "vboxsf" | "hgfs" | "prl_fs" => {
            "a folder shared by the virtual machine's host: its devices are at the host".to_owned()
        }
        _ if kind.starts_with("fuse") => "a file system in user space: its devices can't be told".to_owned(),
        _ => "a file system without a block device".to_owned(),
    };
    format!("{kind}: {why}")
}

pub(super) fn device_number(dir: &Path) -> Option<(u32, u32)> {
    let text = attribute(&dir.join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Empty if the folder does not exist.
fn sorted_names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests;
