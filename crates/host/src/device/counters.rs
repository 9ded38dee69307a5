//! What a block device counts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use slob_stats::Merge;

use crate::HostError;
use crate::roots::read_text;

/// What a block device did: since it counts, or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Completed reads, after merging.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time of all reads together, queueing included.
    pub read_time_ms: u64,
    /// Completed writes, after merging.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time of all writes together, queueing included.
    pub write_time_ms: u64,
    /// Time in which at least one request was in flight.
    pub busy_ms: u64,
    /// Requests in flight, summed over time: divided by the time it is the mean queue length.
    pub weighted_ms: u64,
}

/// Counters of one block device: cumulative as read, or of an interval as [`since`](Self::since).
///
/// Source: the device's `stat` file in sysfs (Documentation/block/stat.rst of the kernel). Bytes are the kernel's
/// 512-byte sectors times 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Requests, their bytes and their times.
    #[serde(flatten)]
    pub used: DeviceUse,
    /// Completed discards (Linux 4.18 and later).
    pub discards: Option<u64>,
    /// Completed flushes (Linux 5.5 and later); counted at whole disks only.
    pub flushes: Option<u64>,
    /// Requests issued and not completed at the moment of reading. Never a difference.
    pub in_flight: u64,
    /// Bytes that all disks at the bottom of the stack read together, for everybody; `None` if this device is the
    /// disk, or if they could not be read.
    #[serde(default)]
    pub disk_read_bytes: Option<u64>,
}

impl DeviceCounters {
    pub(super) fn read(path: &Path) -> Result<Self, HostError> {
        Self::parse(&read_text(path)?).ok_or_else(|| HostError::unexpected(path, "fewer than eleven numbers"))
    }

    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<u64> = text.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
        let field = |i: usize| fields.get(i).copied();
        let used = DeviceUse {
            reads: field(0)?,
            read_bytes: field(2)?.checked_mul(512)?,
            read_time_ms: field(3)?,
            writes: field(4)?,
            write_bytes: field(6)?.checked_mul(512)?,
            write_time_ms: field(7)?,
            busy_ms: field(9)?,
            weighted_ms: field(10)?,
        };
        Some(Self {
            used,
            in_flight: field(8)?,
            discards: field(11),
            flushes: field(15),
            disk_read_bytes: None,
        })
    }

    /// The interval from `earlier` to `self` of the same device; `in_flight` is that of `self`.
    ///
    /// `None` if a count went down: the device was replaced in between, and no difference means anything. Times may
    /// wrap, since the kernel keeps them in 32 bits of milliseconds: the difference is right as long as the interval
    /// itself adds less than 49 days of them.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let optional = |later: Option<u64>, earlier: Option<u64>| match (later, earlier) {
            (Some(later), Some(earlier)) => later.checked_sub(earlier).map(Some),
            _ => Some(None),
        };
        Some(Self {
            used: self.used.since(&earlier.used)?,
            discards: optional(self.discards, earlier.discards)?,
            flushes: optional(self.flushes, earlier.flushes)?,
            in_flight: self.in_flight,
            disk_read_bytes: optional(self.disk_read_bytes, earlier.disk_read_bytes)?,
        })
    }
}

/// Of two intervals: what was done in both.
impl Merge for DeviceUse {
    fn merge(&mut self, later: &Self) {
        self.reads.merge(&later.reads);
        self.read_bytes.merge(&later.read_bytes);
        self.read_time_ms.merge(&later.read_time_ms);
        self.writes.merge(&later.writes);
        self.write_bytes.merge(&later.write_bytes);
        self.write_time_ms.merge(&later.write_time_ms);
        self.busy_ms.merge(&later.busy_ms);
        self.weighted_ms.merge(&later.weighted_ms);
    }
}

impl DeviceUse {
    /// See [`DeviceCounters::since`].
    fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            reads: self.reads.checked_sub(earlier.reads)?,
            read_bytes: self.read_bytes.checked_sub(earlier.read_bytes)?,
            read_time_ms: elapsed_ms(self.read_time_ms, earlier.read_time_ms),
            writes: self.writes.checked_sub(earlier.writes)?,
            write_bytes: self.write_bytes.checked_sub(earlier.write_bytes)?,
            write_time_ms: elapsed_ms(self.write_time_ms, earlier.write_time_ms),
            busy_ms: elapsed_ms(self.busy_ms, earlier.busy_ms),
            weighted_ms: elapsed_ms(self.weighted_ms, earlier.weighted_ms),
        })
    }

    /// Reads per second of an interval of `seconds`; `None` if it has no length.
    pub fn reads_per_s(&self, seconds: f64) -> Option<f64> {
        per(self.reads as f64, seconds)
    }

    /// Writes per second of an interval of `seconds`; `None` if it has no length.
    pub fn writes_per_s(&self, seconds: f64) -> Option<f64> {
        per(self.writes as f64, seconds)
    }

    /// Megabytes (10^6 bytes) read per second of an interval of `seconds`; `None` if it has no length.
    pub fn read_mb_per_s(&self, seconds: f64) -> Option<f64> {
        per(self.read_bytes as f64 / 1e6, seconds)
    }

    /// Megabytes (10^6 bytes) written per second of an interval of `seconds`; `None` if it has no length.
    pub fn write_mb_per_s(&self, seconds: f64) -> Option<f64> {
        per(self.write_bytes as f64 / 1e6, seconds)
    }

    /// Mean time of a read, queueing included, in microseconds (iostat's r_await); `None` without reads. The
    /// device's clock has milliseconds per request summed exactly, so many requests give a good mean.
    pub fn mean_read_us(&self) -> Option<f64> {
        per(self.read_time_ms as f64 * 1e3, self.reads as f64)
    }

    /// Mean time of a write, queueing included, in microseconds (iostat's w_await); `None` without writes.
    pub fn mean_write_us(&self) -> Option<f64> {
        per(self.write_time_ms as f64 * 1e3, self.writes as f64)
    }

    /// Mean number of requests in flight in an interval of `seconds` (iostat's aqu-sz, by Little's law); `None` if
    /// it has no length.
    pub fn mean_queue_length(&self, seconds: f64) -> Option<f64> {
        per(self.weighted_ms as f64 / 1e3, seconds)
    }

    /// Share of an interval of `seconds` with at least one request in flight, in percent, at most 100; `None` if it
    /// has no length. A device that works on many requests at once can be at 100 and still have room.
    pub fn utilisation_percent(&self, seconds: f64) -> Option<f64> {
        per(self.busy_ms as f64 / 10.0, seconds).map(|percent| percent.min(100.0))
    }
}

fn per(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

/// The kernel prints these times from 32-bit numbers, so their difference is taken in 32 bits.
fn elapsed_ms(later: u64, earlier: u64) -> u64 {
    match later.checked_sub(earlier) {
        Some(elapsed) => elapsed,
        None => u64::from((later as u32).wrapping_sub(earlier as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "54813 14723 5206258 28515 9494 21786 1941440 4777 3 8636 33655 3792 21 429616 314 887 48\n";

    #[test]
    fn every_number_lands_in_its_field() {
        let used = DeviceUse {
            reads: 54813,
            read_bytes: 5_206_258 * 512,
            read_time_ms: 28515,
            writes: 9494,
            write_bytes: 1_941_440 * 512,
            write_time_ms: 4777,
            busy_ms: 8636,
            weighted_ms: 33655,
        };
        let expected = DeviceCounters {
            used,
            discards: Some(3792),
            flushes: Some(887),
            in_flight: 3,
            disk_read_bytes: None,
        };
        assert_eq!(DeviceCounters::parse(STAT), Some(expected));
    }

    #[test]
    fn an_old_kernel_has_no_discards_and_no_flushes() {
        let old = DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10 11\n").unwrap();
        assert_eq!((old.discards, old.flushes), (None, None));
        assert_eq!(DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10\n"), None);
        assert_eq!(old.since(&old).unwrap().flushes, None);
    }

    #[test]
    fn an_interval_gives_rates_and_means() {
        let earlier = DeviceCounters::parse(STAT).unwrap();
        let used = DeviceUse {
            reads: earlier.used.reads + 10_000,
            read_bytes: earlier.used.read_bytes + 81_920_000,
            read_time_ms: earlier.used.read_time_ms + 2_500,
            busy_ms: earlier.used.busy_ms + 1_500,
            weighted_ms: earlier.used.weighted_ms + 8_000,
            ..earlier.used
        };
        let since = DeviceCounters { used, in_flight: 7, ..earlier }.since(&earlier).unwrap();
        let interval = since.used;
        assert_eq!(interval.reads_per_s(2.0), Some(5_000.0));
        assert_eq!(interval.read_mb_per_s(2.0), Some(40.96));
        assert_eq!(interval.mean_read_us(), Some(250.0));
        assert_eq!(interval.mean_write_us(), None);
        assert_eq!(interval.mean_queue_length(2.0), Some(4.0));
        assert_eq!(interval.utilisation_percent(2.0), Some(75.0));
        assert_eq!(interval.utilisation_percent(0.0), None);
        assert_eq!(since.in_flight, 7);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9 \n-]{0,300}") {
            if let Some(counters) = DeviceCounters::parse(&text) {
                proptest::prop_assert_eq!(counters.since(&counters).map(|interval| interval.used.reads), Some(0));
            }
        }

        #[test]
        fn intervals_add_up(values in proptest::collection::vec(0_u64..1 << 32, 11), first in 0_u64..1000, second in 0_u64..1000) {
            let text = |added: u64| values.iter().map(|v| format!("{} ", v + added)).collect::<String>();
            let [a, b, c] = [0, first, first + second].map(|added| DeviceCounters::parse(&text(added)).unwrap());
            let (ab, bc, ac) = (b.since(&a).unwrap(), c.since(&b).unwrap(), c.since(&a).unwrap());
            proptest::prop_assert_eq!(ab.used.reads + bc.used.reads, ac.used.reads);
            proptest::prop_assert_eq!(ab.used.write_bytes + bc.used.write_bytes, ac.used.write_bytes);
            proptest::prop_assert_eq!(ab.used.weighted_ms + bc.used.weighted_ms, ac.used.weighted_ms);
        }
    }

    #[test]
    fn times_that_wrap_and_devices_that_were_replaced_are_told_apart() {
        let earlier = DeviceCounters::parse("1 0 8 4294967290 5 0 7 8 0 10 11\n").unwrap();
        let later = DeviceCounters::parse("9 0 8 14 5 0 7 8 0 10 11\n").unwrap();
        assert_eq!(later.since(&earlier).unwrap().used.read_time_ms, 20);
        assert_eq!(earlier.since(&later), None);
    }
}
