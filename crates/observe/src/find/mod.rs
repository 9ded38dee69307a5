//! Finding a server among the processes of this host, in whatever namespaces they are.
//!
//! A process is taken for the server only if it has the right name and age, and something that only the server can have: the
//! child that serves a connection, the number in the pid file, the port or the socket that is listened on. A tunnel that listens
//! on the server's port here is none.

mod evidence;
mod process;

use slob_engine::Clues;

use evidence::Evidence;
use process::Candidate;
pub(crate) use process::{children, started};

/// The server's clock may have been set since it started, and it tells whole seconds.
const SAME_START_S: f64 = 5.0;

/// A process that is the server's first one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Identified {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// In ticks after the boot: tells two processes apart that had the same number.
    pub(crate) started: u64,
    /// What it was known by, in words that follow 'found'.
    pub(crate) how: String,
}

/// Looks for a server.
///
/// # Errors
/// With a sentence that says what is lacking, and what would help.
pub(crate) fn find(clues: &Clues) -> Result<Identified, String> {
    if let Some(pid) = clues.pid {
        let process = process::of(pid).ok_or_else(|| format!("there is no process {pid} on this host"))?;
        return Ok(process.identified("as the process that was named".into()));
    }
    if clues.names.is_empty() {
        return Err(
            "nothing is known that the server's processes could be told by: name its process (pid:N)".into(),
        );
    }
    let named = process::named(&clues.names);
    if named.is_empty() {
        return Err(none_named(clues));
    }
    let fits = |candidate: &&Candidate| {
        clues.age_s.is_none_or(|age_s| (candidate.age_s - age_s).abs() <= SAME_START_S)
    };
    let fitting: Vec<&Candidate> = named.iter().filter(fits).collect();
    if fitting.is_empty() {
        return Err(of_another_age(&named, clues.age_s.unwrap_or_default()));
    }
    let known: Vec<(Evidence, &Candidate)> =
        fitting.iter().filter_map(|candidate| Some((evidence::of(candidate, clues)?, *candidate))).collect();
    let strongest = known.iter().map(|(evidence, _)| *evidence).min();
    let best: Vec<_> = known.iter().filter(|(evidence, _)| Some(*evidence) == strongest).collect();
    // In two containers that were started together much has the same number; a connection is in the network of one.
    let connected: Vec<_> =
        best.iter().filter(|(_, candidate)| evidence::has_connection(candidate, clues)).copied().collect();
    let best = if best.len() > 1 && connected.len() == 1 { connected } else { best };
    match (best.first(), best.get(1)) {
        (Some((evidence, candidate)), None) => Ok(candidate.identified(evidence.words(clues))),
        (Some((_, one)), Some((_, other))) => Err(format!(
            "several processes could be the server, such as {} and {}: name it (pid:N)",
            one.pid, other.pid
        )),
        (None, _) => Err(unproved(&fitting)),
    }
}

fn none_named(clues: &Clues) -> String {
    let names = clues.names.join(" or ");
    // With hidepid an account sees its own processes alone, and the first one is never among them.
    if started(1).is_none() {
        return format!("no process named {names} is seen, nor any other account's: run as root");
    }
    format!(
        "no process named {names} is seen there; if the server is on another host, name that one (--observe ssh:HOST)"
    )
}

fn of_another_age(named: &[Candidate], age_s: f64) -> String {
    let (first, n) = (&named[0], named.len());
    let are = if n == 1 { "one process is".to_owned() } else { format!("{n} processes are") };
    format!(
        "{are} named {} there, but none was started {age_s:.0} s ago, as the server says that it was: it runs elsewhere, or \
         where this account does not see it; name its host (--observe ssh:HOST) or its process (pid:N)",
        first.name
    )
}

fn unproved(fitting: &[&Candidate]) -> String {
    let pid = fitting[0].pid;
    format!(
        "process {pid} ({}) may be the server, but this account sees none of its sockets and files: run as root or as the \
         server's account, or name it (pid:{pid})",
        fitting[0].name
    )
}
