//! A server under observation: processes, devices and control group.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use slob_engine::Clues;
use slob_host::{CpuSplit, Device, FamilyIo, Group, ProcessIo, free_space, process_clock};
use slob_stats::Merge;

use crate::find::{self, Candidate, children, process, started, stat};
use crate::sample::{FoundServer, ServerFigures, ServerSample};

/// Each takes a file, so processes of larger families take turns.
const TICKS_READ: usize = 64;

#[derive(Debug)]
pub(crate) struct Server {
    clues: Clues,
    pub(crate) found: FoundServer,
    times_found: u32,
    started: u64,
    /// `None` after a restart, when sessions may be among them.
    background: Option<BTreeSet<u32>>,
    group: Option<Group>,
    processes: BTreeMap<u32, ProcessCpu>,
    /// The next sample reads its ticks first.
    turn: usize,
    cpu: CpuSplit,
    sessions_cpu: CpuSplit,
    family_io: Option<FamilyIo>,
    io: Option<ProcessIo>,
}

#[derive(Clone, Copy, Debug)]
struct ProcessCpu {
    cpu: CpuSplit,
    ticks: (u64, u64),
}

impl Server {
    pub(crate) fn find(clues: Clues) -> Result<Self, String> {
        let found = find::find(&clues)?;
        let (Candidate { pid, name, started, .. }, how) = (found.candidate, found.how);
        let mut lacking = Vec::from_iter(found.lacking);
        let data_path = clues.data.as_deref().and_then(|path| absolute(pid, path));
        let data = match &data_path {
            Some(path) => device(pid, path),
            None if clues.data.is_some() => Err(format!(
                "this account may not inspect process {pid}: run as root or as the server's account"
            )),
            None => Err("the server does not say where they are".to_owned()),
        };
        let data =
            data.map_err(|why| lacking.push(format!("The device behind the data is not known: {why}."))).ok();
        // A missing log takes nothing from the figures of the data.
        let log = clues.log.as_deref().and_then(|path| device(pid, &absolute(pid, path)?).ok());
        let log = log.filter(|log| data.as_ref().is_some_and(|data| data.stack != log.stack));
        let group = Group::of_process(pid);
        let path = data_path.as_deref().and_then(|path| on_this_host(pid, path));
        if data_path.is_some() && path.is_none() {
            let why = "The server's files are in a mount namespace that this account may not enter, so their free space is not known: run as root or as the server's account.";
            lacking.push(why.to_owned());
        }
        let free_bytes = path.as_deref().and_then(|path| free_space(path).ok());
        let (limits, cpus_allowed) = (group.as_ref().map(Group::limits), cpus_allowed(pid));
        lacking.extend(clues.small_pages.clone().filter(|_| huge_pages_kib(pid) == Some(0)));
        let found =
            FoundServer { pid, name, how, data, log, path, free_bytes, limits, cpus_allowed, lacking };
        let mut server = Self {
            clues,
            found,
            times_found: 1,
            started,
            background: None,
            group,
            processes: BTreeMap::new(),
            turn: 0,
            cpu: CpuSplit::default(),
            sessions_cpu: CpuSplit::default(),
            family_io: None,
            io: Some(ProcessIo::default()),
        };
        let pids = server.processes();
        server.background = Some(pids.iter().copied().collect());
        server.add_cpu(&pids);
        server.family_io = FamilyIo::read(pids);
        // The sums begin now.
        (server.cpu, server.sessions_cpu) = Default::default();
        if server.family_io.is_none() {
            server.found.lacking.push(format!("This account may not read what the server's processes read (/proc/{pid}/io): run as root or as the server's account."));
        }
        Ok(server)
    }

    /// `None` if it is not running. A restarted server is found by the same clues.
    pub(crate) fn sample(&mut self, edge: bool) -> Option<ServerSample> {
        if started(self.found.pid) != Some(self.started) {
            self.find_again()?;
        }
        let counters = |device: &Option<Device>| device.as_ref()?.counters().ok()?;
        let (data, log) = (counters(&self.found.data), counters(&self.found.log));
        let group = self.group.as_ref().map(Group::used);
        let pids = self.processes();
        self.add_cpu(&pids);
        if edge {
            self.add_io(&pids);
        }
        let has_sessions = self.clues.has_children && self.background.is_some();
        let figures = ServerFigures {
            cpu: Some(self.cpu),
            sessions_cpu: has_sessions.then_some(self.sessions_cpu),
            io: self.io.filter(|_| edge),
            data,
            log,
            group,
        };
        let processes = u32::try_from(pids.len()).unwrap_or(u32::MAX);
        Some(ServerSample { processes, found: self.times_found, figures })
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        let pid = self.found.pid;
        let children = if self.clues.has_children { children(pid) } else { Vec::new() };
        children.into_iter().chain([pid]).collect()
    }

    pub(crate) fn log_files(&self) -> impl Iterator<Item = PathBuf> {
        let pid = self.found.pid;
        let on_this_host = move |path: &PathBuf| on_this_host(pid, &absolute(pid, path)?);
        self.clues.log_files.iter().filter_map(on_this_host)
    }

    /// The sums go on, with the new process from its start.
    fn find_again(&mut self) -> Option<()> {
        // Age and child were those of the last process.
        let clues = Clues { age_s: None, child: None, ..self.clues.clone() };
        let again = find::find(&clues).ok().filter(|_| self.clues.pid.is_none())?.candidate;
        self.group = Group::of_process(again.pid);
        (self.found.pid, self.started) = (again.pid, again.started);
        self.times_found += 1;
        self.background = None;
        self.processes.clear();
        // Its I/O before this moment is unknown.
        (self.family_io, self.io) = (None, None);
        Some(())
    }

    fn add_cpu(&mut self, pids: &[u32]) {
        let mut now = BTreeMap::new();
        let first = self.turn;
        for (number, pid) in pids.iter().enumerate() {
            let before = self.processes.get(pid).copied();
            // A process that has just ended is unreadable.
            let Ok(total) = process_clock(*pid) else { continue };
            let is_its_turn = (number + pids.len() - first % pids.len()) % pids.len() < TICKS_READ;
            let ticks = match before {
                Some(process) if !is_its_turn => process.ticks,
                _ => stat(*pid).map_or((0, 0), |stat| (stat.utime, stat.stime)),
            };
            let cpu = CpuSplit::by_ticks(total, ticks.0, ticks.1);
            let used = before.map_or(cpu, |before| cpu.since(&before.cpu));
            self.cpu.merge(&used);
            if self.background.as_ref().is_some_and(|background| !background.contains(pid)) {
                self.sessions_cpu.merge(&used);
            }
            now.insert(*pid, ProcessCpu { cpu, ticks });
        }
        self.turn = first.wrapping_add(TICKS_READ);
        self.processes = now;
    }

    /// One unknown interval makes the sum unknown.
    fn add_io(&mut self, pids: &[u32]) {
        let now = FamilyIo::read(pids.iter().copied());
        let since = self.family_io.as_ref().and_then(|before| now.as_ref()?.since(before));
        self.io = self.io.zip(since).map(|(mut sum, since)| {
            sum.merge(&since);
            sum
        });
        self.family_io = now;
    }
}

/// Relative paths start at its working directory.
fn absolute(pid: u32, path: &Path) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.to_path_buf());
    }
    let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
    let (cwd, root) = (link("cwd")?, link("root")?);
    let within = cwd.strip_prefix(&root).ok()?;
    let parts = path.components().filter(|part| *part != Component::CurDir);
    Some(Path::new("/").join(within).join(parts.collect::<PathBuf>()))
}

/// This process reaches another one's file by it, if it may.
fn on_this_host(pid: u32, path: &Path) -> Option<PathBuf> {
    if shares_mounts(pid) {
        return Some(path.to_path_buf());
    }
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    root.metadata().ok()?;
    Some(root.join(path.strip_prefix("/").unwrap_or(path)))
}

/// Processes that share mounts see the same device.
fn device(pid: u32, path: &Path) -> Result<Device, String> {
    let theirs = Device::behind_seen_by(pid, path);
    theirs.or_else(|error| match Device::behind(path) {
        Ok(device) if shares_mounts(pid) => Ok(device),
        _ => Err(error.to_string()),
    })
}

/// The mount table is readable even for other accounts.
fn shares_mounts(pid: u32) -> bool {
    let (theirs, own) = (format!("/proc/{pid}"), "/proc/self");
    let link = |process: &str, name: &str| fs::read_link(format!("{process}/{name}")).ok();
    let table = |process: &str| fs::read(format!("{process}/mountinfo")).ok();
    match link(&theirs, "ns/mnt").zip(link(&theirs, "root")) {
        Some((mounts, root)) => Some(mounts) == link(own, "ns/mnt") && Some(root) == link(own, "root"),
        None => table(&theirs).is_some_and(|mounts| Some(mounts) == table(own)),
    }
}

fn huge_pages_kib(pid: u32) -> Option<u64> {
    process(pid)?.status().ok()?.hugetlbpages
}

fn cpus_allowed(pid: u32) -> Option<u32> {
    let mask = process(pid)?.status().ok()?.cpus_allowed?;
    Some(mask.into_iter().map(u32::count_ones).sum()).filter(|cpus| *cpus > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load was refused, as /proc itself has no free space.
    #[test]
    fn files_below_a_root_that_this_account_may_not_enter_have_no_path() {
        let data = Path::new("/var/lib/mysql");
        assert_eq!(on_this_host(std::process::id(), data).as_deref(), Some(data));
        // A process that is gone is as closed as one of another account.
        assert_eq!(on_this_host(u32::MAX, data), None);
    }
}
