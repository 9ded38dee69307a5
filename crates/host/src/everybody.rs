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
        let others = |pid: &u32| !own.contains(pid);
        let used = self.members.iter().filter(|(pid, _)| others(pid)).map(|(pid, now)| {
            let before = earlier.members.get(pid).filter(|before| before.started == now.started);
            now.used_s - before.map_or(0.0, |before| before.used_s)
        });
        let of_ended = self.accounts_since(earlier).into_iter().filter(|(pid, _)| others(pid));
        (used.sum::<f64>() + of_ended.map(|(_, seconds)| seconds).sum::<f64>()).max(0.0)
    }

    /// What those used since `earlier` that ended since, by the process that now has it in its account of children.
    ///
    /// Whoever waits for a process takes all its life into that account, and all that this one had taken: what was used
    /// before `earlier` comes off again. That is the parent only if it was still there; a whole family that ends is
    /// handed up from one to the next, and orphans are handed to an ancestor, at the latest to the first process of all.
    fn accounts_since(&self, earlier: &Self) -> BTreeMap<u32, f64> {
        let rise = |(pid, now): (&u32, &Member)| {
            let before = earlier.members.get(pid).filter(|before| before.started == now.started);
            (*pid, now.children_s - before.map_or(0.0, |before| before.children_s))
        };
        let mut accounts: BTreeMap<u32, f64> = self.members.iter().map(rise).collect();
        let mut ended: Vec<_> =
            earlier.members.iter().filter(|(pid, member)| !self.has(**pid, member)).collect();
        // An account that rose by less than a life did not take it; one that took several was not filled by the least.
        ended.sort_by(|(_, one), (_, other)| other.life_s().total_cmp(&one.life_s()));
        for (pid, member) in ended {
            let life_s = member.life_s();
            let took_it =
                |pid: &u32| accounts.get(pid).is_some_and(|rise_s| *rise_s >= life_s - coarseness_s());
            let taker = earlier.ancestors(*pid).filter(|(pid, member)| self.has(*pid, member));
            let taker = taker.map(|(pid, _)| pid).find(took_it);
            if let Some(rise_s) = taker.and_then(|pid| accounts.get_mut(&pid)) {
                *rise_s = (*rise_s - life_s).max(0.0);
            }
        }
        accounts
    }

    /// Whether that very process is among these.
    fn has(&self, pid: u32, member: &Member) -> bool {
        self.members.get(&pid).is_some_and(|one| one.started == member.started)
    }

    /// Its parent, and so on up.
    fn ancestors(&self, pid: u32) -> impl Iterator<Item = (u32, &Member)> {
        let parent = |pid: u32| {
            let parent = self.members.get(&pid)?.parent;
            Some((parent, self.members.get(&parent)?))
        };
        // Read one after the other, and numbers are given anew: a circle is not impossible.
        std::iter::successors(parent(pid), move |(pid, _)| parent(*pid)).take(self.members.len())
    }
}

impl Member {
    /// What goes to whoever waits for it when it ends.
    fn life_s(&self) -> f64 {
        self.used_s + self.children_s
    }
}

/// By so much a rise of an account and a life in it may differ: user and system time are cut off at the tick each, at both
/// ends of either.
fn coarseness_s() -> f64 {
    8.0 / procfs::ticks_per_second() as f64
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
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

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
        // 0.5 of 1 itself; its account rose by 2.5, of which 2.0 were 11's before: less than 12's life, which is lost.
        assert!((later.others_since(&earlier, &own) - (0.5 + 0.5 + 0.25 + 0.5)).abs() < 1e-9);
        let waited = everybody(&[
            (1, 0, 0, 5.5, 7.75),
            (10, 1, 7, 9.0, 0.0),
            (12, 10, 99, 0.25, 0.0),
            (13, 1, 98, 0.5, 0.0),
        ]);
        assert!((waited.others_since(&earlier, &own) - (0.5 + 6.75 - 6.0 + 0.25 + 0.5)).abs() < 1e-9);
    }

    /// A build of ten minutes that ended within a run of ten seconds was 304.9 % of a host with two CPUs: what a process
    /// had used came off only where its own parent was still there.
    #[test]
    fn others_that_ended_with_their_parents_do_not_count_with_all_their_lives() {
        // A shell 10, a build 11, its compilers 12 and 13; the build ends with both of them, and the shell waits for it.
        let earlier = everybody(&[
            (1, 0, 0, 1.0, 50.0),
            (10, 1, 5, 0.5, 0.0),
            (11, 10, 6, 2.0, 100.0),
            (12, 11, 7, 30.0, 0.0),
            (13, 11, 8, 20.0, 0.0),
        ]);
        let shell_waited = everybody(&[(1, 0, 0, 1.0, 50.0), (10, 1, 5, 0.5, 155.0)]);
        let nobody = BTreeSet::new();
        assert!((shell_waited.others_since(&earlier, &nobody) - 3.0).abs() < 1e-9);
        // The shell is gone as well: everything is in the account of the first process.
        let adopted = everybody(&[(1, 0, 0, 1.0, 50.0 + 155.5)]);
        assert!((adopted.others_since(&earlier, &nobody) - 3.0).abs() < 1e-9);
        // The shell, which lives, did not wait for them: they were orphans.
        let orphans = everybody(&[(1, 0, 0, 1.0, 50.0 + 155.0), (10, 1, 5, 0.5, 0.0)]);
        assert!((orphans.others_since(&earlier, &nobody) - 3.0).abs() < 1e-9);
        // Of ours that waited it is nobody else's.
        let ours = BTreeSet::from([10]);
        assert!(shell_waited.others_since(&earlier, &ours).abs() < 1e-9);
    }

    /// The same by real processes: one that works, its parent and its parent's parent, of which only the last one stays.
    #[test]
    fn a_family_that_ends_counts_with_what_it_used_since() {
        const FAMILY: &str = "sh -c 'sh -c \"i=0; while [ \\$i -lt 400000 ]; do i=\\$((i+1)); done; echo worked; read go\"; true'; \
                              echo ended; read end";
        let mut family = Command::new("sh")
            .args(["-c", FAMILY])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, output) = (family.stdin.take().unwrap(), family.stdout.take().unwrap());
        let mut said = BufReader::new(output).lines();
        let mut heard = |words: &str| assert_eq!(said.next().unwrap().unwrap(), words);
        heard("worked");
        let before = EverybodysCpu::read();
        input.write_all(b"go\n").unwrap();
        heard("ended");
        let after = EverybodysCpu::read();
        drop(input);
        family.wait().unwrap();
        let Some((before, after)) = before.zip(after) else { return };
        let of_family = |pid: &u32| before.ancestors(*pid).any(|(above, _)| above == family.id());
        let worked_s = before.members.iter().filter(|(pid, _)| of_family(pid)).map(|(_, one)| one.life_s());
        let worked_s: f64 = worked_s.sum();
        let all = before.members.keys().chain(after.members.keys()).copied();
        let own: BTreeSet<u32> = all.filter(|pid| *pid != family.id()).collect();
        let since_s = after.others_since(&before, &own);
        assert!(worked_s > 0.1 && since_s < worked_s / 2.0, "{worked_s} {since_s}");
    }

    #[test]
    fn a_child_that_ended_is_seen_by_who_waited_for_it() {
        let Some(before) = EverybodysCpu::read() else { return };
        let own = BTreeSet::new();
        let status =
            Command::new("sh").args(["-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]).status();
        assert!(status.is_ok_and(|status| status.success()));
        let used_s = EverybodysCpu::read().map(|now| now.others_since(&before, &own));
        assert!(used_s.is_some_and(|used_s| used_s > 0.02), "{used_s:?}");
    }
}
