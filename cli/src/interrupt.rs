//! Ctrl-C: the first one ends the work in an orderly way, another one after a second ends the program.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::failure::{Failure, INTERRUPTED};
use crate::live;

/// A signal to a process and to its group comes twice, milliseconds apart; a person who means it waits longer.
const SAME_WISH: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM and SIGHUP set; SIGHUP not if the program was started to ignore it (`nohup`). Shells
/// start background jobs with SIGINT ignored, but who sends it to such a job means it.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let heard = [SIGINT, SIGTERM].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP));
    let mut signals =
        Signals::new(heard).map_err(|error| Failure::failed(format!("listening for Ctrl-C: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::spawn(move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            if first.is_some_and(|first| first.elapsed() > SAME_WISH) {
                live::restore_terminal();
                low_level::exit(i32::from(INTERRUPTED));
            }
            first.get_or_insert_with(Instant::now);
            flag.store(true, Ordering::Relaxed);
        }
    });
    Ok(stop)
}

/// Whether the program was started with a signal ignored; no, where that can't be read.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
