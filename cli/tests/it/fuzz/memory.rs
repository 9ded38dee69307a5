//! How much memory a test's thread holds at most.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Per thread, so that tests beside this one do not count. Signed: what another thread gave may be freed here.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn add(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    MOST.set(MOST.get().max(held));
}

// SAFETY: every call is passed on unchanged to the system allocator; the counters are plain cells of this thread that
// never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`, and `alloc` used the same allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that are held now.
pub(super) fn start() -> isize {
    MOST.set(HELD.get());
    HELD.get()
}

/// The most bytes held since then, beyond those held at `start`.
pub(super) fn most_since(start: isize) -> usize {
    usize::try_from(MOST.get() - start).unwrap_or(0)
}
