//! Recording takes no memory beyond what the histogram took at the start.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use slob_stats::{Histogram, SharedHistogram};

thread_local! {
    // Per thread, so that the test harness's own threads do not count.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system allocator; the counter is a plain cell of this
// thread that never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`, and `alloc` used the same allocator.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Only this thread's.
fn allocated_by<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    let result = work();
    (result, ALLOCATED.get() - before)
}

#[test]
fn a_histogram_takes_its_memory_once_and_only_if_it_is_used() {
    let (mut histogram, at_start) = allocated_by(|| {
        let mut empty = Histogram::new();
        empty.merge(&Histogram::new());
        empty
    });
    assert_eq!(at_start, 0);
    let ((), first) = allocated_by(|| histogram.record(1));
    assert!((18_000..20_000).contains(&first), "{first} bytes");
    let other = histogram.clone();
    let ((), later) = allocated_by(|| {
        (0..64).for_each(|bit| histogram.record(1 << bit));
        histogram.record_n(u64::MAX, 9);
        histogram.merge(&other);
        assert!(histogram.percentile(99.0).is_some());
        histogram.clear();
    });
    assert_eq!(later, 0);
}

#[test]
fn a_shared_histogram_takes_its_memory_once() {
    let (histogram, at_start) = allocated_by(SharedHistogram::new);
    assert!((18_000..20_000).contains(&at_start), "{at_start} bytes");
    let ((), later) = allocated_by(|| (0..64).for_each(|bit| histogram.record(1 << bit)));
    assert_eq!(later, 0);
}
