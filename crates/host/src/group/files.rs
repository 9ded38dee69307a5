//! Where the files of a process's control groups are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::roots::{attribute, number};

/// A group's folder and those of the groups around it, the innermost first; the root, which has no limits, is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) path: String,
    folders: Vec<PathBuf>,
}

impl Levels {
    /// The group's own folder.
    pub(super) fn own(&self) -> &Path {
        self.folders.first().map_or(Path::new(""), PathBuf::as_path)
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// The least of what the levels allow, with the level that does.
    pub(super) fn least<T: PartialOrd>(&self, of: impl Fn(&Path) -> Option<T>) -> Option<(&Path, T)> {
        let allowed = self.folders().filter_map(|folder| Some((folder, of(folder)?)));
        allowed.reduce(|least, next| if next.1 < least.1 { next } else { least })
    }
}

/// The hierarchies that tell of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hierarchies {
    /// One for all controllers.
    Two(Levels),
    /// One for each controller, by its name.
    One(BTreeMap<&'static str, Levels>),
}

/// The controllers of version 1 that are asked.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuacct", "memory", "blkio"];

impl Hierarchies {
    /// From the lines of `/proc/PID/cgroup` and of the mount table. Where a machine has both versions, that one counts which has
    /// the controllers.
    pub(super) fn of(groups: &str, mounts: &str) -> Self {
        let of_one: BTreeMap<_, _> = CONTROLLERS
            .into_iter()
            .filter_map(|name| {
                let path = group_of(groups, |controllers| controllers.split(',').any(|one| one == name))?;
                Some((name, levels(path, &mounts_of(mounts, "cgroup", Some(name)))?))
            })
            .collect();
        if !of_one.is_empty() {
            return Self::One(of_one);
        }
        let path = group_of(groups, str::is_empty);
        let levels = path.and_then(|path| levels(path, &mounts_of(mounts, "cgroup2", None)));
        levels.map_or(Self::One(BTreeMap::new()), Self::Two)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::One(controllers) if controllers.is_empty())
    }
}

/// The path of the group in the hierarchy whose controllers are wanted.
fn group_of(groups: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        is_wanted(controllers).then_some(path)
    })
}

/// Where a hierarchy is mounted, and which of its groups is what one sees there.
fn mounts_of(mounts: &str, file_system: &str, controller: Option<&str>) -> Vec<(String, PathBuf)> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut after = after.split(' ');
        let is_it = after.next()? == file_system;
        let options = after.nth(1)?;
        let has = controller.is_none_or(|name| options.split(',').any(|option| option == name));
        (is_it && has).then(|| (root.to_owned(), PathBuf::from(point)))
    };
    mounts.lines().filter_map(mount).collect()
}

/// `None` for the root group, and for one outside of what is mounted.
fn levels(path: &str, mounts: &[(String, PathBuf)]) -> Option<Levels> {
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    mounts.iter().find_map(|(root, point)| {
        let within = Path::new(path).strip_prefix(root).ok()?;
        let mut folders: Vec<PathBuf> = within.ancestors().map(|part| point.join(part)).collect();
        // The folder of the mount itself is the root group, unless a part of the hierarchy is mounted.
        if root == "/" {
            folders.pop();
        }
        folders.retain(|folder| folder.is_dir());
        (!folders.is_empty()).then(|| Levels { path: path.to_owned(), folders })
    })
}

/// The number of a line `name number` of a file.
pub(super) fn named(path: &Path, name: &str) -> Option<u64> {
    let text = attribute(path)?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A limit in bytes; the kernel's words for none (`max`, or about 2^63 in version 1) are none.
pub(super) fn limit_bytes(path: &Path) -> Option<u64> {
    number::<u64>(path).filter(|bytes| *bytes < 1 << 60)
}
