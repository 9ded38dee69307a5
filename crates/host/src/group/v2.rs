//! Files of version 2.

use std::path::Path;

use super::files::{Levels, limit_bytes, named};
use super::{GroupLimits, GroupUse};
use crate::roots::{attribute, number};

pub(super) fn limits(levels: &Levels) -> GroupLimits {
    let io = attribute(&levels.own().join("io.max")).unwrap_or_default();
    GroupLimits {
        version: 2,
        path: levels.path.clone(),
        cpus: levels.least(quota).map(|(_, cpus)| cpus),
        memory_bytes: levels.least(|folder| limit_bytes(&folder.join("memory.max"))).map(|(_, bytes)| bytes),
        io: io.lines().map(str::to_owned).collect(),
    }
}

/// `QUOTA PERIOD`, both in microseconds, or `max PERIOD`.
fn quota(folder: &Path) -> Option<f64> {
    let text = attribute(&folder.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

pub(super) fn used(levels: &Levels) -> GroupUse {
    let own = levels.own();
    let cpu = own.join("cpu.stat");
    let held = levels.least(quota).map(|(folder, _)| folder.join("cpu.stat"));
    let of_held = |name| named(held.as_deref()?, name);
    let seconds = |us: u64| us as f64 / 1e6;
    let io = attribute(&own.join("io.stat"));
    let bytes = |name: &str| Some(sum(io.as_deref()?, name));
    GroupUse {
        cpu_s: named(&cpu, "usage_usec").map(seconds),
        periods: of_held("nr_periods"),
        throttled_periods: of_held("nr_throttled"),
        throttled_s: of_held("throttled_usec").map(seconds),
        memory_bytes: number(&own.join("memory.current")),
        read_bytes: bytes("rbytes"),
        write_bytes: bytes("wbytes"),
    }
}

/// The sum of `name=number` over all devices.
fn sum(io: &str, name: &str) -> u64 {
    let values = io.split_ascii_whitespace().filter_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    values.filter_map(|value| value.parse::<u64>().ok()).fold(0, u64::saturating_add)
}
