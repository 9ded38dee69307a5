//! Starting a server on a free port, and waiting until it serves.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process::Process;

/// How long a server may take to start, and what is in its way to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a log that an error shows.
const LAST_LINES: usize = 8;

/// Starts on `fixed`, or on a free port; again if it fails with words that say that it may succeed when it is repeated: the
/// port was taken by somebody else a moment ago, or processes of a server that was killed are still ending.
///
/// # Errors
/// Of `start`.
pub(crate) fn on_a_port(
    fixed: Option<u16>,
    passing: &[&str],
    start: impl Fn(u16) -> Result<Process, String>,
) -> Result<(Process, u16), String> {
    let begun = Instant::now();
    loop {
        let port = fixed.map_or_else(free_port, Ok)?;
        match start(port) {
            Ok(process) => return Ok((process, port)),
            Err(error)
                if begun.elapsed() > PATIENCE || !passing.iter().any(|words| error.contains(words)) =>
            {
                return Err(error);
            }
            Err(_) => thread::sleep(Duration::from_millis(250)),
        }
    }
}

/// Waits until a process serves; one that does not is ended with `signal`.
///
/// # Errors
/// With the end of its log.
pub(crate) fn until_it_serves(
    process: Process,
    serves: impl Fn() -> bool,
    signal: Signal,
    log: &Path,
) -> Result<Process, String> {
    let limit = Instant::now() + PATIENCE;
    loop {
        if serves() {
            return Ok(process);
        }
        let ended = process.ends_within(Duration::from_millis(20));
        if ended || Instant::now() > limit {
            if !ended {
                process.end(signal);
            }
            return Err(format!("the server does not start:\n{}", last_lines(log)));
        }
    }
}

/// Runs a program to its end.
///
/// # Errors
/// With what it said, if it fails.
pub(crate) fn finish(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stdout, done.stderr].concat();
    Err(format!("{command:?}: {}\n{}", done.status, String::from_utf8_lossy(&said)))
}

/// What the log says of the last start.
pub(crate) fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// Whether a test is to be skipped because something is not installed; stderr says so.
///
/// # Panics
/// If it is not installed where `CI=true`.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn skip<T>(installed: Result<T, String>) -> bool {
    let Err(message) = installed else { return false };
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
    eprintln!("skipped: {message}");
    true
}
