//! Talk on stderr, which waits while a dashboard has the screen.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use slob_record::with_hidden_shown;

/// Lines that wait until a dashboard leaves the screen.
static HELD_BACK: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn held_back() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn hold_back() {
    held_back().get_or_insert_default();
}

pub(crate) fn is_held_back() -> bool {
    held_back().is_some()
}

pub(crate) fn release(ready: impl FnOnce()) {
    let Some(lines) = held_back().take() else { return };
    ready();
    lines.iter().for_each(|line| say(line));
}

/// A dashboard delays the line. Errors are ignored.
pub fn say(line: &str) {
    if let Some(lines) = held_back().as_mut() {
        return lines.push(line.to_owned());
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}", with_hidden_shown(line));
}

pub fn is_interactive() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

pub(crate) fn takes_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// An empty variable is none.
pub(crate) fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
