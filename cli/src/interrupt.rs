//! Ctrl-C: the first one ends the work in order, for which peers have some seconds; another one after a second ends the program.
//! Before the work, the first one ends the program.

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use slob_engine::wait_for_unfinished;

use crate::failure::{Failure, INTERRUPTED};
use crate::output;

/// A signal to a process and to its group arrives twice within milliseconds; a second wish comes later.
const SAME_WISH: Duration = Duration::from_secs(1);

/// Peers have so long after the first wish, and half of it more if a server's settings must be restored.
const IN_ORDER: Duration = Duration::from_secs(3);

/// Restoring the server gets so long when the user ends the program.
const LAST_CHANCE: Duration = Duration::from_secs(15);

static FLAGGED: AtomicBool = AtomicBool::new(false);

/// SIGHUP stays ignored under `nohup`. SIGINT does not: shells start background jobs with it ignored.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut signals = listen()?;
    FLAGGED.store(true, Ordering::Relaxed);
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::spawn(move || {
        let mut first: Option<Instant> = None;
        while signals.forever().next().is_some() {
            if first.is_some_and(|first| first.elapsed() > SAME_WISH) {
                slob_live::restore_terminal();
                finish(&mut signals);
                slob_host::end_programs();
                low_level::exit(i32::from(INTERRUPTED));
            }
            flag.store(true, Ordering::Relaxed);
            if first.is_none() {
                first = Some(Instant::now());
                // Without a thread, a peer that never answers needs a second Ctrl-C.
                let _ = thread::Builder::new().name("ending".into()).spawn(end_connections);
            }
        }
    });
    Ok(stop)
}

/// Calls that still wait for a peer then fail at once, and so do new attempts to connect.
fn end_connections() {
    thread::sleep(IN_ORDER);
    wait_for_unfinished(IN_ORDER / 2);
    loop {
        slob_host::end_connections();
        thread::sleep(Duration::from_millis(100));
    }
}

fn finish(signals: &mut Signals) {
    if wait_for_unfinished(Duration::ZERO) {
        return;
    }
    output::say("slob: restoring the server's settings; Ctrl-C again leaves them changed");
    let end = Instant::now() + LAST_CHANCE;
    let asked = Instant::now();
    while !wait_for_unfinished(Duration::from_millis(100)) && Instant::now() < end {
        if signals.pending().next().is_some() && asked.elapsed() > SAME_WISH {
            return;
        }
    }
}

fn listen() -> Result<Signals, Failure> {
    let heard = [SIGINT, SIGTERM, SIGQUIT].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP));
    Signals::new(heard).map_err(|error| failed!("listening for Ctrl-C: {error}"))
}

/// A signal during a question without echo restores the terminal first. After it, a signal ends the program until [`flag`]
/// handles it.
pub(crate) struct HiddenAnswer(Arc<AtomicBool>);

impl HiddenAnswer {
    pub(crate) fn begin() -> Result<Self, Failure> {
        let terminal = File::open("/dev/tty").ok();
        let as_it_was = terminal.and_then(|terminal| Some((tcgetattr(&terminal).ok()?, terminal)));
        let mut signals = listen()?;
        let asking = Arc::new(AtomicBool::new(true));
        let is_asking = Arc::clone(&asking);
        thread::spawn(move || {
            for _ in signals.forever() {
                if FLAGGED.load(Ordering::Relaxed) {
                    continue;
                }
                if let Some((as_it_was, terminal)) =
                    as_it_was.as_ref().filter(|_| is_asking.load(Ordering::Relaxed))
                {
                    give_back(terminal, as_it_was);
                }
                low_level::exit(i32::from(INTERRUPTED));
            }
        });
        Ok(Self(asking))
    }
}

impl Drop for HiddenAnswer {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

fn give_back(terminal: &File, as_it_was: &Termios) {
    // A closed terminal needs no restoring.
    let _ = tcsetattr(terminal, OptionalActions::Now, as_it_was);
    let _ = writeln!(io::stderr());
}

fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
