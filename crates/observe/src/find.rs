//! Finding a server among the processes of this host, in any namespace.
//!
//! Name and age must fit, with evidence that no other process has, such as the child of a connection or the listening port.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use procfs::Current;
use procfs::net::TcpState;
use procfs::process::{FDTarget, Process, Stat, all_processes};
use rustix::fs::OFlags;
use slob_engine::Clues;

/// Its clock may have been set since, and counts whole seconds.
const SAME_START_S: f64 = 5.0;
/// A server begins to count when it has opened its files, which a slow disk holds up.
const STARTING_S: f64 = 60.0;

pub(crate) struct FirstProcess {
    pub(crate) candidate: Candidate,
    /// The words follow 'found'.
    pub(crate) how: String,
    /// This account can't read such evidence.
    pub(crate) lacking: Option<String>,
}

/// The error is a sentence on the missing evidence and its remedy.
pub(crate) fn find(clues: &Clues) -> Result<FirstProcess, String> {
    if let Some(pid) = clues.pid {
        return named_by_user(pid, clues);
    }
    if clues.names.is_empty() {
        return Err(
            "nothing is known that the server's processes could be told by: name its process (pid:N)".into(),
        );
    }
    let named = Candidate::named(&clues.names);
    if named.is_empty() {
        return Err(none_named(clues));
    }
    let older_by = |most_s: f64| -> Vec<&Candidate> {
        let fits = |age_s: f64, own_s: f64| (-SAME_START_S..=most_s).contains(&(own_s - age_s));
        named.iter().filter(|own| clues.age_s.is_none_or(|age_s| fits(age_s, own.age_s))).collect()
    };
    let mut fitting = older_by(SAME_START_S);
    if fitting.is_empty() {
        fitting = older_by(STARTING_S);
    }
    if fitting.is_empty() {
        let (first, n, age_s) = (&named[0].name, named.len(), clues.age_s.unwrap_or_default());
        let are = if n == 1 { "one process is".to_owned() } else { format!("{n} processes are") };
        return Err(format!(
            "{are} named {first} there, but none was started {age_s:.0} s ago, as the server says that it was: it runs elsewhere, or \
             where this account does not see it; name its host (--observe ssh:HOST) or its process (pid:N)"
        ));
    }
    let known: Vec<(Evidence, &Candidate)> =
        fitting.iter().filter_map(|candidate| Some((Evidence::of(candidate, clues)?, *candidate))).collect();
    let strongest = known.iter().map(|(evidence, _)| *evidence).min();
    let best: Vec<_> = known.iter().filter(|(evidence, _)| Some(*evidence) == strongest).collect();
    // Two containers that started together share many numbers, but only one has the connection.
    let connected: Vec<_> =
        best.iter().filter(|(_, candidate)| has_connection(candidate, clues)).copied().collect();
    let best = if best.len() > 1 && connected.len() == 1 { connected } else { best };
    match (best.first(), best.get(1)) {
        (Some((evidence, candidate)), None) => {
            Ok(FirstProcess { candidate: (*candidate).clone(), how: evidence.words(clues), lacking: None })
        }
        (Some((_, one)), Some((_, other))) => Err(format!(
            "several processes could be the server, such as {} and {}: name it (pid:N)",
            one.pid, other.pid
        )),
        (None, _) => Err(format!(
            "process {} ({}) may be the server, but this account sees none of its sockets and files: run as root or as the \
             server's account, or name it (pid:{})",
            fitting[0].pid, fitting[0].name, fitting[0].pid
        )),
    }
}

/// Fails if the process is known to be another one.
fn named_by_user(pid: u32, clues: &Clues) -> Result<FirstProcess, String> {
    let candidate = stat(pid).as_ref().and_then(Candidate::of);
    let candidate = candidate.ok_or_else(|| format!("there is no process {pid} on this host"))?;
    let (name, how) = (candidate.name.clone(), "as the process that was named".to_owned());
    // The clues name no processes, or this program is the database.
    if clues.names.is_empty() {
        return Ok(FirstProcess { candidate, how, lacking: None });
    }
    // Evidence needs sockets and files of the process.
    let may_inspect = || process(pid).is_some_and(|process| process.fd().is_ok());
    match Evidence::of(&candidate, clues) {
        Some(evidence) => Ok(FirstProcess {
            candidate,
            how: format!("{how}, and {}", evidence.words(clues)),
            lacking: None,
        }),
        None if clues.child.is_some() || may_inspect() => Err(format!(
            "process {pid} ({name}) is not the server: it neither serves this program's connection nor listens where the server does; \
             name the server's first process, or use --observe auto"
        )),
        None => {
            let lacking = Some(format!(
                "This account could not check that process {pid} ({name}) is the server: run as root or as the server's account."
            ));
            Ok(FirstProcess { candidate, how, lacking })
        }
    }
}

fn none_named(clues: &Clues) -> String {
    let names = clues.names.join(" or ");
    // With hidepid an account sees only its own processes, and never process 1.
    if started(1).is_none() {
        return format!("no process named {names} is seen, nor any other account's: run as root");
    }
    format!(
        "no process named {names} is seen there; if the server is on another host, name that one (--observe ssh:HOST)"
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) pid: u32,
    pub(crate) name: String,
    age_s: f64,
    /// Ticks from boot to its start tell apart two processes with one number.
    pub(crate) started: u64,
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

    /// Leaves out children, which serve sessions, and scripts that start a server.
    fn named(names: &[String]) -> Vec<Self> {
        let is_named = |stat: &Stat| names.iter().any(|name| stat.comm.starts_with(name.as_str()));
        let named: Vec<Stat> = all_stats().filter(is_named).collect();
        let all: Vec<Place<'_>> =
            named.iter().map(|stat| (stat.pid, stat.ppid, stat.comm.as_str())).collect();
        named
            .iter()
            .zip(&all)
            .filter(|(_, place)| is_first(place, &all))
            .filter_map(|(stat, _)| Self::of(stat))
            .collect()
    }
}

/// A process, its parent, and its name.
type Place<'a> = (i32, i32, &'a str);

/// A child of the same name serves sessions. The parent of another name is a script that starts the server.
fn is_first((pid, parent, name): &Place<'_>, all: &[Place<'_>]) -> bool {
    let serves_sessions = all.iter().any(|other| other.0 == *parent && other.2 == *name);
    let starts_server = all.iter().any(|other| other.1 == *pid && other.2 != *name);
    !serves_sessions && !starts_server
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// Its child serves our connection.
    Child,
    PidFile,
    /// It listens in its own network namespace.
    Port,
    Socket,
}

impl Evidence {
    /// `None` without evidence, or if this account can't read it.
    fn of(candidate: &Candidate, clues: &Clues) -> Option<Self> {
        let pid = candidate.pid;
        if let Some(child) = clues.child {
            // A server with a process for each session has this child; others are another server.
            return children(pid)
                .into_iter()
                .any(|one| own_number(one) == Some(child))
                .then_some(Self::Child);
        }
        if clues.pid_file.as_deref().is_some_and(|file| is_in_file(pid, file)) {
            return Some(Self::PidFile);
        }
        let process = process(pid)?;
        let sockets = sockets_of(&process);
        let listens = |port: u16| {
            has_tcp_entry(&process, |entry| {
                entry.state == TcpState::Listen
                    && entry.local_address.port() == port
                    && sockets.contains(&entry.inode)
            })
        };
        if clues.port.is_some_and(listens) {
            return Some(Self::Port);
        }
        let path = clues.socket.as_deref()?;
        let is_its = |entry: procfs::net::UnixNetEntry| {
            entry.path.as_deref() == Some(path) && sockets.contains(&entry.inode)
        };
        let listens = process.unix().into_iter().flatten().any(is_its);
        (listens || is_peer(pid, path)).then_some(Self::Socket)
    }

    fn words(self, clues: &Clues) -> String {
        match self {
            Self::Child => "by the process that serves a connection".into(),
            Self::PidFile => "by its pid file".into(),
            Self::Port => format!("by the port {} that it listens on", clues.port.unwrap_or_default()),
            Self::Socket => "by the unix socket that it listens on".into(),
        }
    }
}

/// The network namespace has the connection that the server reports.
fn has_connection(candidate: &Candidate, clues: &Clues) -> bool {
    let Some((server, client)) = clues.port.zip(clues.client_port) else { return false };
    process(candidate.pid).is_some_and(|process| {
        has_tcp_entry(&process, |entry| {
            entry.state == TcpState::Established
                && entry.local_address.port() == server
                && entry.remote_address.port() == client
        })
    })
}

/// The network namespace may be a container's.
fn has_tcp_entry(process: &Process, is_it: impl Fn(&procfs::net::TcpNetEntry) -> bool) -> bool {
    [process.tcp(), process.tcp6()].into_iter().flatten().flatten().any(|entry| is_it(&entry))
}

/// Path and number are as the process sees them.
fn is_in_file(pid: u32, file: &Path) -> bool {
    let read = || -> Option<u32> {
        let opened = slob_host::open_within(pid, file, OFlags::RDONLY | OFlags::NONBLOCK).ok()?;
        let mut text = String::new();
        std::fs::File::from(opened).take(64).read_to_string(&mut text).ok()?;
        text.lines().next()?.trim().parse().ok()
    };
    let number = read();
    number.is_some() && number == own_number(pid)
}

/// Empty if the process is unreadable.
fn sockets_of(process: &Process) -> BTreeSet<u64> {
    let inode = |fd: procfs::process::FDInfo| match fd.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    process.fd().into_iter().flatten().filter_map(|fd| inode(fd.ok()?)).collect()
}

/// Accounts may use a socket of a process that they can't inspect.
fn is_peer(pid: u32, path: &Path) -> bool {
    let Ok(stream) = UnixStream::connect(path) else { return false };
    let peer = rustix::net::sockopt::socket_peercred(&stream);
    peer.is_ok_and(|peer| peer.pid.as_raw_nonzero().get().unsigned_abs() == pid)
}

/// Its innermost pid namespace has this number.
fn own_number(pid: u32) -> Option<u32> {
    let numbers = process(pid)?.status().ok()?.nspid?;
    u32::try_from(*numbers.last()?).ok()
}

/// The kernel may have a list.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let listed = process(pid).and_then(|process| process.task_main_thread().ok()?.children().ok());
    listed.unwrap_or_else(|| {
        let children = all_stats().filter(|stat| stat.ppid.unsigned_abs() == pid);
        children.filter_map(|stat| u32::try_from(stat.pid).ok()).collect()
    })
}

/// `None` if it has ended.
pub(crate) fn started(pid: u32) -> Option<u64> {
    stat(pid).map(|stat| stat.starttime)
}

pub(crate) fn process(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    process(pid)?.stat().ok()
}

fn all_stats() -> impl Iterator<Item = Stat> {
    all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script passed for the server, which was not found.
    #[test]
    fn a_script_that_starts_a_server_is_not_the_server() {
        let all = [(10, 1, "db_safe"), (11, 10, "dbd"), (20, 1, "db"), (21, 20, "db"), (30, 1, "dbd")];
        let first: Vec<i32> = all.iter().filter(|place| is_first(place, &all)).map(|place| place.0).collect();
        assert_eq!(first, [11, 20, 30]);
    }
}
