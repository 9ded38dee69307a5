//! From a path to its file system, and from there down the stack of block devices to the disks.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::{Mount, Mounts, Place};
use super::{BlockId, Device, Disk};
use crate::HostError;
use crate::roots::{Roots, attribute, number};

/// Overlays on overlays and loop devices on loop devices are followed this far.
const MAX_LAYERS: usize = 8;

/// Tells where a path is.
type Locate<'a> = Box<dyn Fn(&Path) -> Result<Place, HostError> + 'a>;

/// Finds devices below `roots`; tests give fixture trees and their own `place`.
pub(super) struct Resolver<'a> {
    roots: Roots,
    place: Locate<'a>,
}

/// What has been found on the way down.
#[derive(Default)]
struct Found {
    top: Option<BlockId>,
    stack: Vec<String>,
    disks: Vec<Disk>,
    cached_below: bool,
    notes: Vec<String>,
}

impl Resolver<'_> {
    pub(super) fn of_this_host() -> Self {
        Self { roots: Roots::default(), place: Box::new(Place::of) }
    }

    pub(super) fn device(&self, path: &Path) -> Result<Device, HostError> {
        let mounts = Mounts::read(&self.roots)?;
        let mount = self.mount_of(&mounts, path)?;
        Ok(self.follow(path, &mounts, mount))
    }

    /// The same for a path as another process sees it. What lies below its file system is looked for among this process's own
    /// mounts: the folder of an overlay's writes, and the file behind a loop device, are the host's.
    pub(super) fn device_seen_by(&self, pid: u32, path: &Path) -> Result<Device, HostError> {
        let theirs = Mounts::read_of(&self.roots, &pid.to_string())?;
        let place = Place::seen_by(pid, path)?;
        let mount = self.carrying(&theirs, &place)?;
        Ok(self.follow(path, &Mounts::read(&self.roots)?, mount))
    }

    fn follow(&self, path: &Path, mounts: &Mounts, mount: Mount) -> Device {
        let mut found = Found::default();
        found.top = self.follow_mount(mounts, &mount, &mut found, 0);
        Device {
            path: path.to_path_buf(),
            file_system: mount.file_system,
            mount_point: mount.point,
            mount_source: mount.source,
            mount_options: mount.options,
            top: found.top,
            stack: found.stack,
            disks: found.disks,
            cached_below: found.cached_below,
            note: (!found.notes.is_empty()).then(|| found.notes.join("; ")),
        }
    }

    fn mount_of(&self, mounts: &Mounts, path: &Path) -> Result<Mount, HostError> {
        self.carrying(mounts, &(self.place)(path)?)
    }

    fn carrying(&self, mounts: &Mounts, place: &Place) -> Result<Mount, HostError> {
        let mount = mounts.of(place).ok_or_else(|| {
            HostError::unexpected(
                &self.roots.proc.join("self/mountinfo"),
                format!("no mount carries {}", place.path.display()),
            )
        })?;
        Ok(mount.clone())
    }

    /// Walks down from a mount; returns the block device that carries it, if there is a single one.
    fn follow_mount(
        &self,
        mounts: &Mounts,
        mount: &Mount,
        found: &mut Found,
        layer: usize,
    ) -> Option<BlockId> {
        if layer >= MAX_LAYERS {
            found.notes.push(format!("more than {MAX_LAYERS} layers of file systems: not followed further"));
            return None;
        }
        match mount.file_system.as_str() {
            "overlay" => self.follow_overlay(mounts, mount, found, layer),
            "btrfs" => self.follow_btrfs(mounts, mount, found, layer),
            _ if mount.major == 0 => {
                found.notes.push(no_block_device(mount));
                None
            }
            _ => self.follow_block(mounts, (mount.major, mount.minor), found, layer),
        }
    }

    /// An overlay's writes go to its upper directory, so that is what counts.
    fn follow_overlay(
        &self,
        mounts: &Mounts,
        mount: &Mount,
        found: &mut Found,
        layer: usize,
    ) -> Option<BlockId> {
        let Some(upper) = mount.option("upperdir") else {
            found
                .notes
                .push("overlay without an upper directory (read-only): its layers are not followed".into());
            return None;
        };
        let absolute = upper.starts_with('/'); // else it is relative to a folder that only its mounter knew
        match self.mount_of(mounts, upper.as_ref()) {
            Ok(below) if absolute && below.id != mount.id => {
                let (kind, point) = (&below.file_system, below.point.display());
                found.notes.push(format!("overlay: writes go to {upper} on {kind} at {point}"));
                self.follow_mount(mounts, &below, found, layer + 1)
            }
            _ => {
                found.notes.push(format!(
                    "overlay: its upper directory {upper} can't be seen from here (a container's root usually): \
                     ask on the host, or use a volume"
                ));
                None
            }
        }
    }

    /// A btrfs has a device number of its own; its members are listed in `/sys/fs/btrfs/UUID/devices`.
    fn follow_btrfs(
        &self,
        mounts: &Mounts,
        mount: &Mount,
        found: &mut Found,
        layer: usize,
    ) -> Option<BlockId> {
        let source = Path::new(&mount.source);
        let source = source.canonicalize().unwrap_or_else(|_| source.to_path_buf()); // /dev/mapper/x -> /dev/dm-0
        let name = source.file_name()?.to_string_lossy().into_owned();
        let members = self.btrfs_members(&name);
        let ids: Vec<(u32, u32)> = members
            .iter()
            .filter_map(|member| device_number(&self.roots.sys.join("class/block").join(member)))
            .collect();
        match ids.as_slice() {
            [] => {
                found.notes.push(format!("btrfs: its devices can't be told from {}", mount.source));
                None
            }
            [single] => self.follow_block(mounts, *single, found, layer),
            several => {
                for id in several {
                    self.follow_block(mounts, *id, found, layer);
                }
                found
                    .notes
                    .push(format!("btrfs on {} devices: no single one accounts for it", several.len()));
                None
            }
        }
    }

    /// The members of the btrfs that `name` belongs to; only `name` itself where sysfs does not list them.
    fn btrfs_members(&self, name: &str) -> Vec<String> {
        let pools = sorted_names(&self.roots.sys.join("fs/btrfs"));
        let members = pools
            .iter()
            .map(|uuid| sorted_names(&self.roots.sys.join("fs/btrfs").join(uuid).join("devices")));
        members.into_iter().find(|m| m.iter().any(|m| m == name)).unwrap_or_else(|| vec![name.to_owned()])
    }

    /// Walks down from a block device: adds it and all below it to `found`.
    fn follow_block(
        &self,
        mounts: &Mounts,
        number: (u32, u32),
        found: &mut Found,
        layer: usize,
    ) -> Option<BlockId> {
        let (major, minor) = number;
        let link = self.roots.sys.join(format!("dev/block/{major}:{minor}"));
        let Ok(dir) = link.canonicalize() else {
            found
                .notes
                .push(format!("block device {major}:{minor} is not in sysfs: nothing more can be told"));
            return None;
        };
        let name = dir.file_name()?.to_string_lossy().into_owned();
        let id = BlockId { name, major, minor };
        if found.stack.contains(&id.name) {
            return Some(id);
        }
        found.stack.push(id.name.clone());
        let below = self.below(&dir);
        for lower in &below {
            self.follow_block(mounts, *lower, found, layer);
        }
        let is_leaf = below.is_empty() && !self.follow_loop(mounts, &id, &dir, found, layer);
        if is_leaf {
            found.disks.push(Disk::read(id.clone(), &dir));
        }
        Some(id)
    }

    /// The devices directly below: the whole disk of a partition, or the members of a stacked device.
    fn below(&self, dir: &Path) -> Vec<(u32, u32)> {
        if dir.join("partition").exists() {
            return dir.parent().and_then(device_number).into_iter().collect();
        }
        let slaves = dir.join("slaves");
        sorted_names(&slaves).iter().filter_map(|name| device_number(&slaves.join(name))).collect()
    }

    /// A loop device goes on with the file behind it. False if there is none to be found, so that the loop device
    /// itself is the leaf.
    fn follow_loop(
        &self,
        mounts: &Mounts,
        id: &BlockId,
        dir: &Path,
        found: &mut Found,
        layer: usize,
    ) -> bool {
        let Some(file) = attribute(&dir.join("loop/backing_file")).map(PathBuf::from) else { return false };
        // Kernels without the attribute (before 4.4) have no direct I/O in loop devices.
        let cached = number::<u8>(&dir.join("loop/dio")) != Some(1);
        found.cached_below |= cached;
        let Ok(mount) = self.mount_of(mounts, &file) else {
            found.notes.push(format!(
                "{}: the file behind it, {}, can't be seen from here",
                id.name,
                file.display()
            ));
            return false;
        };
        let (name, kind) = (&id.name, &mount.file_system);
        let cache =
            if cached { ", read and written through the page cache even with direct I/O" } else { "" };
        found.notes.push(format!("{name} is the file {} on {kind}{cache}", file.display()));
        let before = found.disks.len();
        self.follow_mount(mounts, &mount, found, layer + 1).is_some() || found.disks.len() > before
    }
}

/// Why a file system without a block device has none.
fn no_block_device(mount: &Mount) -> String {
    let kind = mount.file_system.as_str();
    let why = match kind {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => "memory, not a device".to_owned(),
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

/// The device number in a block device's sysfs folder.
fn device_number(dir: &Path) -> Option<(u32, u32)> {
    let text = attribute(&dir.join("dev"))?;
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The names in a folder in order; empty if it does not exist.
fn sorted_names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
