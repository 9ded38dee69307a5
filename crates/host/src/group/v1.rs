//! Files of version 1.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::{Levels, limit_bytes, named};
use super::{GroupLimits, GroupUse};
use crate::roots::{attribute, number};

type Controllers = BTreeMap<&'static str, Levels>;

/// What is limited of I/O, by the names of the files.
const IO_LIMITS: [(&str, &str); 4] = [
    ("rbps", "blkio.throttle.read_bps_device"),
    ("wbps", "blkio.throttle.write_bps_device"),
    ("riops", "blkio.throttle.read_iops_device"),
    ("wiops", "blkio.throttle.write_iops_device"),
];

pub(super) fn limits(controllers: &Controllers) -> GroupLimits {
    let memory = controllers.get("memory");
    let memory = memory.and_then(|levels| levels.least(|at| limit_bytes(&at.join("memory.limit_in_bytes"))));
    let io = controllers.get("blkio").map(|levels| io_limits(levels.own())).unwrap_or_default();
    let path = controllers.get("cpu").or_else(|| controllers.values().next()).map(|levels| &levels.path);
    GroupLimits {
        version: 1,
        path: path.cloned().unwrap_or_default(),
        cpus: controllers.get("cpu").and_then(|levels| levels.least(quota)).map(|(_, cpus)| cpus),
        memory_bytes: memory.map(|(_, bytes)| bytes),
        io,
    }
}

/// A quota below 0 is none.
fn quota(folder: &Path) -> Option<f64> {
    let quota: f64 = number(&folder.join("cpu.cfs_quota_us"))?;
    let period: f64 = number(&folder.join("cpu.cfs_period_us"))?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// In the words of version 2: `8:0 rbps=1048576`.
fn io_limits(folder: &Path) -> Vec<String> {
    let limits = |(name, file): (&str, &str)| -> Vec<String> {
        let text = attribute(&folder.join(file)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.map(|(device, value)| format!("{device} {name}={value}")).collect()
    };
    IO_LIMITS.into_iter().flat_map(limits).collect()
}

pub(super) fn used(controllers: &Controllers) -> GroupUse {
    let own = |name: &str, file: &str| Some(controllers.get(name)?.own().join(file));
    let held = controllers.get("cpu").and_then(|levels| levels.least(quota));
    let held = held.map(|(folder, _)| folder.join("cpu.stat"));
    let of_held = |name| named(held.as_deref()?, name);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let io = own("blkio", "blkio.throttle.io_service_bytes").and_then(|path| attribute(&path));
    // Kernels of today count nothing here for a group without a limit: then nothing is known.
    let io = io.filter(|io| sum(io, "Read") + sum(io, "Write") > 0);
    let bytes = |kind: &str| Some(sum(io.as_deref()?, kind));
    GroupUse {
        cpu_s: own("cpuacct", "cpuacct.usage").and_then(|path| number(&path)).map(seconds),
        periods: of_held("nr_periods"),
        throttled_periods: of_held("nr_throttled"),
        throttled_s: of_held("throttled_time").map(seconds),
        memory_bytes: own("memory", "memory.usage_in_bytes").and_then(|path| number(&path)),
        read_bytes: bytes("Read"),
        write_bytes: bytes("Write"),
    }
}

/// The sum of `8:0 Read number` over all devices.
fn sum(io: &str, kind: &str) -> u64 {
    let value = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        (fields.next()? == kind).then_some(fields.next()?.parse::<u64>().ok()?)
    };
    io.lines().filter_map(value).fold(0, u64::saturating_add)
}
