//! A server that is looked at.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::Process;
use slob_engine::Clues;
use slob_host::{CpuSplit, Device, FamilyIo, Group, ProcessIo, free_space, process_clock};
use slob_stats::Merge;

use crate::find::{self, Identified, children, started};
use crate::place;
use crate::sight::{Found, ServerFigures, ServerSight};

/// Of so many processes at most the ticks are read in one look, which take a file each: those of larger families take turns.
const TICKS_READ: usize = 64;

/// A server, and what its processes did since it was found.
#[derive(Debug)]
pub(crate) struct Server {
    clues: Clues,
    identified: Identified,
    /// How often it was found.
    times_found: u32,
    /// Processes that were there when it was found; `None` after a restart, when sessions may be among them.
    background: Option<BTreeSet<u32>>,
    group: Option<Group>,
    data: Option<Device>,
    log: Option<Device>,
    members: BTreeMap<u32, Member>,
    turn: usize,
    cpu: CpuSplit,
    sessions_cpu: CpuSplit,
    /// As they were at the last edge.
    family_io: Option<FamilyIo>,
    io: Option<ProcessIo>,
}

/// A process as it was last seen.
#[derive(Clone, Copy, Debug)]
struct Member {
    cpu: CpuSplit,
    ticks: (u64, u64),
}

impl Server {
    /// Looks for it.
    ///
    /// # Errors
    /// With what is lacking.
    pub(crate) fn find(clues: Clues) -> Result<(Self, Found), String> {
        let identified = find::find(&clues)?;
        let pid = identified.pid;
        let mut lacking = Vec::new();
        let data = clues.data.as_deref().and_then(|path| place::absolute(pid, path));
        let path = data.as_deref().map(|path| place::on_this_host(pid, path));
        let data = device("data", pid, clues.data.is_some(), data.as_deref(), &mut lacking);
        // A log that can't be found is no loss of what is said of the data.
        let log = clues.log.as_deref().and_then(|path| place::device(pid, &place::absolute(pid, path)?).ok());
        let log = log.filter(|log| data.as_ref().is_some_and(|data| data.stack != log.stack));
        let group = Group::of_process(pid);
        let mut server = Self {
            background: None,
            group,
            data,
            log,
            members: BTreeMap::new(),
            turn: 0,
            cpu: CpuSplit::default(),
            sessions_cpu: CpuSplit::default(),
            family_io: None,
            io: Some(ProcessIo::default()),
            times_found: 1,
            identified,
            clues,
        };
        let pids = server.processes();
        server.background = Some(pids.iter().copied().collect());
        server.add_cpu(&pids);
        server.family_io = FamilyIo::read(pids);
        // What was used before is no part of what is added up.
        (server.cpu, server.sessions_cpu) = Default::default();
        if server.family_io.is_none() {
            lacking.push(format!("This account may not read what the server's processes read (/proc/{pid}/io): run as root or as the server's account."));
        }
        let found = Found {
            pid,
            name: server.identified.name.clone(),
            how: server.identified.how.clone(),
            data: server.data.clone(),
            log: server.log.clone(),
            free_bytes: path.as_deref().and_then(|path| Some(free_space(path).ok()?.free_bytes)),
            path,
            limits: server.group.as_ref().map(Group::limits),
            cpus_allowed: place::cpus_allowed(pid),
            lacking,
        };
        Ok((server, found))
    }

    /// How it stands; `None` if it is not there. One that was started again is found again, by the same clues.
    pub(crate) fn look(&mut self, edge: bool) -> Option<ServerSight> {
        if started(self.identified.pid) != Some(self.identified.started) {
            self.find_again()?;
        }
        let counters = |device: &Option<Device>| device.as_ref()?.counters().ok()?;
        let (data, log) = (counters(&self.data), counters(&self.log));
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
        Some(ServerSight { processes, found: self.times_found, figures })
    }

    /// Its processes: they are not others'.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let pid = self.identified.pid;
        let children = if self.clues.has_children { children(pid) } else { Vec::new() };
        children.into_iter().chain([pid]).collect()
    }

    /// After a restart: whatever it uses from its start on is added to what there is.
    fn find_again(&mut self) -> Option<()> {
        // Its age and the number of a connection's process were those of before.
        let clues = Clues { age_s: None, child: None, ..self.clues.clone() };
        let again = find::find(&clues).ok().filter(|_| self.clues.pid.is_none())?;
        self.group = Group::of_process(again.pid);
        self.identified = again;
        self.times_found += 1;
        self.background = None;
        self.members.clear();
        // What it read until it was seen is not known.
        (self.family_io, self.io) = (None, None);
        Some(())
    }

    fn add_cpu(&mut self, pids: &[u32]) {
        let mut now = BTreeMap::new();
        let first = self.turn;
        for (number, pid) in pids.iter().enumerate() {
            let before = self.members.get(pid).copied();
            // One that has just ended can't be read.
            let Ok(total) = process_clock(*pid) else { continue };
            let is_its_turn = (number + pids.len() - first % pids.len()) % pids.len() < TICKS_READ;
            let fresh = || ticks(*pid).unwrap_or_default();
            let ticks = match before {
                Some(member) if !is_its_turn => member.ticks,
                _ => fresh(),
            };
            let cpu = CpuSplit::by_ticks(total, ticks.0, ticks.1);
            let used = before.map_or(cpu, |before| cpu.since(&before.cpu));
            self.cpu.merge(&used);
            if self.background.as_ref().is_some_and(|background| !background.contains(pid)) {
                self.sessions_cpu.merge(&used);
            }
            now.insert(*pid, Member { cpu, ticks });
        }
        self.turn = first.wrapping_add(TICKS_READ);
        self.members = now;
    }

    /// From edge to edge. What can't be told of one such interval is not known of the sum.
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

fn device(
    what: &str,
    pid: u32,
    is_told: bool,
    path: Option<&std::path::Path>,
    lacking: &mut Vec<String>,
) -> Option<Device> {
    let found = match path {
        Some(path) => place::device(pid, path),
        None if is_told => {
            Err(format!("this account may not inspect process {pid}: run as root or as the server's account"))
        }
        None => Err("the server does not say where they are".to_owned()),
    };
    found.map_err(|why| lacking.push(format!("The device behind the {what} is not known: {why}."))).ok()
}

fn ticks(pid: u32) -> Option<(u64, u64)> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    Some((stat.utime, stat.stime))
}
