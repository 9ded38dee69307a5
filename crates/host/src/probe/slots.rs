//! The buffers of requests in flight: the one place where memory that the kernel writes to is owned.

// The memory is reached through raw pointers only, since the kernel writes to it while requests are in flight.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;

/// A number of slots, each with a page-aligned block that is either free or in flight. Memory is given back only
/// when nothing is in flight; otherwise it is leaked, since the kernel may still write to it.
pub(super) struct Slots {
    base: NonNull<u8>,
    layout: Layout,
    block_bytes: usize,
    busy: Vec<bool>,
    in_flight: usize,
}

impl Slots {
    /// `count` free slots of `block_bytes`, their memory already touched. Fails if there are no bytes to own.
    pub(super) fn new(count: usize, block_bytes: usize) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let bytes = count.checked_mul(block_bytes).filter(|bytes| *bytes > 0).ok_or_else(invalid)?;
        let layout = Layout::from_size_align(bytes, 4096).map_err(io::Error::other)?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the memory is `bytes` long and nobody else's. Writing it once keeps page faults out of the
        // measurement.
        unsafe { base.write_bytes(0xa5, bytes) };
        Ok(Self { base, layout, block_bytes, busy: vec![false; count], in_flight: 0 })
    }

    /// Length of each block.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// How many slots are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Takes a free slot. The block at the returned pointer is the caller's to hand to the kernel, until
    /// [`free`](Self::free).
    ///
    /// # Panics
    /// The slot is in flight already, or does not exist.
    pub(super) fn take(&mut self, slot: usize) -> *mut u8 {
        assert!(!self.busy[slot], "slot {slot} still has a request in flight");
        self.busy[slot] = true;
        self.in_flight += 1;
        // SAFETY: `slot` is below the number of slots (the index above checked it), so the block lies in the memory.
        unsafe { self.base.as_ptr().add(slot * self.block_bytes) }
    }

    /// Frees a slot: the kernel is done with its block. A slot that is not in flight (which only a fault of the
    /// kernel could report) is ignored.
    pub(super) fn free(&mut self, slot: usize) {
        if self.busy.get(slot) == Some(&true) {
            self.busy[slot] = false;
            self.in_flight -= 1;
        }
    }

    /// Frees all slots: the kernel is done with all blocks.
    pub(super) fn free_all(&mut self) {
        self.busy.fill(false);
        self.in_flight = 0;
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if self.in_flight == 0 {
            // SAFETY: allocated in `new` with this layout, and the kernel has no request on it any more.
            unsafe { dealloc(self.base.as_ptr(), self.layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_blocks_of_their_own() {
        let mut slots = Slots::new(3, 8192).unwrap();
        let blocks: Vec<usize> = (0..3).map(|slot| slots.take(slot) as usize).collect();
        assert!(blocks[0].is_multiple_of(4096));
        assert_eq!((blocks[1] - blocks[0], blocks[2] - blocks[1], slots.in_flight()), (8192, 8192, 3));
        slots.free(1);
        slots.free(1);
        slots.free(99);
        assert_eq!((slots.in_flight(), slots.take(1) as usize), (2, blocks[1]));
        slots.free_all();
        assert_eq!(slots.in_flight(), 0);
        assert!(Slots::new(0, 8192).is_err());
    }

    #[test]
    #[should_panic = "still has a request in flight"]
    fn a_slot_in_flight_is_not_given_twice() {
        let mut slots = Slots::new(1, 512).unwrap();
        slots.take(0);
        slots.take(0);
    }
}
