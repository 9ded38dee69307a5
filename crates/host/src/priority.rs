//! The priority of this program's threads over a server on the same host.
//!
//! The kernel may share CPUs between groups of processes first (autogroups). Each process of a server is often a group of its own,
//! and this program with all its threads is one more. Its sessions then wait for a CPU while their servers have nothing to do.

use std::fs;
use std::io;

use rustix::process::{getpriority_process, setpriority_process};

/// Above everything that a server usually runs with, and below the kernel's own threads.
const NICE: i32 = -15;
const AUTOGROUP: &str = "/proc/self/autogroup";

/// Gives the calling thread priority. Fails without root or CAP_SYS_NICE.
pub fn raise_thread() -> io::Result<()> {
    setpriority_process(None, NICE).map_err(io::Error::from)
}

/// The priority of the calling thread and of the process's autogroup. Dropped, it restores both.
#[derive(Debug)]
pub struct Priority {
    thread: i32,
    /// `None` if the kernel has no autogroups, or the process is in a control group instead.
    autogroup: Option<String>,
}

impl Priority {
    /// Raises both. Fails without root or CAP_SYS_NICE; nothing is changed then.
    pub fn raise() -> io::Result<Self> {
        let thread = getpriority_process(None)?;
        raise_thread()?;
        let autogroup = nice_of_autogroup().filter(|_| fs::write(AUTOGROUP, NICE.to_string()).is_ok());
        Ok(Self { thread, autogroup })
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nice {NICE}{}", if self.autogroup.is_some() { ", of its autogroup too" } else { "" })
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        // Lower priorities are always granted.
        let _ = setpriority_process(None, self.thread);
        if let Some(nice) = &self.autogroup {
            let _ = fs::write(AUTOGROUP, nice);
        }
    }
}

/// The file's only line is `/autogroup-NUMBER nice NICE`.
fn nice_of_autogroup() -> Option<String> {
    let text = fs::read_to_string(AUTOGROUP).ok()?;
    Some(text.rsplit_once("nice ")?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_priority_is_restored() {
        let seen = || (getpriority_process(None).unwrap(), nice_of_autogroup());
        let before = seen();
        match Priority::raise() {
            Ok(raised) => {
                assert_eq!(seen().0, NICE);
                assert_eq!(raised.autogroup.is_some(), seen().1.as_deref() == Some("-15"));
                drop(raised);
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(seen(), before);
    }
}
