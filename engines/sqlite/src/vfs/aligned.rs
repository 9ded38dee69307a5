//! Memory that direct I/O can use.

use std::mem::MaybeUninit;

/// What direct I/O asks of offset, length and memory. Disks want 512 or 4096; 4096 suits both, and database pages
/// of 4 KiB and more have it by nature.
pub(super) const ALIGN: usize = 4096;

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Block {
    _bytes: [MaybeUninit<u8>; ALIGN],
}

/// An aligned buffer.
pub(super) struct AlignedBuffer(Box<[Block]>);

impl AlignedBuffer {
    /// A buffer of `bytes`, rounded up to whole blocks.
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![Block { _bytes: [MaybeUninit::uninit(); ALIGN] }; bytes.div_ceil(ALIGN)].into_boxed_slice())
    }

    /// Its memory.
    pub(super) fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the blocks are contiguous, have no padding (their size is their alignment), and MaybeUninit
        // bytes may hold anything.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * ALIGN) }
    }
}

/// Copies `data` to the front of `buffer` and returns the copy.
///
/// # Panics
/// If the buffer is shorter.
pub(super) fn copy_in<'a>(buffer: &'a mut [MaybeUninit<u8>], data: &[u8]) -> &'a [u8] {
    let place = &mut buffer[..data.len()];
    // SAFETY: both slices have the same length and can't overlap; MaybeUninit<u8> and u8 have the same layout, and
    // after the copy every byte is initialised.
    unsafe {
        std::ptr::copy_nonoverlapping(data.as_ptr(), place.as_mut_ptr().cast::<u8>(), data.len());
        std::slice::from_raw_parts(place.as_ptr().cast::<u8>(), data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_whole_aligned_blocks_and_copies_are_copies() {
        for bytes in [0, 1, ALIGN, ALIGN + 1, 5 * ALIGN] {
            let mut buffer = AlignedBuffer::new(bytes);
            let memory = buffer.bytes();
            assert_eq!(memory.len(), bytes.div_ceil(ALIGN) * ALIGN);
            assert_eq!(memory.as_ptr().align_offset(ALIGN), 0);
            let data: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            assert_eq!(copy_in(memory, &data), data);
        }
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn what_does_not_fit_is_not_copied() {
        copy_in(AlignedBuffer::new(1).bytes(), &[0; ALIGN + 1]);
    }
}
