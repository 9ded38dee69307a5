//! Panics of the driver, which are told as errors.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// Where the driver panicked, and what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Panicked {
    /// The file in the driver's source, and the line.
    pub(super) place: String,
    /// Its words.
    pub(super) words: String,
}

thread_local! {
    /// Whether this thread is in a call that is guarded: nothing of its panics is printed.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Does something in which the driver may panic.
///
/// # Errors
/// If it did.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| if GUARDED.get() { remember(info) } else { before(info) }));
    });
    let outer = GUARDED.replace(true);
    // What a panic leaves half done is not looked at again: its connection is closed.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.map_err(|_| LAST.take().unwrap_or_default())
}

fn remember(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|place| format!("{}:{}", short(place.file()), place.line()));
    let payload = info.payload();
    let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    LAST.set(Some(Panicked { place: place.unwrap_or_default(), words }));
}

/// A file within the driver's source, not where that lies on the machine that built this program.
fn short(file: &str) -> &str {
    file.rsplit_once("/src/").map_or(file, |(_, file)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_place() {
        assert_eq!(guarded(|| 7), Ok(7));
        let panicked = guarded(|| -> () { panic!("said so") }).unwrap_err();
        assert_eq!(panicked.words, "said so");
        assert!(panicked.place.starts_with("thin/guard.rs:"), "{panicked:?}");
        assert!(!GUARDED.get());
    }
}
