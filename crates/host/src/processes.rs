//! Processes: CPU time, memory and I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::Duration;

use procfs::process::Process;
use serde::{Deserialize, Serialize};
use slob_stats::{Merge, merge_fields};

use crate::{CpuSplit, HostError};

/// Ended threads count, children do not.
///
/// The scheduler sums it exactly, unlike the ticks in `/proc/PID/stat`.
#[allow(unsafe_code, reason = "no crate in use wraps clock_getcpuclockid")]
pub fn process_clock(pid: u32) -> Result<Duration, HostError> {
    let Ok(pid_t) = libc::pid_t::try_from(pid) else { return Err(HostError::NoSuchProcess { pid }) };
    if pid == 0 {
        return Err(HostError::NoSuchProcess { pid }); // the system call takes 0 for the caller
    }
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::clock_getcpuclockid(pid_t, &raw mut clock) } != 0 {
        return Err(HostError::NoSuchProcess { pid });
    }
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::clock_gettime(clock, now.as_mut_ptr()) } != 0 {
        return Err(HostError::NoSuchProcess { pid }); // it ended between the two calls
    }
    // SAFETY: clock_gettime returned 0, so it has filled the struct.
    let now = unsafe { now.assume_init() };
    Ok(Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32))
}

/// The sum is exact to a microsecond; most kernels sample the split at the tick.
#[allow(unsafe_code, reason = "no crate in use wraps getrusage")]
pub fn own_cpu() -> Result<CpuSplit, HostError> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the only pointer is to a live local of the right type.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return Err(HostError::System { call: "getrusage", source: io::Error::last_os_error() });
    }
    // SAFETY: getrusage returned 0, so it has filled the struct.
    let usage = unsafe { usage.assume_init() };
    let seconds = |t: libc::timeval| {
        Duration::new(t.tv_sec.unsigned_abs(), 1000 * t.tv_usec.unsigned_abs() as u32).as_secs_f64()
    };
    Ok(CpuSplit { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) })
}

pub fn peak_memory_bytes() -> Result<u64, HostError> {
    let pid = std::process::id();
    let status = open(pid)?.status().map_err(|e| proc_error(pid, e))?;
    let kib = status.vmhwm.ok_or_else(|| HostError::unexpected(Path::new("/proc/self/status"), "VmHWM"))?;
    Ok(kib * 1024)
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

/// `/proc/PID/io` counts it; cumulative, or of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Bytes of read calls, those from the page cache included.
    pub read_chars: u64,
    /// Bytes of write calls.
    pub write_chars: u64,
    pub read_calls: u64,
    pub write_calls: u64,
    /// Bytes that the storage layer fetched.
    pub read_bytes: u64,
    /// Buffered writes count when their pages are dirtied.
    pub write_bytes: u64,
}

impl ProcessIo {
    /// Threads count, and children that were waited for.
    fn read(pid: u32) -> Result<Self, HostError> {
        let io = open(pid)?.io().map_err(|e| proc_error(pid, e))?;
        Ok(Self {
            read_chars: io.rchar,
            write_chars: io.wchar,
            read_calls: io.syscr,
            write_calls: io.syscw,
            read_bytes: io.read_bytes,
            write_bytes: io.write_bytes,
        })
    }

    /// Both must be of the same process.
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

merge_fields!(
    ProcessIo: read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes
);

/// Fails on kernels without I/O accounting, and in some sandboxes.
pub fn self_io() -> Result<ProcessIo, HostError> {
    ProcessIo::read(std::process::id())
}

/// The living count, and those that one of them waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyIo {
    /// Parent and I/O of each process.
    members: BTreeMap<u32, (u32, ProcessIo)>,
}

impl FamilyIo {
    /// Skips processes that have just ended. `None` if one is unreadable: the others' I/O would pass for the family's.
    pub fn read(pids: impl IntoIterator<Item = u32>) -> Option<Self> {
        let member = |pid| -> Result<(u32, ProcessIo), HostError> {
            let parent = open(pid)?.stat().map_err(|e| proc_error(pid, e))?.ppid.unsigned_abs();
            Ok((parent, ProcessIo::read(pid)?))
        };
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

    /// `None` if a process ended without a parent in the family.
    ///
    /// The parent's count takes in the whole life of an ended process, so its part before `earlier` is subtracted.
    pub fn since(&self, earlier: &Self) -> Option<ProcessIo> {
        let has = |pid: &u32| self.members.contains_key(pid);
        let mut before = ProcessIo::default();
        for (pid, (parent, io)) in &earlier.members {
            if !has(pid) && !has(parent) {
                return None;
            }
            before.merge(io);
        }
        let mut now = ProcessIo::default();
        self.members.values().for_each(|(_, io)| now.merge(io));
        Some(now.since(&before))
    }
}

/// Process 2 of a host; containers do not see it.
const KERNEL_THREADS: &str = "kthreadd";

/// `/proc/stat` samples at the tick on most kernels, which misjudges short bursts. The clocks of processes are exact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllProcessesCpu {
    processes: BTreeMap<u32, ProcessCpu>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ProcessCpu {
    parent: u32,
    /// Two processes may have one number.
    started: u64,
    used_s: f64,
    /// Children that were waited for, to the tick.
    children_s: f64,
}

impl ProcessCpu {
    fn read(process: &Process) -> Option<(u32, Self)> {
        let stat = process.stat().ok()?;
        let pid = u32::try_from(stat.pid).ok()?;
        let ticks = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
        let used_s =
            process_clock(pid).map_or_else(|_| ticks(stat.utime + stat.stime), |used| used.as_secs_f64());
        let children_s = ticks(stat.cutime.unsigned_abs() + stat.cstime.unsigned_abs());
        Some((pid, Self { parent: stat.ppid.unsigned_abs(), started: stat.starttime, used_s, children_s }))
    }

    /// Its parent's account takes this in at its end.
    fn life_s(&self) -> f64 {
        self.used_s + self.children_s
    }
}

impl AllProcessesCpu {
    /// `None` where not all processes of the host are visible, as in a container.
    pub fn read() -> Option<Self> {
        let first = Process::new(2).and_then(|process| process.stat());
        if !first.is_ok_and(|stat| stat.comm == KERNEL_THREADS) {
            return None;
        }
        let processes = procfs::process::all_processes().ok()?;
        // The account of a parent holds those that end meanwhile.
        let processes = processes.filter_map(|process| ProcessCpu::read(&process.ok()?));
        Some(Self { processes: processes.collect() })
    }

    /// A lower bound: the kernel forgets a process that ended and was not waited for.
    pub fn others_since(&self, earlier: &Self, own: &BTreeSet<u32>) -> f64 {
        let others = |pid: &u32| !own.contains(pid);
        let used = self
            .processes
            .iter()
            .filter(|(pid, _)| others(pid))
            .map(|(pid, now)| now.used_s - earlier.same(*pid, now).map_or(0.0, |before| before.used_s));
        let of_ended = self.accounts_since(earlier).into_iter().filter(|(pid, _)| others(pid));
        (used.sum::<f64>() + of_ended.map(|(_, seconds)| seconds).sum::<f64>()).max(0.0)
    }

    /// Ended processes count at the process whose account of children now holds them.
    ///
    /// The account takes in a whole life, so the part before `earlier` is subtracted. It is the living parent's; families that
    /// end are handed up, at the latest to process 1.
    fn accounts_since(&self, earlier: &Self) -> BTreeMap<u32, f64> {
        let rise = |(pid, now): (&u32, &ProcessCpu)| {
            (*pid, now.children_s - earlier.same(*pid, now).map_or(0.0, |before| before.children_s))
        };
        let mut accounts: BTreeMap<u32, f64> = self.processes.iter().map(rise).collect();
        let mut ended: Vec<_> =
            earlier.processes.iter().filter(|(pid, process)| self.same(**pid, process).is_none()).collect();
        // An account that rose by less than a life does not hold it. Long lives go first, as they fit few accounts.
        ended.sort_by(|(_, one), (_, other)| other.life_s().total_cmp(&one.life_s()));
        for (pid, process) in ended {
            let life_s = process.life_s();
            let holds_it =
                |pid: &u32| accounts.get(pid).is_some_and(|rise_s| *rise_s >= life_s - tick_error_s());
            let living =
                earlier.ancestors(*pid).filter(|(pid, ancestor)| self.same(*pid, ancestor).is_some());
            let holder = living.map(|(pid, _)| pid).find(holds_it);
            if let Some(rise_s) = holder.and_then(|pid| accounts.get_mut(&pid)) {
                *rise_s = (*rise_s - life_s).max(0.0);
            }
        }
        accounts
    }

    /// `None` if it is absent, or its number is another process now.
    fn same(&self, pid: u32, process: &ProcessCpu) -> Option<&ProcessCpu> {
        self.processes.get(&pid).filter(|one| one.started == process.started)
    }

    fn ancestors(&self, pid: u32) -> impl Iterator<Item = (u32, &ProcessCpu)> {
        let parent = |pid: u32| {
            let parent = self.processes.get(&pid)?.parent;
            Some((parent, self.processes.get(&parent)?))
        };
        // The kernel reuses numbers while processes are read, so a circle is possible.
        std::iter::successors(parent(pid), move |(pid, _)| parent(*pid)).take(self.processes.len())
    }
}

/// Each time is cut off at the tick, at both ends.
fn tick_error_s() -> f64 {
    8.0 / procfs::ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::io::{BufRead, BufReader, Write};
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
        let by_clock = process_clock(std::process::id()).unwrap().as_secs_f64();
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
        assert!(process_clock(pid).is_ok());
        drop(child.stdin.take()); // end of input: cat ends
        child.wait().unwrap();
        assert!(matches!(process_clock(pid), Err(HostError::NoSuchProcess { .. })));
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
        let of_child = ProcessIo::read(child.id()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        let after = FamilyIo::read([me, child.id()]).unwrap();
        // The first difference holds its whole life, the second none of its past.
        assert!(after.since(&before).unwrap().read_calls >= of_child.read_calls);
        assert_eq!(during.since(&during), Some(ProcessIo::default()));
        assert!(after.since(&during).is_some());
        let orphan = (1, of_child);
        let lost = FamilyIo { members: [(child.id(), orphan)].into() };
        assert_eq!(after.since(&lost), None, "no process of the family waited for it");
    }

    #[test]
    fn an_unreadable_process_makes_the_family_unknown_and_an_ended_one_does_not() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = child.id();
        assert!(FamilyIo::read([std::process::id(), gone]).is_some());
        assert_eq!(ProcessIo::read(1).is_err(), FamilyIo::read([std::process::id(), 1]).is_none());
    }

    #[test]
    fn own_reads_are_counted() {
        let before = self_io().unwrap();
        std::fs::read("/proc/self/status").unwrap();
        let interval = self_io().unwrap().since(&before);
        assert!(interval.read_calls >= 1 && interval.read_chars >= 1, "{interval:?}");
    }

    /// Each row is pid, parent, start, own and children's CPU time.
    fn processes(rows: &[(u32, u32, u64, f64, f64)]) -> AllProcessesCpu {
        let process = |&(pid, parent, started, used_s, children_s): &(u32, u32, u64, f64, f64)| {
            (pid, ProcessCpu { parent, started, used_s, children_s })
        };
        AllProcessesCpu { processes: rows.iter().map(process).collect() }
    }

    #[test]
    fn others_count_with_their_time_in_the_interval() {
        let earlier = processes(&[
            (1, 0, 0, 5.0, 1.0),
            (10, 1, 7, 3.0, 0.0),
            (11, 1, 8, 2.0, 0.0),
            (12, 1, 9, 4.0, 0.0),
        ]);
        // 10 is ours, 11 ended and its parent waited for it, 12 is another process now, and 13 is new.
        let later = processes(&[
            (1, 0, 0, 5.5, 3.5),
            (10, 1, 7, 9.0, 0.0),
            (12, 10, 99, 0.25, 0.0),
            (13, 1, 98, 0.5, 0.0),
        ]);
        let own = BTreeSet::from([10]);
        // 0.5 of 1 itself; its account rose by 2.5, of which 2.0 were 11's before: less than 12's life, which is lost.
        assert!((later.others_since(&earlier, &own) - (0.5 + 0.5 + 0.25 + 0.5)).abs() < 1e-9);
        let waited = processes(&[
            (1, 0, 0, 5.5, 7.75),
            (10, 1, 7, 9.0, 0.0),
            (12, 10, 99, 0.25, 0.0),
            (13, 1, 98, 0.5, 0.0),
        ]);
        assert!((waited.others_since(&earlier, &own) - (0.5 + 6.75 - 6.0 + 0.25 + 0.5)).abs() < 1e-9);
    }

    /// A build that ended within a run was 304.9 % of two CPUs: its time before the run was subtracted only if its parent still
    /// lived.
    #[test]
    fn others_that_ended_with_their_parents_do_not_count_with_their_whole_lives() {
        // A shell 10, a build 11, its compilers 12 and 13; the build ends with both of them, and the shell waits for it.
        let earlier = processes(&[
            (1, 0, 0, 1.0, 50.0),
            (10, 1, 5, 0.5, 0.0),
            (11, 10, 6, 2.0, 100.0),
            (12, 11, 7, 30.0, 0.0),
            (13, 11, 8, 20.0, 0.0),
        ]);
        let shell_waited = processes(&[(1, 0, 0, 1.0, 50.0), (10, 1, 5, 0.5, 155.0)]);
        let none = BTreeSet::new();
        assert!((shell_waited.others_since(&earlier, &none) - 3.0).abs() < 1e-9);
        // The shell ended as well: process 1 has everything in its account.
        let adopted = processes(&[(1, 0, 0, 1.0, 50.0 + 155.5)]);
        assert!((adopted.others_since(&earlier, &none) - 3.0).abs() < 1e-9);
        // The shell lives and did not wait for them: they were orphans.
        let orphans = processes(&[(1, 0, 0, 1.0, 50.0 + 155.0), (10, 1, 5, 0.5, 0.0)]);
        assert!((orphans.others_since(&earlier, &none) - 3.0).abs() < 1e-9);
        // Time in our own process's account is not others'.
        let ours = BTreeSet::from([10]);
        assert!(shell_waited.others_since(&earlier, &ours).abs() < 1e-9);
    }

    /// A process that works and its parent end, and the parent's parent stays.
    #[test]
    fn a_family_that_ends_counts_with_its_time_in_the_interval() {
        const FAMILY: &str = "sh -c 'sh -c \"i=0; while [ \\$i -lt 400000 ]; do i=\\$((i+1)); done; echo worked; read go\"; true'; \
                              echo ended; read end";
        let mut family = Command::new("sh")
            .args(["-c", FAMILY])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, output) = (family.stdin.take().unwrap(), family.stdout.take().unwrap());
        let mut lines = BufReader::new(output).lines();
        let mut expect = |line: &str| assert_eq!(lines.next().unwrap().unwrap(), line);
        expect("worked");
        let before = AllProcessesCpu::read();
        input.write_all(b"go\n").unwrap();
        expect("ended");
        let after = AllProcessesCpu::read();
        drop(input);
        family.wait().unwrap();
        let Some((before, after)) = before.zip(after) else { return };
        let of_family = |pid: &u32| before.ancestors(*pid).any(|(above, _)| above == family.id());
        let worked_s = before.processes.iter().filter(|(pid, _)| of_family(pid)).map(|(_, one)| one.life_s());
        let worked_s: f64 = worked_s.sum();
        let all = before.processes.keys().chain(after.processes.keys()).copied();
        let own: BTreeSet<u32> = all.filter(|pid| *pid != family.id()).collect();
        let since_s = after.others_since(&before, &own);
        assert!(worked_s > 0.1 && since_s < worked_s / 2.0, "{worked_s} {since_s}");
    }

    #[test]
    fn a_child_that_ended_counts_in_the_account_of_its_parent() {
        let Some(before) = AllProcessesCpu::read() else { return };
        let own = BTreeSet::new();
        let status =
            Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).status();
        assert!(status.is_ok_and(|status| status.success()));
        let used_s = AllProcessesCpu::read().map(|now| now.others_since(&before, &own));
        assert!(used_s.is_some_and(|used_s| used_s > 0.02), "{used_s:?}");
    }
}
