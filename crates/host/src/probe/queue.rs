//! What the asynchronous interfaces have in common.

use std::io;

/// A completed request.
pub(super) struct Completion {
    /// Which of the queue's slots is free again.
    pub(super) slot: usize,
    /// Bytes read.
    pub(super) result: io::Result<usize>,
}

impl Completion {
    /// From the kernel's result: bytes, or a negative error number.
    pub(super) fn new(slot: usize, result: i64) -> Self {
        let result = match usize::try_from(result) {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EIO))),
        };
        Self { slot, result }
    }
}

/// Reads of one block each, many in flight. The queue has a number of slots, each with a buffer of its own; a slot
/// holds one request at a time. Dropping a queue waits for what is in flight.
pub(super) trait ReadQueue {
    /// Prepares a read at `offset` into the buffer of a free `slot`.
    ///
    /// # Panics
    /// The slot still has a request in flight.
    fn prepare(&mut self, slot: usize, offset: u64) -> io::Result<()>;

    /// Submits what is prepared, waits for at least one completion, and adds all there are to `completed`.
    fn submit_and_wait(&mut self, completed: &mut Vec<Completion>) -> io::Result<()>;
}
