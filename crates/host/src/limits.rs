use std::fs;
use std::path::Path;

use procfs::Current;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::cgroups;
use crate::files::{Roots, number};

/// A stack, a signal stack, and a guard page of each.
const MAPPINGS_OF_A_THREAD: u64 = 4;
/// Everything but sessions needs these threads, mappings and files.
const RESERVE: u64 = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLimit {
    /// The system's words.
    pub limit: String,
    /// Threads that fit.
    pub most: u64,
    pub remedy: String,
}

struct Limit {
    name: &'static str,
    most: u64,
    in_use: u64,
    each: u64,
    remedy: &'static str,
}

impl Limit {
    /// Names are such as `vm.max_map_count`.
    fn of_kernel(name: &'static str, in_use: Option<u64>, each: u64, remedy: &'static str) -> Option<Self> {
        let most = number(&Path::new("/proc/sys").join(name.replace('.', "/")))?;
        Some(Self { name, most, in_use: in_use?, each, remedy })
    }

    fn room(&self) -> u64 {
        self.most.saturating_sub(self.in_use + RESERVE) / self.each
    }

    fn into_error(self) -> ThreadLimit {
        ThreadLimit {
            limit: format!("{} is {}, of which {} are in use", self.name, self.most, self.in_use),
            most: self.room(),
            remedy: self.remedy.to_owned(),
        }
    }
}

/// Raises the soft limit of open files up to the hard one. Unreadable limits are ignored. Fails with the limit that leaves room
/// for the fewest.
pub fn check_thread_limits(threads: u64, files: u64) -> Result<(), ThreadLimit> {
    let mappings = fs::read_to_string("/proc/self/maps").ok().map(|maps| maps.lines().count() as u64);
    // All threads of the machine.
    let tasks = procfs::LoadAverage::current().ok().map(|load| u64::from(load.max));
    let limits = [
        Limit::of_kernel(
            "vm.max_map_count",
            mappings,
            MAPPINGS_OF_A_THREAD,
            "raise it (sysctl -w vm.max_map_count=N, 4 for each session)",
        ),
        Limit::of_kernel("kernel.threads-max", tasks, 1, "raise it (sysctl -w kernel.threads-max=N)"),
        Limit::of_kernel("kernel.pid_max", tasks, 1, "raise it (sysctl -w kernel.pid_max=N)"),
        // A container or service has it.
        cgroups::task_limit("self", &Roots::default()).map(|(most, in_use)| Limit {
            name: "pids.max of this control group",
            most,
            in_use,
            each: 1,
            remedy: "raise the limit of tasks of the container or service",
        }),
        open_files(threads, files),
    ];
    let narrowest = limits.into_iter().flatten().min_by_key(Limit::room);
    narrowest.filter(|limit| limit.room() < threads).map_or(Ok(()), |limit| Err(limit.into_error()))
}

fn open_files(threads: u64, files: u64) -> Option<Limit> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let soft = current?; // `None` is no limit
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_threads_fit_and_no_machine_fits_all_numbers() {
        assert_eq!(check_thread_limits(8, 2), Ok(()));
        let limit = check_thread_limits(u64::from(u32::MAX), 1).unwrap_err();
        assert!(limit.most < u64::from(u32::MAX), "{limit:?}");
    }

    #[test]
    fn a_limit_leaves_its_unused_part_without_the_reserve() {
        let limit = Limit { name: "x", most: 1256, in_use: 100, each: 4, remedy: "" };
        assert_eq!(limit.room(), 225);
        assert_eq!(limit.into_error().limit, "x is 1256, of which 100 are in use");
        let full = Limit { name: "x", most: 1256, in_use: 5000, each: 4, remedy: "" };
        assert_eq!(full.room(), 0);
    }
}
