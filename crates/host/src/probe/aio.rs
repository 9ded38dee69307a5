//! Reads through Linux AIO, for hosts that do not permit io_uring.

// libc has no wrappers for these calls, and the kernel writes to the buffers behind the compiler's back.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::queue::{Completion, ReadQueue};
use super::slots::Slots;

/// `struct iocb` of linux/aio_abi.h. `key` and `rw_flags` change places with the byte order; both are 0 here.
#[repr(C)]
struct Iocb {
    data: u64,
    key_and_rw_flags: [u32; 2],
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `IOCB_CMD_PREAD` of linux/aio_abi.h.
const PREAD: u16 = 0;

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// An AIO context with one buffer for each slot.
pub(super) struct AioQueue<'a> {
    context: libc::c_ulong,
    file: &'a File,
    slots: Slots,
    prepared: Vec<Iocb>,
    events: Vec<IoEvent>,
}

impl<'a> AioQueue<'a> {
    /// A context for `depth` reads of `block_bytes` from `file`.
    pub(super) fn new(file: &'a File, depth: u32, block_bytes: usize) -> io::Result<Self> {
        let slots = Slots::new(depth as usize, block_bytes)?;
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one unsigned long to a live local that is 0, as the call demands.
        check(unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) })?;
        let events = vec![IoEvent::default(); depth as usize];
        Ok(Self { context, file, slots, prepared: Vec::with_capacity(depth as usize), events })
    }

    fn submit(&mut self) -> io::Result<()> {
        while !self.prepared.is_empty() {
            let list: Vec<*const Iocb> = self.prepared.iter().map(std::ptr::from_ref).collect();
            // SAFETY: `list` holds pointers to live control blocks, which the kernel copies during the call. The block
            // of each is its request's alone until its slot is freed, which happens only after its completion.
            let submitted = check(unsafe {
                libc::syscall(libc::SYS_io_submit, self.context, list.len() as libc::c_long, list.as_ptr())
            })?;
            self.prepared.drain(..submitted);
        }
        Ok(())
    }
}

impl ReadQueue for AioQueue<'_> {
    fn prepare(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        let offset = i64::try_from(offset).map_err(io::Error::other)?;
        let block = self.slots.take(slot);
        self.prepared.push(Iocb {
            data: slot as u64,
            key_and_rw_flags: [0, 0],
            opcode: PREAD,
            priority: 0,
            fd: self.file.as_raw_fd().unsigned_abs(),
            buffer: block as u64,
            bytes: self.slots.block_bytes() as u64,
            offset,
            reserved: 0,
            flags: 0,
            event_fd: 0,
        });
        Ok(())
    }

    fn submit_and_wait(&mut self, completed: &mut Vec<Completion>) -> io::Result<()> {
        self.submit()?;
        let room = self.events.len() as libc::c_long;
        let count = loop {
            // SAFETY: the kernel writes at most `room` events to a vector of that length; no time-out is given.
            let done = check(unsafe {
                let events = self.events.as_mut_ptr();
                let forever = std::ptr::null_mut::<libc::timespec>();
                libc::syscall(libc::SYS_io_getevents, self.context, 1 as libc::c_long, room, events, forever)
            });
            match done {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        for event in &self.events[..count] {
            let slot = usize::try_from(event.data).unwrap_or(usize::MAX);
            self.slots.free(slot);
            completed.push(Completion::new(slot, event.result));
        }
        Ok(())
    }
}

impl Drop for AioQueue<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is this queue's own, and not used after this.
        let destroyed = check(unsafe { libc::syscall(libc::SYS_io_destroy, self.context) });
        // The call has waited for all requests, and prepared ones never reached the kernel. If it failed, the slots
        // stay in flight and their memory is leaked.
        if destroyed.is_ok() {
            self.slots.free_all();
        }
    }
}

/// A raw call's result: a count, or -1 and errno.
fn check(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
