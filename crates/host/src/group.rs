//! The control group of a process: what it may use, and what it used.
//!
//! A container, a service of systemd and a job of a batch system are control groups. Limits hold for a group and all that lie
//! in it, so that those of every group from the process's own up to the root are read, of version 1 and 2 alike.

mod files;
mod v1;
mod v2;

use serde::{Deserialize, Serialize};

use self::files::Hierarchies;
use crate::roots::{Roots, read_text};

/// What a control group may use; what has no limit, or can't be read, is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLimits {
    /// 1 or 2.
    pub version: u32,
    /// Its path, as the kernel names it.
    pub path: String,
    /// CPUs by quota: the least of it and of the groups around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Memory in bytes, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Limits of I/O, a device each, in the kernel's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io: Vec<String>,
}

/// What a control group used: since it is there as read, or in an interval as [`since`](Self::since). It is of all that run in
/// the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupUse {
    /// CPU time in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Periods of the quota in which the group ran; of the group that has the least quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<u64>,
    /// Those in which it was held up until the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_periods: Option<u64>,
    /// How long it was held up, in seconds, summed over CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
    /// Memory in use at the moment of reading, in bytes. Never a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Bytes read from block devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
}

impl GroupUse {
    /// The interval from `earlier` to `self` of the same group. A count that went down is that of another group, and absent.
    #[must_use]
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
        }
    }
}

/// The control group of a process.
#[derive(Clone, Debug)]
pub struct Group(Hierarchies);

impl Group {
    /// That of a process; `None` where it is in the root group, which has no limits, or where its folder is not seen, as from
    /// within another container.
    #[must_use]
    pub fn of_process(pid: u32) -> Option<Self> {
        Self::of_process_in(pid, &Roots::default())
    }

    fn of_process_in(pid: u32, roots: &Roots) -> Option<Self> {
        let groups = read_text(&roots.proc.join(pid.to_string()).join("cgroup")).ok()?;
        let mounts = read_text(&roots.proc.join("self/mountinfo")).ok()?;
        let found = Hierarchies::of(&groups, &mounts);
        (!found.is_empty()).then_some(Self(found))
    }

    /// What it may use now: limits may be changed at any time.
    #[must_use]
    pub fn limits(&self) -> GroupLimits {
        match &self.0 {
            Hierarchies::Two(levels) => v2::limits(levels),
            Hierarchies::One(controllers) => v1::limits(controllers),
        }
    }

    /// What it used until now.
    #[must_use]
    pub fn used(&self) -> GroupUse {
        match &self.0 {
            Hierarchies::Two(levels) => v2::used(levels),
            Hierarchies::One(controllers) => v1::used(controllers),
        }
    }
}

#[cfg(test)]
mod tests;
