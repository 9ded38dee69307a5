//! Memory for direct I/O.

/// Addresses that every device in use accepts; page-aligned memory also saves the kernel from splitting a block
/// over two pages.
const ALIGNMENT: usize = 4096;

/// Bytes whose first address is a multiple of 4 KiB, all of them already backed by memory (so that no page fault
/// falls into a measurement).
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    memory: Box<[u8]>, // never replaced, so the offset stays right
    offset: usize,
    len: usize,
}

impl AlignedBuffer {
    pub(crate) fn new(len: usize) -> Self {
        let memory = vec![0xa5; len + ALIGNMENT].into_boxed_slice();
        // Zeroes would come as untouched pages; any other byte makes the allocator's memory real.
        let offset = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, offset, len }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.memory[self.offset..self.offset + self.len]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.offset..self.offset + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_aligned_and_whole() {
        for len in [0, 1, 512, 4096, 8192, 1 << 20] {
            let mut buffer = AlignedBuffer::new(len);
            assert_eq!((buffer.as_slice().len(), buffer.as_mut_slice().len()), (len, len));
            assert_eq!(buffer.as_slice().as_ptr() as usize % ALIGNMENT, 0);
        }
    }
}
