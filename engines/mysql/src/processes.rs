//! The server's process, when it runs on this machine.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use mysql::Conn;
use mysql::prelude::Queryable;
use procfs::Current;
use procfs::process::Process;
use slob_engine::EngineError;

use crate::error::failed;

/// The server's uptime is in whole seconds, and its clock may have been set since.
const SAME_START_S: f64 = 5.0;

/// The server's process; `None` if it is not one of this machine that can be seen, as when the server is in another
/// container.
///
/// # Errors
/// If the server can't be asked.
pub(crate) fn server_process(conn: &mut Conn) -> Result<Option<u32>, EngineError> {
    let fail = |error: mysql::Error| failed("asking for the server's process", &error);
    let places: Option<(String, String, String)> =
        conn.query_first("SELECT @@pid_file, @@datadir, @@socket").map_err(fail)?;
    let uptime: Option<(String, f64)> = conn.query_first("SHOW GLOBAL STATUS LIKE 'Uptime'").map_err(fail)?;
    let (Some((pid_file, datadir, socket)), Some((_, uptime))) = (places, uptime) else { return Ok(None) };
    let in_data = |path: &str| Path::new(&datadir).join(path);
    let found = of_file(&in_data(&pid_file)).or_else(|| of_socket(&in_data(&socket)));
    Ok(found.filter(|pid| started_with(*pid, uptime).unwrap_or(false)))
}

fn of_file(path: &PathBuf) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Who listens on the server's unix socket: for accounts that may use it, but not read the other file.
fn of_socket(path: &PathBuf) -> Option<u32> {
    let stream = UnixStream::connect(path).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Whether a process is a server that is as old as this one says it is.
fn started_with(pid: u32, uptime: f64) -> Option<bool> {
    let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    let since_boot = procfs::Uptime::current().ok()?.uptime;
    let age = since_boot - stat.starttime as f64 / procfs::ticks_per_second() as f64;
    let is_server = ["mariadbd", "mysqld"].iter().any(|name| stat.comm.starts_with(name));
    Some(is_server && (age - uptime).abs() < SAME_START_S)
}
