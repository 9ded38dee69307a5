//! What only the server can have.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use procfs::net::TcpState;
use procfs::process::{FDTarget, Process};
use rustix::fs::OFlags;
use slob_engine::Clues;

use super::process::{Candidate, children, own_number};

/// By what a process is known as the server, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Its child serves a connection of ours, by the number that the server told.
    Child,
    /// Its own number is in the server's pid file.
    PidFile,
    /// It listens on the server's port, in the network that it is in.
    Port,
    /// It listens on the server's unix socket.
    Socket,
}

impl Evidence {
    pub(super) fn words(self, clues: &Clues) -> String {
        match self {
            Self::Child => "by the process that serves a connection".into(),
            Self::PidFile => "by its pid file".into(),
            Self::Port => format!("by the port {} that it listens on", clues.port.unwrap_or_default()),
            Self::Socket => "by the unix socket that it listens on".into(),
        }
    }
}

/// The strongest evidence that there is; `None` if there is none, or this account may not see it.
pub(super) fn of(candidate: &Candidate, clues: &Clues) -> Option<Evidence> {
    let pid = candidate.pid;
    let serves = |child: u32| children(pid).into_iter().any(|one| own_number(one) == Some(child));
    if clues.child.is_some_and(serves) {
        return Some(Evidence::Child);
    }
    // A server with a process for each session told one: without it among the children it is another server.
    if clues.child.is_some() {
        return None;
    }
    if clues.pid_file.as_deref().is_some_and(|file| is_in_file(pid, file)) {
        return Some(Evidence::PidFile);
    }
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok())?;
    let sockets = sockets_of(&process);
    if clues.port.is_some_and(|port| listens_on_port(&process, &sockets, port)) {
        return Some(Evidence::Port);
    }
    let socket = clues.socket.as_deref()?;
    (listens_on_socket(&process, &sockets, socket) || is_peer(pid, socket)).then_some(Evidence::Socket)
}

/// Whether the connection that the server told of is in the network that the process is in.
pub(super) fn has_connection(candidate: &Candidate, clues: &Clues) -> bool {
    let Some((server, client)) = clues.port.zip(clues.client_port) else { return false };
    let process = i32::try_from(candidate.pid).ok().and_then(|pid| Process::new(pid).ok());
    let tables = process.into_iter().flat_map(|process| [process.tcp(), process.tcp6()]);
    tables.flatten().flatten().any(|entry| {
        entry.state == TcpState::Established
            && entry.local_address.port() == server
            && entry.remote_address.port() == client
    })
}

/// The file is read as the process sees it, and holds its number as it knows itself.
fn is_in_file(pid: u32, file: &Path) -> bool {
    let read = || -> Option<String> {
        let opened = slob_host::open_within(pid, file, OFlags::RDONLY | OFlags::NONBLOCK).ok()?;
        let mut text = String::new();
        std::fs::File::from(opened).take(64).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let told = read().and_then(|text| text.lines().next()?.trim().parse::<u32>().ok());
    told.is_some() && told == own_number(pid)
}

/// The sockets that a process has open; none where it may not be looked at.
fn sockets_of(process: &Process) -> BTreeSet<u64> {
    let target = |fd: procfs::process::FDInfo| match fd.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    process.fd().into_iter().flatten().filter_map(|fd| target(fd.ok()?)).collect()
}

/// In the network of the process, which may be a container's.
fn listens_on_port(process: &Process, sockets: &BTreeSet<u64>, port: u16) -> bool {
    let tables = [process.tcp(), process.tcp6()];
    tables.into_iter().flatten().flatten().any(|entry| {
        entry.state == TcpState::Listen
            && entry.local_address.port() == port
            && sockets.contains(&entry.inode)
    })
}

fn listens_on_socket(process: &Process, sockets: &BTreeSet<u64>, path: &Path) -> bool {
    let table = process.unix().into_iter().flatten();
    table.into_iter().any(|entry| entry.path.as_deref() == Some(path) && sockets.contains(&entry.inode))
}

/// Who listens on the socket as this process sees it: for accounts that may use it, but not look at the server's process.
fn is_peer(pid: u32, path: &Path) -> bool {
    let Ok(stream) = UnixStream::connect(path) else { return false };
    let peer = rustix::net::sockopt::socket_peercred(&stream);
    peer.is_ok_and(|peer| peer.pid.as_raw_nonzero().get().unsigned_abs() == pid)
}
