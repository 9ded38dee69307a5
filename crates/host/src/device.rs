//! Block devices behind a path: identity, attributes and counters.

mod resolve;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slob_stats::merge_fields;

use crate::HostError;
use crate::files::{Roots, attribute, number, read_text};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockId {
    pub name: String,
    pub major: u32,
    pub minor: u32,
}

impl BlockId {
    fn counters(&self, roots: &Roots) -> Result<DeviceCounters, HostError> {
        let path = roots.sys.join(format!("dev/block/{}:{}/stat", self.major, self.minor));
        DeviceCounters::parse(&read_text(&path)?)
            .ok_or_else(|| HostError::unexpected(&path, "fewer than eleven numbers"))
    }
}

/// A whole disk at the bottom of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    #[serde(flatten)]
    pub id: BlockId,
    pub model: Option<String>,
    /// The device or the hypervisor reports it.
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    /// Reads and writes have a queue each.
    pub nr_requests: Option<u32>,
    pub logical_block_bytes: Option<u32>,
    /// Larger writes need no read before them.
    pub physical_block_bytes: Option<u32>,
    pub size_bytes: Option<u64>,
}

impl Disk {
    fn read(id: BlockId, dir: &Path) -> Self {
        let queue = dir.join("queue");
        Self {
            id,
            model: attribute(&dir.join("device/model")),
            rotational: number::<u8>(&queue.join("rotational")).map(|flag| flag == 1),
            scheduler: attribute(&queue.join("scheduler")).map(|text| active_scheduler(&text)),
            nr_requests: number(&queue.join("nr_requests")),
            logical_block_bytes: number(&queue.join("logical_block_size")),
            physical_block_bytes: number(&queue.join("physical_block_size")),
            // The unit of `size` is always 512 bytes.
            size_bytes: number::<u64>(&dir.join("size")).and_then(|sectors| sectors.checked_mul(512)),
        }
    }
}

/// Others have a bare `none`.
fn active_scheduler(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).to_owned()
}

/// The file system of a path, the block device below it, and the disks at the bottom.
///
/// Memory, network file systems and some pools have no block device; `note` says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    #[serde(serialize_with = "crate::files::lossy_path")]
    pub path: PathBuf,
    /// The kernel's word: "ext4", "xfs", "overlay".
    pub file_system: String,
    #[serde(serialize_with = "crate::files::lossy_path")]
    pub mount_point: PathBuf,
    /// A device, an export, or a mere word.
    pub mount_source: String,
    /// Mount and file system have options, in the kernel's order.
    pub mount_options: Vec<String>,
    /// `None` if no device or several count the file system's I/O, as for some btrfs.
    pub top: Option<BlockId>,
    /// Each device once, from the top to the leaves.
    pub stack: Vec<String>,
    pub disks: Vec<Disk>,
    /// A loop device without direct I/O lies below: `top` counts reads that the page cache serves.
    #[serde(default)]
    pub cached_below: bool,
    /// The uppermost of these loop devices; absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_device: Option<String>,
    /// Memory in place of a disk: "tmpfs", or a device such as "zram0".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The reason if `disks` is empty.
    pub note: Option<String>,
}

impl Device {
    /// `path` must exist.
    ///
    /// Its mount id gives the file system (the device number before Linux 5.8), and `/sys/dev/block` the stack.
    pub fn behind(path: &Path) -> Result<Self, HostError> {
        resolve::Resolver::of_this_host().device(path)
    }

    /// `path` is absolute, as the process `pid` sees it. This needs the right to inspect that process.
    pub fn behind_seen_by(pid: u32, path: &Path) -> Result<Self, HostError> {
        resolve::Resolver::of_this_host().device_seen_by(pid, path)
    }

    /// Requests on these devices compete. Below a loop device only the top counts: the kernel reads there for everybody.
    pub fn competitors(&self) -> Vec<(u32, u32)> {
        let has_loop = self.stack.iter().any(|name| name.starts_with("loop"));
        let disks = self.disks.iter().filter(|_| !has_loop).flat_map(|disk| {
            let folder = format!("/sys/dev/block/{}:{}", disk.id.major, disk.id.minor);
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let partitions = entries.filter(|path| path.join("partition").exists());
            let numbers = partitions.filter_map(|path| resolve::device_number(&path));
            numbers.chain([(disk.id.major, disk.id.minor)]).collect::<Vec<_>>()
        });
        disks.chain(self.top.iter().map(|top| (top.major, top.minor))).collect()
    }

    /// `None` without a single top device.
    pub fn counters(&self) -> Result<Option<DeviceCounters>, HostError> {
        self.counters_in(&Roots::default())
    }

    fn counters_in(&self, roots: &Roots) -> Result<Option<DeviceCounters>, HostError> {
        let Some(top) = &self.top else { return Ok(None) };
        let disk_read_bytes = self.disk_read_bytes(top, roots);
        Ok(Some(DeviceCounters { disk_read_bytes, ..top.counters(roots)? }))
    }

    /// `None` if `top` is the only disk, or any is unreadable.
    fn disk_read_bytes(&self, top: &BlockId, roots: &Roots) -> Option<u64> {
        if self.disks.iter().all(|disk| disk.id == *top) {
            return None;
        }
        let read = |disk: &Disk| disk.id.counters(roots).ok().map(|counters| counters.used.read_bytes);
        self.disks.iter().map(read).try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_time_ms: u64,
    pub writes: u64,
    pub write_bytes: u64,
    pub write_time_ms: u64,
    /// At least one request is in flight.
    pub busy_ms: u64,
    /// The sum of requests in flight over time.
    pub weighted_ms: u64,
    /// Merged before they were issued; absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_merged: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_merged: Option<u64>,
}

impl DeviceUse {
    fn since(&self, earlier: &Self) -> Option<Self> {
        let merged = |later: Option<u64>, earlier: Option<u64>| later?.checked_sub(earlier?);
        Some(Self {
            reads: self.reads.checked_sub(earlier.reads)?,
            read_bytes: self.read_bytes.checked_sub(earlier.read_bytes)?,
            read_time_ms: elapsed_ms(self.read_time_ms, earlier.read_time_ms),
            writes: self.writes.checked_sub(earlier.writes)?,
            write_bytes: self.write_bytes.checked_sub(earlier.write_bytes)?,
            write_time_ms: elapsed_ms(self.write_time_ms, earlier.write_time_ms),
            busy_ms: elapsed_ms(self.busy_ms, earlier.busy_ms),
            weighted_ms: elapsed_ms(self.weighted_ms, earlier.weighted_ms),
            reads_merged: merged(self.reads_merged, earlier.reads_merged),
            writes_merged: merged(self.writes_merged, earlier.writes_merged),
        })
    }

    /// Reads in an interval of `seconds`.
    pub fn reads_per_s(&self, seconds: f64) -> Option<f64> {
        ratio(self.reads as f64, seconds)
    }

    pub fn writes_per_s(&self, seconds: f64) -> Option<f64> {
        ratio(self.writes as f64, seconds)
    }

    /// A megabyte is 10^6 bytes.
    pub fn read_mb_per_s(&self, seconds: f64) -> Option<f64> {
        ratio(self.read_bytes as f64 / 1e6, seconds)
    }

    pub fn write_mb_per_s(&self, seconds: f64) -> Option<f64> {
        ratio(self.write_bytes as f64 / 1e6, seconds)
    }

    /// iostat's r_await.
    pub fn mean_read_us(&self) -> Option<f64> {
        ratio(self.read_time_ms as f64 * 1e3, self.reads as f64)
    }

    /// iostat's w_await.
    pub fn mean_write_us(&self) -> Option<f64> {
        ratio(self.write_time_ms as f64 * 1e3, self.writes as f64)
    }

    /// iostat's rareq-sz.
    pub fn mean_read_bytes(&self) -> Option<f64> {
        ratio(self.read_bytes as f64, self.reads as f64)
    }

    /// iostat's wareq-sz.
    pub fn mean_write_bytes(&self) -> Option<f64> {
        ratio(self.write_bytes as f64, self.writes as f64)
    }

    /// iostat's aqu-sz, by Little's law.
    pub fn mean_queue_length(&self, seconds: f64) -> Option<f64> {
        ratio(self.weighted_ms as f64 / 1e3, seconds)
    }

    /// Devices that work in parallel have room even at 100.
    pub fn utilisation_percent(&self, seconds: f64) -> Option<f64> {
        ratio(self.busy_ms as f64 / 10.0, seconds).map(|percent| percent.min(100.0))
    }
}

fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

/// The kernel keeps these times in 32 bits.
fn elapsed_ms(later: u64, earlier: u64) -> u64 {
    match later.checked_sub(earlier) {
        Some(elapsed) => elapsed,
        None => u64::from((later as u32).wrapping_sub(earlier as u32)),
    }
}

merge_fields!(
    DeviceUse: reads, read_bytes, read_time_ms, writes, write_bytes, write_time_ms, busy_ms,
    weighted_ms, reads_merged, writes_merged
);

/// Counters of one block device: cumulative, or of an interval.
///
/// The source is `stat` in sysfs (Documentation/block/stat.rst of the kernel), whose sectors have 512 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    #[serde(flatten)]
    pub used: DeviceUse,
    /// Linux 4.18 and later.
    pub discards: Option<u64>,
    /// Linux 5.5 and later count them, at whole disks only.
    pub flushes: Option<u64>,
    /// A moment's value, never a difference.
    pub in_flight: u64,
    /// All programs count; `None` if this device is the disk, or if any is unreadable.
    pub disk_read_bytes: Option<u64>,
}

impl DeviceCounters {
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
            reads_merged: field(1),
            writes_merged: field(5),
        };
        let (in_flight, discards, flushes) = (field(8)?, field(11), field(15));
        Some(Self { used, in_flight, discards, flushes, disk_read_bytes: None })
    }

    /// `None` if a count went down, as another device has the number now.
    ///
    /// Times may wrap once, after 49 days of them.
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
    fn a_missing_path_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = Device::behind(&dir.path().join("missing")).unwrap_err();
        assert!(matches!(error, HostError::NoSuchPath { .. }), "{error}");
    }

    #[test]
    fn proc_has_no_disk_and_a_note_says_so() {
        let device = Device::behind("/proc/self".as_ref()).unwrap();
        assert_eq!((device.file_system.as_str(), device.top, device.disks.len()), ("proc", None, 0));
        assert!(device.note.is_some());
    }

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
            reads_merged: Some(14723),
            writes_merged: Some(21786),
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
    fn wrapped_times_count_and_replaced_devices_do_not() {
        let earlier = DeviceCounters::parse("1 0 8 4294967290 5 0 7 8 0 10 11\n").unwrap();
        let later = DeviceCounters::parse("9 0 8 14 5 0 7 8 0 10 11\n").unwrap();
        assert_eq!(later.since(&earlier).unwrap().used.read_time_ms, 20);
        assert_eq!(earlier.since(&later), None);
    }

    #[test]
    fn the_scheduler_in_use_is_the_one_in_brackets() {
        assert_eq!(active_scheduler("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(active_scheduler("[none]"), "none");
        assert_eq!(active_scheduler("none"), "none");
    }
}
