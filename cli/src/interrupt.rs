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

/// A signal to a process and to its group comes twice, milliseconds apart; a person who means it waits longer.
const SAME_WISH: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM and SIGHUP set, except those that the program was started to ignore (`nohup`).
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let ignored = ignored_signals();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals =
        Signals::new(heard).map_err(|error| Failure::failed(format!("listening for Ctrl-C: {error}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::spawn(move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            if first.is_some_and(|first| first.elapsed() > SAME_WISH) {
                low_level::exit(i32::from(INTERRUPTED));
            }
            first.get_or_insert_with(Instant::now);
            flag.store(true, Ordering::Relaxed);
        }
    });
    Ok(stop)
}

/// The mask of ignored signals, bit 0 for signal 1; none where it can't be read.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
