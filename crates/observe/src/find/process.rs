//! Processes by their names and ages.

use procfs::Current;
use procfs::process::{Process, Stat, all_processes};

use super::Identified;

/// A process that has the name of a server's, and whose parent has not.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) pid: u32,
    pub(super) name: String,
    pub(super) age_s: f64,
    started: u64,
}

impl Candidate {
    fn of(stat: &Stat) -> Option<Self> {
        let since_boot_s = procfs::Uptime::current().ok()?.uptime;
        Some(Self {
            pid: u32::try_from(stat.pid).ok()?,
            name: stat.comm.clone(),
            age_s: since_boot_s - stat.starttime as f64 / procfs::ticks_per_second() as f64,
            started: stat.starttime,
        })
    }

    pub(super) fn identified(&self, how: String) -> Identified {
        Identified { pid: self.pid, name: self.name.clone(), started: self.started, how }
    }
}

/// One process.
pub(super) fn of(pid: u32) -> Option<Candidate> {
    Candidate::of(&stat(pid)?)
}

/// All whose names begin like one of these, but for their children: those serve sessions, or were forked a moment ago.
pub(super) fn named(names: &[String]) -> Vec<Candidate> {
    let is_named = |stat: &Stat| names.iter().any(|name| stat.comm.starts_with(name.as_str()));
    let stats = all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
    let named: Vec<Stat> = stats.filter(is_named).collect();
    let is_child = |stat: &Stat| named.iter().any(|parent| parent.pid == stat.ppid);
    named.iter().filter(|stat| !is_child(stat)).filter_map(Candidate::of).collect()
}

/// The number of a process in the innermost numbering that it is in: what it knows itself by.
pub(super) fn own_number(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().last()?.parse().ok()
}

/// Its children, by the kernel's list where it has one.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let listed = i32::try_from(pid)
        .ok()
        .and_then(|pid| Process::new(pid).ok()?.task_main_thread().ok()?.children().ok());
    listed.unwrap_or_else(|| {
        let stats = all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
        stats
            .filter(|stat| stat.ppid.unsigned_abs() == pid)
            .filter_map(|stat| u32::try_from(stat.pid).ok())
            .collect()
    })
}

fn stat(pid: u32) -> Option<Stat> {
    Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()
}

/// When a process was started, in ticks after the boot; `None` if it is gone.
pub(crate) fn started(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.starttime)
}
