//! The CPU time of every process of this host, so that it can be told what others than those of a test used.
//!
//! The kernel's own sum over all CPUs (`/proc/stat`) is sampled at the tick on most kernels: programs that work in short
//! bursts, as those do that wait for I/O, are seen too often or not at all. The clocks of processes are exact.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::Process;

use crate::clock;

/// Of the process that starts the kernel's threads: it is seen only by who sees all processes of the host.
const KERNEL_THREADS: (i32, &str) = (2, "kthreadd");

/// CPU time so far of every process of this host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EverybodysCpu {
    members: BTreeMap<u32, Member>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Member {
    parent: u32,
    /// In ticks after the boot: tells two processes apart that had the same number.
    started: u64,
    used_s: f64,
    /// Of the children that it has waited for after they ended, all their lives long; to the tick.
    children_s: f64,
}

impl EverybodysCpu {
    /// Now; `None` where not all processes of the host can be seen, as from within a container.
    #[must_use]
    pub fn read() -> Option<Self> {
        let (pid, name) = KERNEL_THREADS;
        let sees_all =
            Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.comm == name);
        if !sees_all {
            return None;
        }
        let processes = procfs::process::all_processes().ok()?;
        // One that ends meanwhile is in its parent's account.
        let members = processes.filter_map(|process| member(&process.ok()?));
        Some(Self { members: members.collect() })
    }

    /// Seconds that others than `own` used since an earlier moment: at least, since what a process used that nobody waited
    /// for is lost when it ends.
    #[must_use]
    pub fn others_since(&self, earlier: &Self, own: &BTreeSet<u32>) -> f64 {
        let others = |(pid, _): &(&u32, &Member)| !own.contains(pid);
        let used = self.members.iter().filter(others).map(|(pid, now)| {
            let before = earlier.members.get(pid).filter(|before| before.started == now.started);
            let (used_s, children_s) = before.map_or((0.0, 0.0), |before| (before.used_s, before.children_s));
            now.used_s - used_s + now.children_s - children_s
        });
        // What those used before `earlier` that ended since is now in their parents' accounts.
        let ended = earlier.members.iter().filter(others).filter(|(pid, member)| {
            let same = |now: &Member| now.started == member.started;
            !self.members.get(pid).is_some_and(same)
        });
        let in_accounts = ended
            .filter(|(_, member)| self.members.contains_key(&member.parent) && !own.contains(&member.parent));
        let before = in_accounts.map(|(_, member)| member.used_s + member.children_s);
        (used.sum::<f64>() - before.sum::<f64>()).max(0.0)
    }
}

fn member(process: &Process) -> Option<(u32, Member)> {
    let stat = process.stat().ok()?;
    let pid = u32::try_from(stat.pid).ok()?;
    let ticks = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    let used_s =
        clock::process_cpu(pid).map_or_else(|_| ticks(stat.utime + stat.stime), |used| used.as_secs_f64());
    let children_s = ticks(stat.cutime.unsigned_abs() + stat.cstime.unsigned_abs());
    Some((pid, Member { parent: stat.ppid.unsigned_abs(), started: stat.starttime, used_s, children_s }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everybody(members: &[(u32, u32, u64, f64, f64)]) -> EverybodysCpu {
        let member = |&(pid, parent, started, used_s, children_s): &(u32, u32, u64, f64, f64)| {
            (pid, Member { parent, started, used_s, children_s })
        };
        EverybodysCpu { members: members.iter().map(member).collect() }
    }

    #[test]
    fn others_count_with_what_they_used_in_between() {
        let earlier = everybody(&[
            (1, 0, 0, 5.0, 1.0),
            (10, 1, 7, 3.0, 0.0),
            (11, 1, 8, 2.0, 0.0),
            (12, 1, 9, 4.0, 0.0),
        ]);
        // 10 is ours, 11 ended and its parent waited for it, 12 is another process now, and 13 is new.
        let later = everybody(&[
            (1, 0, 0, 5.5, 3.5),
            (10, 1, 7, 9.0, 0.0),
            (12, 10, 99, 0.25, 0.0),
            (13, 1, 98, 0.5, 0.0),
        ]);
        let own = BTreeSet::from([10]);
        // 0.5 of 1 itself; its account rose by 2.5, of which 2.0 were 11's before and 4.0 would be 12's: more than there is.
        assert!((later.others_since(&earlier, &own) - 0.0).abs() < 1e-9);
        let waited = everybody(&[
            (1, 0, 0, 5.5, 7.75),
            (10, 1, 7, 9.0, 0.0),
            (12, 10, 99, 0.25, 0.0),
            (13, 1, 98, 0.5, 0.0),
        ]);
        assert!((waited.others_since(&earlier, &own) - (0.5 + 6.75 - 6.0 + 0.25 + 0.5)).abs() < 1e-9);
    }

    #[test]
    fn a_child_that_ended_is_seen_by_who_waited_for_it() {
        let Some(before) = EverybodysCpu::read() else { return };
        let own = BTreeSet::new();
        let status = std::process::Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        let used_s = EverybodysCpu::read().map(|now| now.others_since(&before, &own));
        assert!(used_s.is_some_and(|used_s| used_s > 0.02), "{used_s:?}");
    }
}
