//! Reads through io_uring.

// The kernel writes to the buffers behind the compiler's back; the io-uring crate leaves that proof to its user.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use super::queue::{Completion, ReadQueue};
use super::slots::Slots;

/// A ring with one buffer for each slot.
pub(super) struct UringQueue<'a> {
    ring: IoUring,
    file: &'a File,
    slots: Slots,
}

impl<'a> UringQueue<'a> {
    /// A ring for `depth` reads of `block_bytes` from `file`. Fails where io_uring is not there or not permitted.
    pub(super) fn new(file: &'a File, depth: u32, block_bytes: usize) -> io::Result<Self> {
        // One thread submits and reaps: completions then need no interrupt of it (Linux 6.1 and later).
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth)
            .or_else(|_| IoUring::new(depth))?;
        Ok(Self { ring, file, slots: Slots::new(depth as usize, block_bytes)? })
    }

    /// Notes all completions that are there.
    fn reap(&mut self, mut each: impl FnMut(Completion)) {
        for entry in self.ring.completion() {
            let slot = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            self.slots.free(slot);
            each(Completion::new(slot, i64::from(entry.result())));
        }
    }
}

impl ReadQueue for UringQueue<'_> {
    fn prepare(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        let length = self.slots.block_bytes() as u32; // at most 1 MiB
        let block = self.slots.take(slot);
        let entry = opcode::Read::new(types::Fd(self.file.as_raw_fd()), block, length)
            .offset(offset)
            .build()
            .user_data(slot as u64);
        // SAFETY: the descriptor is open as long as `file` is borrowed, and `block` is this request's alone until the
        // slot is freed, which happens only after its completion.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|e| {
            self.slots.free(slot);
            io::Error::other(e)
        })
    }

    fn submit_and_wait(&mut self, completed: &mut Vec<Completion>) -> io::Result<()> {
        submit_and_wait(&self.ring)?;
        self.reap(|completion| completed.push(completion));
        Ok(())
    }
}

impl Drop for UringQueue<'_> {
    fn drop(&mut self) {
        // If waiting fails, the slots stay in flight and their memory is leaked.
        while self.slots.in_flight() > 0 && submit_and_wait(&self.ring).is_ok() {
            self.reap(|_| ());
        }
    }
}

fn submit_and_wait(ring: &IoUring) -> io::Result<()> {
    loop {
        match ring.submit_and_wait(1) {
            Ok(_) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
