//! Processes: CPU time, memory and I/O counters.

use std::collections::BTreeMap;
use std::time::Duration;

use procfs::process::Process;
use serde::{Deserialize, Serialize};
use slob_stats::Merge;

use crate::{CpuSplit, HostError, clock};

/// CPU time of a process. Children are not included.
///
/// The total is exact (the process's CPU clock). The split into user and system follows `/proc/PID/stat`, whose
/// unit is the tick; a process that has not used a tick yet has all its time counted as user time.
///
/// # Errors
/// The process does not exist, or ended just now.
pub fn process_cpu(pid: u32) -> Result<CpuSplit, HostError> {
    let total = clock::process_cpu(pid)?;
    let stat = open(pid)?.stat().map_err(|e| proc_error(pid, e))?;
    Ok(CpuSplit::by_ticks(total, stat.utime, stat.stime))
}

/// CPU time of a process, to the nanosecond and without its split: two calls of the system, where the split takes a file.
///
/// # Errors
/// The process does not exist, or ended just now.
pub fn process_clock(pid: u32) -> Result<Duration, HostError> {
    clock::process_cpu(pid)
}

/// CPU time of this process.
///
/// # Errors
/// getrusage failed, which no kernel is known to do.
pub fn own_cpu() -> Result<CpuSplit, HostError> {
    let (user, system) = clock::own_cpu()?;
    Ok(CpuSplit { user_s: user.as_secs_f64(), system_s: system.as_secs_f64() })
}

/// The highest resident memory of this process so far, in bytes.
///
/// # Errors
/// `/proc/self/status` is unreadable.
pub fn peak_memory_bytes() -> Result<u64, HostError> {
    let pid = std::process::id();
    let status = open(pid)?.status().map_err(|e| proc_error(pid, e))?;
    let kib = status.vmhwm.ok_or_else(|| HostError::unexpected("/proc/self/status".as_ref(), "VmHWM"))?;
    Ok(kib * 1024)
}

/// Cumulative I/O of one process, as the kernel accounts it (`/proc/PID/io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Bytes returned by read calls, from wherever (page cache included).
    pub read_chars: u64,
    /// Bytes passed to write calls.
    pub write_chars: u64,
    /// Read calls.
    pub read_calls: u64,
    /// Write calls.
    pub write_calls: u64,
    /// Bytes that this process made the storage layer fetch.
    pub read_bytes: u64,
    /// Bytes that this process made the storage layer write (at the moment pages are dirtied, for buffered writes).
    pub write_bytes: u64,
}

/// Of two processes, or two intervals: the I/O of both.
impl Merge for ProcessIo {
    fn merge(&mut self, other: &Self) {
        self.read_chars += other.read_chars;
        self.write_chars += other.write_chars;
        self.read_calls += other.read_calls;
        self.write_calls += other.write_calls;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
    }
}

/// The I/O of a family of processes so far: of those that live, and of those that one of them has waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyIo {
    members: BTreeMap<u32, Member>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    parent: u32,
    io: ProcessIo,
}

impl FamilyIo {
    /// Of these processes; one that has just ended is left out. `None` if one of them can't be looked at: a part of the
    /// family's I/O would pass for all of it.
    #[must_use]
    pub fn read(pids: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut members = BTreeMap::new();
        for pid in pids {
            match member(pid) {
                Ok(member) => members.insert(pid, member),
                Err(HostError::NoSuchProcess { .. }) => continue,
                Err(_) => return None,
            };
        }
        Some(Self { members })
    }

    /// The family's I/O since an earlier moment. What a process did that ended in between is in its parent's count, all its
    /// life long: the part before `earlier` is taken off again. Of a process that nobody of the family waited for, what it did
    /// after `earlier` is lost, and so is the answer.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<ProcessIo> {
        let mut before = ProcessIo::default();
        for (pid, member) in &earlier.members {
            if !self.members.contains_key(pid) && !self.members.contains_key(&member.parent) {
                return None;
            }
            before.merge(&member.io);
        }
        let mut now = ProcessIo::default();
        self.members.values().for_each(|member| now.merge(&member.io));
        Some(now.since(&before))
    }
}

fn member(pid: u32) -> Result<Member, HostError> {
    let parent = open(pid)?.stat().map_err(|e| proc_error(pid, e))?.ppid.unsigned_abs();
    Ok(Member { parent, io: process_io(pid)? })
}

impl ProcessIo {
    /// The I/O between `earlier` and `self`, both of the same process.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_chars: self.read_chars.saturating_sub(earlier.read_chars),
            write_chars: self.write_chars.saturating_sub(earlier.write_chars),
            read_calls: self.read_calls.saturating_sub(earlier.read_calls),
            write_calls: self.write_calls.saturating_sub(earlier.write_calls),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

/// The I/O of this process so far.
///
/// # Errors
/// `/proc/self/io` is unreadable (a kernel without I/O accounting, or some sandboxes).
pub fn self_io() -> Result<ProcessIo, HostError> {
    process_io(std::process::id())
}

/// The I/O of a process so far: of all its threads, and of the children that it has waited for after they ended.
///
/// # Errors
/// [`HostError::NoSuchProcess`] if it has ended; another one if this user may not look at it.
fn process_io(pid: u32) -> Result<ProcessIo, HostError> {
    let io = open(pid)?.io().map_err(|e| proc_error(pid, e))?;
    Ok(ProcessIo {
        read_chars: io.rchar,
        write_chars: io.wchar,
        read_calls: io.syscr,
        write_calls: io.syscw,
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
    })
}

fn open(pid: u32) -> Result<Process, HostError> {
    let pid_t = i32::try_from(pid).map_err(|_| HostError::NoSuchProcess { pid })?;
    Process::new(pid_t).map_err(|e| proc_error(pid, e))
}

fn proc_error(pid: u32, error: procfs::ProcError) -> HostError {
    match error {
        procfs::ProcError::NotFound(_) => HostError::NoSuchProcess { pid },
        procfs::ProcError::Io(source, path) => {
            HostError::Io { action: "read", path: path.unwrap_or_else(|| "/proc".into()), source }
        }
        other => HostError::unexpected(format!("/proc/{pid}").as_ref(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::process::{Command, Stdio};

    use super::*;

    fn burn() {
        for i in 0..20_000_000_u64 {
            black_box(i);
        }
    }

    #[test]
    fn the_process_clock_and_getrusage_agree_about_this_process() {
        burn();
        let before = own_cpu().unwrap().total_s();
        let by_clock = process_cpu(std::process::id()).unwrap().total_s();
        let after = own_cpu().unwrap().total_s();
        // getrusage truncates both parts to a microsecond.
        assert!(before - 2e-6 <= by_clock && by_clock <= after + 2e-6, "{before} {by_clock} {after}");
    }

    #[test]
    fn the_split_keeps_the_exact_total() {
        let cpu = CpuSplit::by_ticks(Duration::from_nanos(1_234_567_891), 30, 90);
        assert!((cpu.total_s() - 1.234_567_891).abs() < 1e-12);
        assert!((cpu.system_s / cpu.user_s - 3.0).abs() < 1e-9);
        assert_eq!(
            CpuSplit::by_ticks(Duration::from_millis(3), 0, 0),
            CpuSplit { user_s: 0.003, system_s: 0.0 }
        );
    }

    #[test]
    fn a_child_is_there_and_then_gone() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        assert!(process_cpu(pid).is_ok());
        drop(child.stdin.take()); // end of input: cat ends
        child.wait().unwrap();
        assert!(matches!(process_cpu(pid), Err(HostError::NoSuchProcess { .. })));
    }

    #[test]
    fn the_peak_of_memory_grows_with_use() {
        const BLOCK: u64 = 64 << 20;
        let block = black_box(vec![1_u8; BLOCK as usize]);
        // The kernel keeps these counts per CPU and adds them up loosely.
        assert!(peak_memory_bytes().unwrap() + (16 << 20) >= BLOCK);
        drop(block);
    }

    #[test]
    fn the_io_of_a_child_that_ended_is_counted_once() {
        let me = std::process::id();
        let read = || {
            let output = Command::new("cat").arg("/proc/self/io").output().unwrap();
            assert!(output.status.success());
        };
        let before = FamilyIo::read([me]).unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        read();
        let during = FamilyIo::read([me, child.id()]).unwrap();
        let of_child = process_io(child.id()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        let after = FamilyIo::read([me, child.id()]).unwrap();
        // All its life is in the first difference; what it had done before, in none of the second.
        assert!(after.since(&before).unwrap().read_calls >= of_child.read_calls);
        assert_eq!(during.since(&during), Some(ProcessIo::default()));
        assert!(after.since(&during).is_some());
        let orphan = Member { parent: 1, io: of_child };
        let lost = FamilyIo { members: [(child.id(), orphan)].into() };
        assert_eq!(after.since(&lost), None, "nobody of the family waited for it");
    }

    #[test]
    fn what_may_not_be_looked_at_makes_the_family_unknown_and_what_ended_does_not() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = child.id();
        assert!(FamilyIo::read([std::process::id(), gone]).is_some());
        assert_eq!(process_io(1).is_err(), FamilyIo::read([std::process::id(), 1]).is_none());
    }

    #[test]
    fn own_reads_are_counted() {
        let before = self_io().unwrap();
        std::fs::read("/proc/self/status").unwrap();
        let interval = self_io().unwrap().since(&before);
        assert!(interval.read_calls >= 1 && interval.read_chars >= 1, "{interval:?}");
    }
}
