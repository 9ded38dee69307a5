//! OpenSLOB: where the time of a server's reads and writes goes.
//!
//! Six eBPF programs at raw tracepoints count durations of system calls and of their requests. They end with the [`Tracer`] or
//! the process.
//!
//! Requests belong to the process that queued them.
#![deny(missing_docs)]

mod asm;
mod bpf;
mod kernel;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use slob_measure::{KernelTrace, Requests, SlowReads, Span};
use slob_stats::{BUCKETS, Histogram};

use bpf::{Attached, Counters, Hash, attach};
use kernel::Layout;
use programs::{BIO_WORDS, SYSTEM_CALLS, THREAD_WORDS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Read = 1,
    Write = 2,
    Sync = 3,
    /// Their requests count, their own durations do not.
    Asynchronous = 4,
}

const CALLS: [(libc::c_long, Call); 15] = [
    (libc::SYS_read, Call::Read),
    (libc::SYS_pread64, Call::Read),
    (libc::SYS_readv, Call::Read),
    (libc::SYS_preadv, Call::Read),
    (libc::SYS_preadv2, Call::Read),
    (libc::SYS_write, Call::Write),
    (libc::SYS_pwrite64, Call::Write),
    (libc::SYS_writev, Call::Write),
    (libc::SYS_pwritev, Call::Write),
    (libc::SYS_pwritev2, Call::Write),
    (libc::SYS_fsync, Call::Sync),
    (libc::SYS_fdatasync, Call::Sync),
    (libc::SYS_io_submit, Call::Asynchronous),
    (libc::SYS_io_getevents, Call::Asynchronous),
    (libc::SYS_io_uring_enter, Call::Asynchronous),
];

const SLOTS: usize = BUCKETS.next_power_of_two();
/// Spans that find a place.
const PLACES: usize = Span::ALL.len().next_power_of_two();
/// Powers of two of the joint distribution, as bits of an index.
const JOINT_BITS: i32 = 6;
/// Slow reads take a microsecond to more than a minute.
const SLOW: std::ops::Range<usize> = 10..37;
const PROCESSES: u32 = 8192;
/// Each kind of request of a device is an entry.
const DEVICES: u32 = 2048;
const LOGS: u32 = 8192;
/// Threads, and bios in flight, as powers of two.
const THREAD_BITS: i32 = 15;
const BIO_BITS: i32 = 15;

#[derive(Debug)]
pub(crate) struct Maps {
    calls: Counters,
    histograms: Counters,
    sums: Counters,
    joint: Counters,
    processes: Hash<4, 4>,
    devices: Hash<4, 4>,
    /// Files of logs, and folders of such files, by inode and device.
    logs: Hash<16, 4>,
    /// The last time at which the kernel itself, as for a journal, had made data durable.
    journal: Counters,
    threads: Counters,
    bios: Counters,
    by_device: Hash<8, 16>,
}

/// Why the kernel can't be traced, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}; {remedy}")]
pub struct Unavailable {
    cause: String,
    remedy: &'static str,
}

/// Programs at work. They are detached on drop, or with the process.
#[derive(Debug)]
pub struct Tracer {
    maps: Maps,
    _programs: Vec<Attached>,
}

impl Tracer {
    /// Attaches the programs; no process is watched yet. Only reads of whole blocks are those of data files.
    pub fn start(block_bytes: u32) -> Result<Self, Unavailable> {
        find_obstacle()?;
        let layout = Layout::of_running_kernel().map_err(|cause| Unavailable { cause, remedy: KERNEL })?;
        let maps = Maps::new().map_err(|error| unavailable("the kernel refuses its counters", &error))?;
        let merged_requests = layout
            .tells_merged_requests
            .then(|| ("block_rq_merge", programs::merged_request(&maps, &layout)));
        let programs = [
            // Requests come back in this order, so that nothing is half counted at the start.
            ("block_rq_complete", programs::completed(&maps, &layout)),
            ("block_rq_issue", programs::issued(&maps, &layout)),
            ("block_bio_backmerge", programs::merged(&maps, &layout)),
            ("block_bio_frontmerge", programs::merged_in_front(&maps, &layout)),
            ("block_bio_queue", programs::queued(&maps, &layout)),
            ("sys_exit", programs::leave(&maps, &layout, block_bytes)),
            ("sys_enter", programs::enter(&maps, &layout)),
        ];
        let attached = merged_requests.into_iter().chain(programs).map(|(tracepoint, code)| {
            attach(tracepoint, &code)
                .map_err(|error| unavailable(&format!("attaching to {tracepoint}"), &error))
        });
        Ok(Self { _programs: attached.collect::<Result<_, _>>()?, maps })
    }

    /// Watches more processes from now on. Fails if the kernel refuses more of them.
    pub fn watch(&self, processes: impl IntoIterator<Item = u32>) -> io::Result<()> {
        processes.into_iter().try_for_each(|pid| self.maps.processes.set(pid.to_ne_bytes(), [0; 4]))
    }

    /// Splits calls that write or force these files, or files in these folders. Paths that lead nowhere are left out. Fails if
    /// the kernel refuses more of them.
    pub fn watch_logs(&self, paths: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
        paths.into_iter().filter_map(|path| fs::metadata(path).ok()).try_for_each(|file| {
            let device = file.dev();
            let device = libc::major(device) << 20 | libc::minor(device);
            let mut key = [0; 16];
            key[..8].copy_from_slice(&file.ino().to_ne_bytes());
            key[8..12].copy_from_slice(&device.to_ne_bytes());
            self.maps.logs.set(key, [0; 4])
        })
    }

    /// Counts others' requests on devices, by major and minor number. Fails if the kernel refuses more of them.
    pub fn count_neighbours(&self, devices: impl IntoIterator<Item = (u32, u32)>) -> io::Result<()> {
        let mut numbers = devices.into_iter().map(|(major, minor)| major << 20 | minor);
        numbers.try_for_each(|number| self.maps.devices.set(number.to_ne_bytes(), [0; 4]))
    }

    /// Counts since the start. Fails if the kernel's tables can't be read.
    pub fn counts(&self) -> io::Result<KernelTrace> {
        let (slots, sums) = (self.maps.histograms.read(), self.maps.sums.read());
        let histogram = |span: Span| {
            let counts = slots.get(span as usize * SLOTS..)?.first_chunk::<BUCKETS>()?;
            let histogram = Histogram::of_counts(counts, *sums.get(span as usize)?);
            Some((span, histogram)).filter(|(_, histogram)| !histogram.is_empty())
        };
        Ok(KernelTrace {
            spans: Span::ALL.into_iter().filter_map(histogram).collect(),
            slow_reads: slow_reads(&self.maps.joint.read()),
            requests: self.maps.by_device.entries()?.iter().filter_map(requests).collect(),
        })
    }
}

fn slow_reads(joint: &[u64]) -> BTreeMap<u64, SlowReads> {
    let slow = |power: usize| {
        let mut slow = SlowReads::default();
        for (index, count) in joint.iter().enumerate() {
            let (call, device) = (index >> JOINT_BITS, index & ((1 << JOINT_BITS) - 1));
            if call >= power {
                slow.reads += count;
                slow.in_device += if device >= power { *count } else { 0 };
            }
        }
        (1 << power, slow)
    };
    SLOW.map(slow).filter(|(_, slow)| slow.reads > 0).collect()
}

/// Keys hold device, span and size; values hold count and time.
fn requests((key, value): &([u8; 8], [u8; 16])) -> Option<Requests> {
    let [device, what] = [&key[..4], &key[4..]].map(|half| half.try_into().map(u32::from_ne_bytes));
    let [requests, time_ns] = [&value[..8], &value[8..]].map(|half| half.try_into().map(u64::from_ne_bytes));
    let (device, what) = (device.ok()?, what.ok()?);
    Some(Requests {
        device: device_name(device >> 20, device & 0xf_ffff),
        span: Span::ALL.get(what as usize & 0xff)?.name().to_owned(),
        bytes: 1 << (what >> 8),
        requests: requests.ok()?,
        time_ns: time_ns.ok()?,
    })
}

fn device_name(major: u32, minor: u32) -> String {
    let numbers = format!("{major}:{minor}");
    let link = fs::read_link(format!("/sys/dev/block/{numbers}")).ok();
    let name = link.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or(numbers)
}

impl Maps {
    fn new() -> io::Result<Self> {
        let maps = Self {
            calls: Counters::new(SYSTEM_CALLS)?,
            histograms: Counters::new(PLACES * SLOTS)?,
            sums: Counters::new(PLACES)?,
            joint: Counters::new(1 << (2 * JOINT_BITS))?,
            processes: Hash::new(PROCESSES)?,
            devices: Hash::new(DEVICES)?,
            logs: Hash::new(LOGS)?,
            journal: Counters::new(1)?,
            threads: Counters::new(THREAD_WORDS << THREAD_BITS)?,
            bios: Counters::new(BIO_WORDS << BIO_BITS)?,
            by_device: Hash::new(DEVICES)?,
        };
        for (number, call) in CALLS {
            maps.calls.set(number as usize, call as u64);
        }
        Ok(maps)
    }
}

const KERNEL: &str = "use a kernel from 5.8 on, with type information (CONFIG_DEBUG_INFO_BTF)";

fn find_obstacle() -> Result<(), Unavailable> {
    /// The kernel's number of its first pid namespace.
    const FIRST_NAMESPACE: &str = "pid:[4026531836]";
    let refuse = |cause: &str, remedy| Err(Unavailable { cause: cause.to_owned(), remedy });
    let namespace = fs::read_link("/proc/self/ns/pid");
    if namespace.is_ok_and(|link| link.as_os_str() != FIRST_NAMESPACE) {
        return refuse(
            "processes have other numbers here than in the kernel, as in a container",
            "run slob on the host itself, or share its process numbers (--pid=host)",
        );
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown");
    if lockdown.is_ok_and(|modes| modes.contains("[confidentiality]")) {
        return refuse("the kernel is locked down", "boot it without lockdown=confidentiality");
    }
    Ok(())
}

fn unavailable(step: &str, error: &io::Error) -> Unavailable {
    let remedy = match error.raw_os_error() {
        Some(libc::EPERM) => "run as root, or with CAP_BPF and CAP_PERFMON (a container needs both, too)",
        _ => KERNEL,
    };
    Unavailable { cause: format!("{step}: {error}"), remedy }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use slob_testing::tries::{ensure, shown_within};

    use super::*;

    #[test]
    fn slow_reads_are_those_that_took_a_power_of_two_or_more() {
        let mut joint = vec![0; 1 << (2 * JOINT_BITS)];
        joint[21 << JOINT_BITS | 21] = 5;
        joint[21 << JOINT_BITS | 12] = 2;
        joint[11 << JOINT_BITS | 10] = 9;
        let slow = slow_reads(&joint);
        assert_eq!(slow[&(1 << 21)], SlowReads { reads: 7, in_device: 5 });
        assert_eq!(slow[&(1 << 11)], SlowReads { reads: 16, in_device: 7 });
        assert_eq!(slow.last_key_value().map(|(ns, _)| *ns), Some(1 << 21));
    }

    /// Entries of bios that were queued and not completed.
    fn held(tracer: &Tracer) -> usize {
        let words = tracer.maps.bios.read();
        words.chunks(BIO_WORDS).filter(|entry| entry[programs::BIO_ADDRESS] != 0).count()
    }

    /// A loop device whose requests are nobody else's.
    struct OwnDevice {
        path: PathBuf,
        _folder: tempfile::TempDir,
    }

    impl OwnDevice {
        fn new() -> Result<Self, String> {
            let folder =
                tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).map_err(|error| error.to_string())?;
            let file = folder.path().join("device");
            fs::write(&file, vec![7; 8 << 20]).map_err(|error| error.to_string())?;
            let made = Command::new("losetup").args(["--find", "--show"]).arg(&file).output();
            let made = made.map_err(|error| error.to_string())?;
            if !made.status.success() {
                return Err(String::from_utf8_lossy(&made.stderr).into_owned());
            }
            Ok(Self { path: String::from_utf8_lossy(&made.stdout).trim().into(), _folder: folder })
        }

        /// A scheduler holds requests back, so that they meet others.
        fn schedule(&self, scheduler: &str) -> io::Result<()> {
            let name = self.path.file_name().unwrap().to_string_lossy();
            fs::write(format!("/sys/block/{name}/queue/scheduler"), scheduler)
        }
    }

    impl Drop for OwnDevice {
        fn drop(&mut self) {
            let _none = self.schedule("none");
            let _gone = Command::new("losetup").arg("--detach").arg(&self.path).status();
        }
    }

    /// A request took the age of a flush or a merged bio that had had its address before.
    #[test]
    fn flushes_and_merged_bios_leave_no_entry() {
        if Tracer::start(8192).is_err() {
            return;
        }
        let device = match OwnDevice::new() {
            Ok(device) => device,
            Err(cause) => return slob_testing::skipped(format!("no loop device: {cause}")),
        };
        // Without that scheduler less is merged.
        let _scheduled = device.schedule("mq-deadline");
        let number = fs::metadata(&device.path).unwrap().rdev();
        let common = "--name=merged --ioengine=libaio --direct=1 --bs=4k --iodepth=256 --iodepth_batch=256 --fsync=512";
        // One call submits neighbours in this order, and the kernel merges them: behind, in front, or request with request.
        for order in [
            "--rw=write --size=4m",
            "--rw=write:-8k --offset=4m --io_size=2m",
            "--rw=randwrite --size=1m --loops=4",
        ] {
            // Of two bios in flight that share a place, one is lost, and what lies behind it stays: now and then.
            shown_within(5, || {
                let tracer = Tracer::start(8192).unwrap();
                tracer.count_neighbours([(libc::major(number), libc::minor(number))]).unwrap();
                let mut fio = Command::new("fio");
                fio.args(format!("{common} {order}").split(' ')).arg("--filename").arg(&device.path);
                let Ok(wrote) = fio.output() else { return Ok(()) };
                assert!(wrote.status.success(), "{wrote:?}");
                ensure(held(&tracer) == 0, || format!("{order}: {} entries are held", held(&tracer)))
            });
        }
    }

    #[test]
    fn an_entry_by_device_names_its_device_span_and_size() {
        let key = [254_u32 << 20 | 7, 13 << 8 | Span::ReadInDevice as u32].map(u32::to_ne_bytes).concat();
        let value = [3_u64, 900].map(u64::to_ne_bytes).concat();
        let found = requests(&(key.try_into().unwrap(), value.try_into().unwrap())).unwrap();
        assert_eq!(
            (found.span.as_str(), found.bytes, found.requests, found.time_ns),
            ("read_in_device", 8192, 3, 900)
        );
    }
}
