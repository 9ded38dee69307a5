//! Asynchronous steps: one thread with many reads in flight.

// libc has no wrappers for Linux AIO, and the kernel writes to buffers without the compiler's knowledge.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};
use slob_stats::{Histogram, nanoseconds};

use super::buffers::Slots;
use super::result::{IoInterface, Measured, ProbeStep, cpu_since};
use super::scratch::{Random, Scratch};
use super::{ProbePlan, StepPlan};
use crate::own_cpu;

/// Linux AIO replaces io_uring where the host does not permit it. Adds to `completed` meanwhile.
pub(super) fn run(
    plan: &ProbePlan,
    step: StepPlan,
    scratch: &Scratch,
    stop: &AtomicBool,
    completed: &AtomicU64,
) -> ProbeStep {
    let file = match scratch.reopen(plan.direct) {
        Ok(file) => file,
        Err(e) => return ProbeStep::failed(step, e.to_string()),
    };
    let (depth, block_bytes) = (step.sessions_or_depth, plan.block_bytes as usize);
    match UringQueue::new(&file, depth, block_bytes) {
        Ok(mut queue) => measure(plan, step, IoInterface::IoUring, &mut queue, stop, completed),
        Err(refusal) => run_with_aio(plan, step, &file, stop, completed, &refusal),
    }
}

fn run_with_aio(
    plan: &ProbePlan,
    step: StepPlan,
    file: &File,
    stop: &AtomicBool,
    completed: &AtomicU64,
    refusal: &io::Error,
) -> ProbeStep {
    let why = format!("io_uring is not available ({refusal}; see the sysctl kernel.io_uring_disabled)");
    match AioQueue::new(file, step.sessions_or_depth, plan.block_bytes as usize) {
        Ok(mut queue) => {
            let done = measure(plan, step, IoInterface::LinuxAio, &mut queue, stop, completed);
            ProbeStep { note: Some(format!("{why}: Linux AIO was used")), ..done }
        }
        Err(e) => {
            ProbeStep::failed(step, format!("{why}, nor is Linux AIO ({e}; see the sysctl fs.aio-max-nr)"))
        }
    }
}

fn measure(
    plan: &ProbePlan,
    step: StepPlan,
    interface: IoInterface,
    queue: &mut dyn ReadQueue,
    stop: &AtomicBool,
    completed: &AtomicU64,
) -> ProbeStep {
    let mut latency = Histogram::new();
    let cpu_before = own_cpu().ok();
    let start = Instant::now();
    let mut end = start;
    let mut on_read = |ns| {
        latency.record(ns);
        completed.fetch_add(1, Ordering::Relaxed);
    };
    let done = keep_busy(plan, step.sessions_or_depth as usize, queue, stop, &mut on_read, &mut end);
    let (seconds, cpu_s) = ((end - start).as_secs_f64(), cpu_since(cpu_before));
    let measured = Measured { latency, bytes_per_operation: u64::from(plan.block_bytes), seconds, cpu_s };
    ProbeStep::measured(step, interface, measured, done.err().map(|e| e.to_string()))
}

/// `on_read` gets the nanoseconds of each. `now` becomes the moment of the last completion.
fn keep_busy(
    plan: &ProbePlan,
    depth: usize,
    queue: &mut dyn ReadQueue,
    stop: &AtomicBool,
    on_read: &mut dyn FnMut(u64),
    now: &mut Instant,
) -> io::Result<()> {
    let block_bytes = plan.block_bytes as usize;
    let mut random = Random::new(plan.seed, depth as u64);
    let mut next_offset = || random.below(plan.blocks()) * block_bytes as u64;
    *now = Instant::now();
    let deadline = *now + Duration::from_secs_f64(plan.seconds_per_step);
    let mut requested = vec![*now; depth];
    for slot in 0..depth {
        queue.prepare(slot, next_offset())?;
    }
    let mut completed: Vec<Completion> = Vec::with_capacity(depth);
    let mut in_flight = depth;
    while in_flight > 0 {
        queue.submit_and_wait(&mut completed)?;
        // One reading of the clock for all that completed together.
        *now = Instant::now();
        let go_on = *now < deadline && !stop.load(Ordering::Relaxed);
        for Completion { slot, result } in completed.drain(..) {
            in_flight -= 1;
            let bytes = result?;
            if bytes != block_bytes {
                let short = format!("a read gave {bytes} bytes instead of {block_bytes}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, short));
            }
            on_read(nanoseconds(*now - requested[slot]));
            if go_on {
                queue.prepare(slot, next_offset())?;
                requested[slot] = *now;
                in_flight += 1;
            }
        }
    }
    Ok(())
}

struct Completion {
    slot: usize,
    /// Bytes read.
    result: io::Result<usize>,
}

impl Completion {
    /// Negative results are error numbers.
    fn new(slot: usize, result: i64) -> Self {
        let result = match usize::try_from(result) {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EIO))),
        };
        Self { slot, result }
    }
}

/// A slot holds one read at a time. Dropping a queue waits for the reads in flight.
trait ReadQueue {
    /// `slot` must be free.
    ///
    /// # Panics
    /// The slot still has a request in flight.
    fn prepare(&mut self, slot: usize, offset: u64) -> io::Result<()>;

    /// Waits for at least one completion, and adds all to `completed`.
    fn submit_and_wait(&mut self, completed: &mut Vec<Completion>) -> io::Result<()>;
}

struct UringQueue<'a> {
    ring: IoUring,
    file: &'a File,
    slots: Slots,
}

impl<'a> UringQueue<'a> {
    /// Fails if the host has no io_uring, or does not permit it.
    fn new(file: &'a File, depth: u32, block_bytes: usize) -> io::Result<Self> {
        // With one thread, completions need no interrupt of it (Linux 6.1 and later).
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(depth)
            .or_else(|_| IoUring::new(depth))?;
        Ok(Self { ring, file, slots: Slots::new(depth as usize, block_bytes)? })
    }

    fn reap(&mut self, completed: &mut Vec<Completion>) {
        for entry in self.ring.completion() {
            let slot = usize::try_from(entry.user_data()).unwrap_or(usize::MAX);
            self.slots.free(slot);
            completed.push(Completion::new(slot, i64::from(entry.result())));
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
        self.reap(completed);
        Ok(())
    }
}

impl Drop for UringQueue<'_> {
    fn drop(&mut self) {
        // If waiting fails, the slots stay in flight and their memory is leaked.
        while self.slots.in_flight() > 0 && submit_and_wait(&self.ring).is_ok() {
            self.reap(&mut Vec::new());
        }
    }
}

/// Repeats an interrupted call.
fn submit_and_wait(ring: &IoUring) -> io::Result<()> {
    loop {
        match ring.submit_and_wait(1) {
            Ok(_) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// linux/aio_abi.h defines it. `key` and `rw_flags` change places with the byte order; both are 0 here.
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

/// linux/aio_abi.h defines it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

struct AioQueue<'a> {
    context: libc::c_ulong,
    file: &'a File,
    slots: Slots,
    prepared: Vec<Iocb>,
    events: Vec<IoEvent>,
}

impl<'a> AioQueue<'a> {
    fn new(file: &'a File, depth: u32, block_bytes: usize) -> io::Result<Self> {
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
        if destroyed.is_ok() {
            self.slots.free_all();
        }
    }
}

/// Errors are -1 and errno.
fn check(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::super::StepKind;
    use super::*;

    const BLOCK: usize = 4096;

    /// Every block starts with its own number.
    fn numbered_file(blocks: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        for block in 0..blocks {
            let mut data = [0; BLOCK];
            data[..8].copy_from_slice(&block.to_le_bytes());
            file.write_all_at(&data, block * BLOCK as u64).unwrap();
        }
        file
    }

    /// This host may permit only one interface.
    fn each_queue(file: &File, depth: u32, mut check: impl FnMut(&mut dyn ReadQueue)) {
        let mut tried = 0;
        if let Ok(mut queue) = UringQueue::new(file, depth, BLOCK) {
            check(&mut queue);
            tried += 1;
        }
        if let Ok(mut queue) = AioQueue::new(file, depth, BLOCK) {
            check(&mut queue);
            tried += 1;
        }
        assert!(tried > 0, "this host permits neither io_uring nor Linux AIO");
    }

    #[test]
    fn every_request_completes_once_in_its_slot() {
        let file = numbered_file(8);
        each_queue(&file, 8, |queue| {
            for slot in 0..8 {
                queue.prepare(slot, (slot * BLOCK) as u64).unwrap();
            }
            let mut completed = Vec::new();
            while completed.len() < 8 {
                queue.submit_and_wait(&mut completed).unwrap();
            }
            completed.sort_by_key(|completion| completion.slot);
            assert!(completed.iter().map(|c| c.slot).eq(0..8));
            assert!(completed.iter().all(|c| c.result.as_ref().is_ok_and(|bytes| *bytes == BLOCK)));
        });
    }

    #[test]
    fn a_read_past_the_end_fails_the_step_and_leaves_nothing_in_flight() {
        let file = numbered_file(8);
        let plan = ProbePlan {
            file_bytes: 1 << 20, // more than the file has
            block_bytes: BLOCK as u32,
            seconds_per_step: 60.0,
            ..ProbePlan::new("/")
        };
        let step = StepPlan { kind: StepKind::AsyncRead, sessions_or_depth: 16 };
        let stop = AtomicBool::new(false);
        each_queue(&file, 16, |queue| {
            let done = measure(&plan, step, IoInterface::IoUring, queue, &stop, &AtomicU64::new(0));
            assert!(done.error.unwrap().contains("bytes instead of 4096"));
        });
    }

    #[test]
    fn linux_aio_replaces_io_uring_and_the_note_says_why() {
        let file = numbered_file(256);
        let plan = ProbePlan {
            file_bytes: 1 << 20,
            block_bytes: BLOCK as u32,
            seconds_per_step: 0.05,
            ..ProbePlan::new("/")
        };
        let step = StepPlan { kind: StepKind::AsyncRead, sessions_or_depth: 16 };
        let refusal = io::Error::from_raw_os_error(libc::EPERM);
        let done = run_with_aio(&plan, step, &file, &AtomicBool::new(false), &AtomicU64::new(0), &refusal);
        assert_eq!((done.interface, done.error), (Some(IoInterface::LinuxAio), None));
        assert!(done.figures.unwrap().operations >= 16);
        assert!(done.note.unwrap().contains("Operation not permitted"));
    }

    #[test]
    fn a_queue_dropped_with_requests_in_flight_waits_for_them() {
        let file = numbered_file(64);
        for _ in 0..10 {
            each_queue(&file, 64, |queue| {
                for slot in 0..64 {
                    queue.prepare(slot, (slot * BLOCK) as u64).unwrap();
                }
                queue.submit_and_wait(&mut Vec::new()).unwrap();
            });
        }
    }
}
