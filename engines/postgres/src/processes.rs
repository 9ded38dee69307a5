//! The server's processes, when it runs on this machine.

use std::path::PathBuf;

use postgres::Client;
use procfs::process::{Process, Stat, all_processes};
use slob_engine::EngineError;

use crate::catalog::get;
use crate::error::failed;

/// The server's clock and this machine's may be rounded differently, and the one may have been set since.
const SAME_START_S: f64 = 5.0;

/// The postmaster and all its children; `None` if the process that serves this connection is not one of this machine
/// that can be seen, as when the server is in another container.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn server_processes(client: &mut Client) -> Result<Option<Vec<u32>>, EngineError> {
    Ok(postmaster(client)?.and_then(family))
}

/// The folder that the postmaster works in, which is the data directory: for roles that may not ask for it. `None` where this
/// user may not look at the server's processes, or they are not seen.
pub(crate) fn working_directory(client: &mut Client) -> Option<PathBuf> {
    let folder = std::fs::read_link(format!("/proc/{}/cwd", postmaster(client).ok()??)).ok()?;
    folder.join("PG_VERSION").is_file().then_some(folder)
}

/// The parent of the process that serves this connection, if it is the server's first on this machine.
fn postmaster(client: &mut Client) -> Result<Option<i32>, EngineError> {
    let step = "asking for the server's processes";
    let row = client
        .query_one("SELECT pg_backend_pid(), extract(epoch FROM pg_postmaster_start_time())::float8", &[])
        .map_err(|error| failed(step, &error))?;
    let (backend, started): (i32, f64) = (get(&row, 0, step)?, get(&row, 1, step)?);
    let is_servers = |pid: &i32| {
        let began = stat(*pid).and_then(|stat| start_time(&stat));
        began.is_some_and(|began| (began - started).abs() <= SAME_START_S)
    };
    Ok(stat(backend).map(|backend| backend.ppid).filter(is_servers))
}

fn family(postmaster: i32) -> Option<Vec<u32>> {
    let children = all_processes().ok()?.filter_map(|process| process.ok()?.stat().ok());
    let children = children.filter(|child| child.ppid == postmaster).map(|child| child.pid);
    let mut pids: Vec<u32> = children.chain([postmaster]).map(i32::unsigned_abs).collect();
    pids.sort_unstable();
    Some(pids)
}

fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// In seconds since 1970.
fn start_time(stat: &Stat) -> Option<f64> {
    let boot = procfs::boot_time_secs().ok()?;
    Some(boot as f64 + stat.starttime as f64 / procfs::ticks_per_second() as f64)
}
