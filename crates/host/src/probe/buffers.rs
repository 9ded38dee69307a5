//! Memory for direct I/O: buffers of sessions, and of requests in flight.

use std::{io, mem};

/// All devices accept it, and the kernel does not split a page's block.
const ALIGNMENT: usize = 4096;

/// Backed by memory, so that no page fault falls into a measurement.
#[derive(Debug)]
pub(super) struct AlignedBuffer {
    memory: Vec<u8>, // never grown, so the offset stays right
    offset: usize,
    len: usize,
}

impl AlignedBuffer {
    pub(super) fn new(len: usize) -> Self {
        // Zeroes would come as untouched pages.
        let memory = vec![0xa5; len + ALIGNMENT];
        let offset = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, offset, len }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.offset..self.offset + self.len]
    }
}

/// The kernel may write to a block in flight, so memory is reached by raw pointer only, and leaked if a request is still in
/// flight at the end.
pub(super) struct Slots {
    memory: Option<AlignedBuffer>,
    base: *mut u8,
    block_bytes: usize,
    busy: Vec<bool>,
    in_flight: usize,
}

impl Slots {
    pub(super) fn new(count: usize, block_bytes: usize) -> io::Result<Self> {
        let bytes = count.checked_mul(block_bytes).filter(|bytes| *bytes > 0);
        let mut memory = AlignedBuffer::new(bytes.ok_or(io::ErrorKind::InvalidInput)?);
        let base = memory.as_mut_slice().as_mut_ptr();
        Ok(Self { memory: Some(memory), base, block_bytes, busy: vec![false; count], in_flight: 0 })
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The caller may hand the block to the kernel until [`free`](Self::free).
    ///
    /// # Panics
    /// The slot is in flight already, or does not exist.
    pub(super) fn take(&mut self, slot: usize) -> *mut u8 {
        assert!(!self.busy[slot], "slot {slot} still has a request in flight");
        self.busy[slot] = true;
        self.in_flight += 1;
        self.base.wrapping_add(slot * self.block_bytes)
    }

    /// Only a faulty kernel could report a free slot, which is ignored.
    pub(super) fn free(&mut self, slot: usize) {
        if self.busy.get(slot) == Some(&true) {
            self.busy[slot] = false;
            self.in_flight -= 1;
        }
    }

    pub(super) fn free_all(&mut self) {
        self.busy.fill(false);
        self.in_flight = 0;
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            mem::forget(self.memory.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_aligned_and_whole() {
        for len in [0, 1, 512, 4096, 8192, 1 << 20] {
            let mut buffer = AlignedBuffer::new(len);
            assert_eq!(buffer.as_mut_slice().len(), len);
            assert_eq!(buffer.as_mut_slice().as_ptr() as usize % ALIGNMENT, 0);
        }
    }

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
