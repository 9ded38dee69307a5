//! How many more threads and files this process may have, and what limits them.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Mappings of memory of a thread: its stack and the one for signals, and a page that guards each.
const MAPPINGS_OF_A_THREAD: u64 = 4;
/// Of each kind, left for everything that is no thread of a session.
const RESERVE: u64 = 256;

/// A limit that is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// Its name, as the system calls it, and its value.
    pub limit: String,
    /// How many threads of the kind that was asked for it leaves.
    pub most: u64,
    /// How it is raised.
    pub remedy: String,
}

/// One limit: so many there may be, so many are there, and so many each thread takes.
struct Limit {
    name: &'static str,
    most: u64,
    in_use: u64,
    each: u64,
    remedy: &'static str,
}

impl Limit {
    fn room(&self) -> u64 {
        self.most.saturating_sub(self.in_use + RESERVE) / self.each
    }

    fn too_few(&self) -> TooFew {
        TooFew {
            limit: format!("{} is {}, of which {} are in use", self.name, self.most, self.in_use),
            most: self.room(),
            remedy: self.remedy.to_owned(),
        }
    }
}

/// Whether this process can have so many more threads, each with `files` open files. The soft limit of open files is raised if the
/// hard one allows it. What can't be read limits nothing here: the system will say so itself.
///
/// # Errors
/// With the limit that leaves room for the fewest.
pub fn room_for_threads(threads: u64, files: u64) -> Result<(), TooFew> {
    let limits = [mappings(), tasks(), process_ids(), group(), open_files(threads, files)];
    let narrowest = limits.into_iter().flatten().min_by_key(Limit::room);
    narrowest.filter(|limit| limit.room() < threads).map_or(Ok(()), |limit| Err(limit.too_few()))
}

fn mappings() -> Option<Limit> {
    let in_use = fs::read_to_string("/proc/self/maps").ok()?.lines().count() as u64;
    Some(Limit {
        name: "vm.max_map_count",
        most: number("/proc/sys/vm/max_map_count")?,
        in_use,
        each: MAPPINGS_OF_A_THREAD,
        remedy: "raise it (sysctl -w vm.max_map_count=N, 4 for each session)",
    })
}

/// All threads of the machine.
fn all_tasks() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn tasks() -> Option<Limit> {
    Some(Limit {
        name: "kernel.threads-max",
        most: number("/proc/sys/kernel/threads-max")?,
        in_use: all_tasks()?,
        each: 1,
        remedy: "raise it (sysctl -w kernel.threads-max=N)",
    })
}

fn process_ids() -> Option<Limit> {
    Some(Limit {
        name: "kernel.pid_max",
        most: number("/proc/sys/kernel/pid_max")?,
        in_use: all_tasks()?,
        each: 1,
        remedy: "raise it (sysctl -w kernel.pid_max=N)",
    })
}

/// The limit of the container or service that this process is in.
fn group() -> Option<Limit> {
    let folder = pids_folder(&fs::read_to_string("/proc/self/cgroup").ok()?);
    Some(Limit {
        name: "pids.max of this control group",
        // The word `max` is no limit.
        most: number(folder.join("pids.max"))?,
        in_use: number(folder.join("pids.current"))?,
        each: 1,
        remedy: "raise the limit of tasks of the container or service",
    })
}

/// The folder that counts the tasks of a process with these lines of `/proc/PID/cgroup`, of version 1 or 2.
fn pids_folder(lines: &str) -> PathBuf {
    let of = |controller: &str| {
        lines.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/'))
        })
    };
    let root = Path::new("/sys/fs/cgroup");
    match of("pids") {
        Some(path) => root.join("pids").join(path),
        None => root.join(of("").unwrap_or_default()),
    }
}

fn open_files(threads: u64, files: u64) -> Option<Limit> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit at all is none in the way.
    let soft = current?;
    let wanted = threads * files + RESERVE;
    let raised = maximum.map_or(wanted, |hard| hard.min(wanted)).max(soft);
    let set = raised > soft && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    (files > 0).then_some(Limit {
        name: "the limit of open files",
        most: if set { raised } else { soft },
        in_use: 0,
        each: files,
        remedy: "raise it (ulimit -n, LimitNOFILE= of a service)",
    })
}

fn number(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_have_room_and_no_machine_has_it_for_all_numbers() {
        assert_eq!(room_for_threads(8, 2), Ok(()));
        let too_few = room_for_threads(u64::from(u32::MAX), 1).unwrap_err();
        assert!(too_few.most < u64::from(u32::MAX), "{too_few:?}");
    }

    #[test]
    fn a_limit_leaves_what_it_leaves() {
        let limit = Limit { name: "x", most: 1256, in_use: 100, each: 4, remedy: "" };
        assert_eq!(limit.room(), 225);
        assert_eq!(limit.too_few().limit, "x is 1256, of which 100 are in use");
        assert_eq!(Limit { in_use: 5000, ..limit }.room(), 0);
    }

    #[test]
    fn the_group_is_found_in_both_versions() {
        let one = "9:name=systemd:/\n8:pids:/a/b\n4:memory:/c\n";
        assert_eq!(pids_folder(one), Path::new("/sys/fs/cgroup/pids/a/b"));
        assert_eq!(pids_folder("0::/user.slice/x\n"), Path::new("/sys/fs/cgroup/user.slice/x"));
        assert_eq!(pids_folder(""), Path::new("/sys/fs/cgroup"));
    }
}
