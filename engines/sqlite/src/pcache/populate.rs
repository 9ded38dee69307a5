//! Giving a cache its memory before it is needed.
//!
//! A page of memory that is touched for the first time costs a fault, and the faults of many threads queue up for the
//! same lock of the process. In the first seconds of a test that would be measured as time of the database. SQLite
//! gives no way to tell a cache anything but its size, so the wish goes along the thread that makes it.

use std::cell::Cell;

thread_local! {
    static PAGES: Cell<u32> = const { Cell::new(0) };
}

/// Restores the wish of before, even if the work panics.
struct Restore(u32);

impl Drop for Restore {
    fn drop(&mut self) {
        PAGES.set(self.0);
    }
}

/// Does some work. Memory that caches of this thread take meanwhile is populated at once, up to that many pages of
/// each piece.
pub(crate) fn populating<T>(pages: u32, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(PAGES.replace(pages));
    work()
}

/// How many pages of a new piece of memory are to be populated.
pub(super) fn pages() -> u32 {
    PAGES.get()
}
