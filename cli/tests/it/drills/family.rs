//! A server's processes, killed as a power failure would.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

pub(crate) fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).unwrap()
}

pub(crate) fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
        after_name == Some(&parent.to_string())
    };
    let names = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.to_string_lossy().parse().ok()).filter(is_child).collect()
}

/// Kills a process and all its children, none of which gets to do anything any more.
pub(crate) fn kill_family(parent: u32) {
    kill_process(pid(parent), Signal::STOP).unwrap();
    for child in children(parent) {
        let _ = kill_process(pid(child), Signal::KILL);
    }
    kill_process(pid(parent), Signal::KILL).unwrap();
}
