//! Control groups of version 1 and 2: what a process may use, and what it used. A limit holds for all groups in a group, so all
//! levels up to the root are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::files::{Roots, attribute, number, read_text};
use crate::mounts::{Mount, read_mounts};

/// Unset and unreadable limits are absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLimits {
    pub version: u32,
    pub path: String,
    /// The least quota of all levels.
    pub cpus: Option<f64>,
    /// The least limit of all levels.
    pub memory_bytes: Option<u64>,
    /// Such as `8:0 rbps=1048576`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io: Vec<String>,
}

/// The sum over all processes of a group, since its creation or in an interval.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupUse {
    pub cpu_s: Option<f64>,
    /// The next two have the same group, that of the least quota.
    pub periods: Option<u64>,
    /// The group used up its quota.
    pub throttled_periods: Option<u64>,
    /// The sum over CPUs.
    pub throttled_s: Option<f64>,
    /// A moment's value, never a difference.
    pub memory_bytes: Option<u64>,
    pub read_bytes: Option<u64>,
    pub write_bytes: Option<u64>,
    /// Absent without a limit, and in records of older releases.
    #[serde(default)]
    pub limited: Option<LimitedIo>,
}

/// All processes of the limited group count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitedIo {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub write_bytes: u64,
}

impl LimitedIo {
    /// `None` if a count went down: it belongs to another group.
    fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            reads: self.reads.checked_sub(earlier.reads)?,
            read_bytes: self.read_bytes.checked_sub(earlier.read_bytes)?,
            writes: self.writes.checked_sub(earlier.writes)?,
            write_bytes: self.write_bytes.checked_sub(earlier.write_bytes)?,
        })
    }
}

impl GroupUse {
    /// A count that went down belongs to another group, and is absent.
    pub fn since(&self, earlier: &Self) -> Self {
        let count = |later: Option<u64>, earlier: Option<u64>| later?.checked_sub(earlier?);
        let time = |later: Option<f64>, earlier: Option<f64>| {
            Some(later? - earlier?).filter(|seconds| *seconds >= 0.0)
        };
        Self {
            cpu_s: time(self.cpu_s, earlier.cpu_s),
            periods: count(self.periods, earlier.periods),
            throttled_periods: count(self.throttled_periods, earlier.throttled_periods),
            throttled_s: time(self.throttled_s, earlier.throttled_s),
            memory_bytes: self.memory_bytes,
            read_bytes: count(self.read_bytes, earlier.read_bytes),
            write_bytes: count(self.write_bytes, earlier.write_bytes),
            limited: self.limited.zip(earlier.limited).and_then(|(later, earlier)| later.since(&earlier)),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Group {
    version: u32,
    /// Version 2 has the same levels for all controllers.
    controllers: BTreeMap<&'static str, Levels>,
}

const CONTROLLERS: [&str; 4] = ["cpu", "cpuacct", "memory", "blkio"];

impl Group {
    /// `None` for the root group, which has no limits, and for an invisible folder, as of another container.
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::of_process_in(pid, &Roots::default())
    }

    /// A machine may have both versions; the one with controllers counts.
    fn of_process_in(pid: u32, roots: &Roots) -> Option<Self> {
        let hierarchies = Hierarchies::read(&pid.to_string(), roots)?;
        let of_one: BTreeMap<_, _> = CONTROLLERS
            .into_iter()
            .filter_map(|name| Some((name, hierarchies.levels(Some(name), false)?)))
            .collect();
        if !of_one.is_empty() {
            return Some(Self { version: 1, controllers: of_one });
        }
        let levels = hierarchies.levels(None, false)?;
        Some(Self { version: 2, controllers: CONTROLLERS.map(|name| (name, levels.clone())).into() })
    }

    pub fn limits(&self) -> GroupLimits {
        let memory_file = if self.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
        let path = self.levels("cpu").or_else(|| self.controllers.values().next()).map(|levels| &levels.path);
        GroupLimits {
            version: self.version,
            path: path.cloned().unwrap_or_default(),
            cpus: self.least_quota().map(|(_, cpus)| cpus),
            memory_bytes: self
                .levels("memory")
                .and_then(|levels| levels.least(|folder| number::<u64>(&folder.join(memory_file))))
                .map(|(_, bytes)| bytes)
                // No limit is `max` in version 2, and about 2^63 in version 1.
                .filter(|bytes| *bytes < 1 << 60),
            io: self.io_folders().iter().flat_map(|folder| self.io_limits_in(folder)).collect(),
        }
    }

    pub fn used(&self) -> GroupUse {
        let throttled_folder = self.least_quota().map(|(folder, _)| folder.join("cpu.stat"));
        let throttled = |name| named_number(throttled_folder.as_deref()?, name);
        let own_number = |controller, file| number::<u64>(&self.own(controller, file)?);
        let own_text = |controller, file| attribute(&self.own(controller, file)?);
        let seconds = |count: Option<u64>, per_second: f64| Some(count? as f64 / per_second);
        let common = GroupUse {
            limited: self.limited_io(),
            periods: throttled("nr_periods"),
            throttled_periods: throttled("nr_throttled"),
            ..GroupUse::default()
        };
        if self.version == 2 {
            let cpu_us = self.own("cpu", "cpu.stat").and_then(|path| named_number(&path, "usage_usec"));
            let io = own_text("blkio", "io.stat");
            return GroupUse {
                cpu_s: seconds(cpu_us, 1e6),
                throttled_s: seconds(throttled("throttled_usec"), 1e6),
                memory_bytes: own_number("memory", "memory.current"),
                read_bytes: io.as_deref().map(|io| sum_of_pairs(io, "rbytes")),
                write_bytes: io.as_deref().map(|io| sum_of_pairs(io, "wbytes")),
                ..common
            };
        }
        let io = own_text("blkio", "blkio.throttle.io_service_bytes");
        let io = io.map(|io| (sum_of_lines(&io, "Read"), sum_of_lines(&io, "Write")));
        // Recent kernels count nothing for a group without a limit, so zero is unknown.
        let io = io.filter(|(read_bytes, write_bytes)| read_bytes + write_bytes > 0);
        GroupUse {
            cpu_s: seconds(own_number("cpuacct", "cpuacct.usage"), 1e9),
            throttled_s: seconds(throttled("throttled_time"), 1e9),
            memory_bytes: own_number("memory", "memory.usage_in_bytes"),
            read_bytes: io.map(|(read_bytes, _)| read_bytes),
            write_bytes: io.map(|(_, write_bytes)| write_bytes),
            ..common
        }
    }

    fn levels(&self, controller: &str) -> Option<&Levels> {
        self.controllers.get(controller)
    }

    fn own(&self, controller: &str, file: &str) -> Option<PathBuf> {
        Some(self.levels(controller)?.folders.first()?.join(file))
    }

    /// Also returns the folder of that group.
    fn least_quota(&self) -> Option<(&Path, f64)> {
        self.levels("cpu")?.least(|folder| {
            let (quota, period): (f64, f64) = if self.version == 2 {
                let text = attribute(&folder.join("cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                (quota.parse().ok()?, period.parse().ok()?) // a quota of `max` is none
            } else {
                (number(&folder.join("cpu.cfs_quota_us"))?, number(&folder.join("cpu.cfs_period_us"))?)
            };
            // Version 1 has -1 for no quota.
            (quota > 0.0 && period > 0.0).then(|| quota / period)
        })
    }

    /// The innermost group comes first. Version 1 limits and counts a group without those below it.
    fn io_folders(&self) -> &[PathBuf] {
        let all = self.levels("blkio").map(|levels| levels.folders.as_slice()).unwrap_or_default();
        if self.version == 2 { all } else { &all[..all.len().min(1)] }
    }

    /// Limits of I/O in the words of version 2.
    fn io_limits_in(&self, folder: &Path) -> Vec<String> {
        const FILES: [(&str, &str); 4] = [
            ("rbps", "blkio.throttle.read_bps_device"),
            ("wbps", "blkio.throttle.write_bps_device"),
            ("riops", "blkio.throttle.read_iops_device"),
            ("wiops", "blkio.throttle.write_iops_device"),
        ];
        let text = |file: &str| attribute(&folder.join(file)).unwrap_or_default();
        if self.version == 2 {
            return text("io.max").lines().map(str::to_owned).collect();
        }
        let limits = |(name, file)| -> Vec<String> {
            let text = text(file);
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.map(|(device, value)| format!("{device} {name}={value}")).collect()
        };
        FILES.into_iter().flat_map(limits).collect()
    }

    /// `None` without a limit, or with several limited devices.
    fn limited_io(&self) -> Option<LimitedIo> {
        let limited = |folder: &PathBuf| {
            let limits = self.io_limits_in(folder);
            let devices = limits.iter().filter_map(|limit| Some(limit.split_once(' ')?.0.to_owned()));
            Some((folder.clone(), devices.collect::<Vec<_>>())).filter(|(_, devices)| !devices.is_empty())
        };
        let (folder, mut devices) = self.io_folders().iter().find_map(limited)?;
        devices.dedup();
        let [device] = &devices[..] else { return None };
        let of_device = |file: &str| {
            let text = attribute(&folder.join(file))?;
            let is_limited = |line: &&str| line.split_once(' ').is_some_and(|(one, _)| one == device);
            Some(text.lines().filter(is_limited).collect::<Vec<_>>().join("\n"))
        };
        if self.version == 2 {
            let io = of_device("io.stat")?;
            let [reads, read_bytes, writes, write_bytes] =
                ["rios", "rbytes", "wios", "wbytes"].map(|name| sum_of_pairs(&io, name));
            return Some(LimitedIo { reads, read_bytes, writes, write_bytes });
        }
        let (bytes, requests) =
            (of_device("blkio.throttle.io_service_bytes")?, of_device("blkio.throttle.io_serviced")?);
        let [read_bytes, write_bytes] = ["Read", "Write"].map(|kind| sum_of_lines(&bytes, kind));
        let [reads, writes] = ["Read", "Write"].map(|kind| sum_of_lines(&requests, kind));
        Some(LimitedIo { reads, read_bytes, writes, write_bytes })
    }
}

/// Returns the limit with the least room, and the tasks in use.
pub(crate) fn task_limit(process: &str, roots: &Roots) -> Option<(u64, u64)> {
    let hierarchies = Hierarchies::read(process, roots)?;
    let levels = hierarchies.levels(Some("pids"), true).or_else(|| hierarchies.levels(None, true))?;
    // `max` is no limit.
    let limits = levels.folders.iter().filter_map(|folder| {
        Some((number(&folder.join("pids.max"))?, number(&folder.join("pids.current"))?))
    });
    limits.min_by_key(|(most, in_use): &(u64, u64)| most.saturating_sub(*in_use))
}

struct Hierarchies {
    groups: String,
    mounts: Vec<Mount>,
}

/// The innermost level comes first.
#[derive(Clone, Debug)]
struct Levels {
    path: String,
    folders: Vec<PathBuf>,
}

impl Hierarchies {
    fn read(process: &str, roots: &Roots) -> Option<Self> {
        let groups = read_text(&roots.proc.join(process).join("cgroup")).ok()?;
        Some(Self { groups, mounts: read_mounts(roots, "self").ok()? })
    }

    /// `None` is the hierarchy of version 2.
    fn levels(&self, controller: Option<&str>, with_root: bool) -> Option<Levels> {
        let path = self.groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let is_it = match controller {
                Some(name) => controllers.split(',').any(|one| one == name),
                None => controllers.is_empty(),
            };
            is_it.then_some(path)
        })?;
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        let shows = |mount: &&Mount| match controller {
            Some(name) => mount.file_system == "cgroup" && mount.options.iter().any(|option| option == name),
            None => mount.file_system == "cgroup2",
        };
        self.mounts.iter().filter(shows).find_map(|mount| {
            let within = Path::new(path).strip_prefix(&mount.root).ok()?;
            let mut folders: Vec<PathBuf> = within.ancestors().map(|part| mount.point.join(part)).collect();
            // A container's mount, or its namespace, shows an ordinary group as its root. The kernel's own root has no type.
            let is_real_root = mount.root == Path::new("/") && !mount.point.join("cgroup.type").exists();
            if !with_root && is_real_root {
                folders.pop();
            }
            folders.retain(|folder| folder.is_dir());
            (!folders.is_empty()).then(|| Levels { path: path.to_owned(), folders })
        })
    }
}

impl Levels {
    fn least<T: PartialOrd>(&self, value: impl Fn(&Path) -> Option<T>) -> Option<(&Path, T)> {
        let values = self.folders.iter().filter_map(|folder| Some((folder.as_path(), value(folder)?)));
        values.reduce(|least, next| if next.1 < least.1 { next } else { least })
    }
}

fn named_number(path: &Path, name: &str) -> Option<u64> {
    let text = attribute(path)?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The form is `name=number`.
fn sum_of_pairs(io: &str, name: &str) -> u64 {
    let values = io.split_ascii_whitespace().filter_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    values.filter_map(|value| value.parse::<u64>().ok()).fold(0, u64::saturating_add)
}

/// The form is `8:0 Read number`.
fn sum_of_lines(io: &str, kind: &str) -> u64 {
    let value = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        (fields.next()? == kind).then_some(fields.next()?.parse::<u64>().ok()?)
    };
    io.lines().filter_map(value).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
