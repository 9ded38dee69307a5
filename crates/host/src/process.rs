//! Processes: CPU time, memory and I/O counters.

use std::time::Duration;

use procfs::process::Process;
use serde::{Deserialize, Serialize};

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
    Ok(split(total, stat.utime, stat.stime))
}

fn split(total: Duration, user_ticks: u64, system_ticks: u64) -> CpuSplit {
    let total_s = total.as_secs_f64();
    let ticks = user_ticks + system_ticks;
    let system_s = if ticks == 0 { 0.0 } else { total_s * system_ticks as f64 / ticks as f64 };
    CpuSplit { user_s: total_s - system_s, system_s }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl ProcessIo {
    /// The I/O between `earlier` and `self`, both of the same process.
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
    let pid = std::process::id();
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
        let cpu = split(Duration::from_nanos(1_234_567_891), 30, 90);
        assert!((cpu.total_s() - 1.234_567_891).abs() < 1e-12);
        assert!((cpu.system_s / cpu.user_s - 3.0).abs() < 1e-9);
        assert_eq!(split(Duration::from_millis(3), 0, 0), CpuSplit { user_s: 0.003, system_s: 0.0 });
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
    fn own_reads_are_counted() {
        let before = self_io().unwrap();
        std::fs::read("/proc/self/status").unwrap();
        let interval = self_io().unwrap().since(&before);
        assert!(interval.read_calls >= 1 && interval.read_chars >= 1, "{interval:?}");
    }
}
