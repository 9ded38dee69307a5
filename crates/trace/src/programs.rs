//! The programs in the kernel: each walks from its tracepoint to one or two histograms.
//!
//! A call of a watched process notes its start (`enter`), the block layer its requests (`queued`, `issued`, `completed`). The end
//! of the call (`leave`) sorts it by whether the block layer took part.

use crate::asm::Helper::{CurrentPidTgid, CurrentTask, KtimeNs, MapLookup, MapUpdate, ProbeReadKernel};
use crate::asm::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::asm::Width::{Eight, Four};
use crate::asm::{Assembler, If, Label, Op, Register};
use crate::kernel::{BioDevice, FileLayout, Layout};
use crate::{BIO_BITS, Call, JOINT_BITS, Maps, THREAD_BITS};
use slob_measure::Span;
use slob_stats::BUCKETS;

use std::os::fd::{AsFd, BorrowedFd};

mod thread {
    pub(super) const ENTERED: i16 = 0;
    pub(super) const CALL: i16 = 8;
    pub(super) const REQUESTS: i16 = 16;
    pub(super) const FIRST_QUEUED: i16 = 24;
    pub(super) const COMPLETED: i16 = 32;
    pub(super) const IN_DEVICE: i16 = 40;
    pub(super) const IDENTITY: i16 = 48;
    /// Context switches before the call.
    pub(super) const WAITS: i16 = 56;
    /// The rest is 0 until it happens.
    pub(super) const FIRST_ISSUED: i16 = 64;
    pub(super) const FLUSH_QUEUED: i16 = 72;
    pub(super) const FLUSHED: i16 = 80;
}

/// A request is known by its first bio.
mod bio {
    /// The time of the queue, or of the issue if [`BYTES`] is set.
    pub(super) const SINCE: i16 = 0;
    pub(super) const THREAD: i16 = 8;
    pub(super) const DEVICE_HISTOGRAM: i16 = 16;
    pub(super) const DEVICE: i16 = 24;
    /// Not 0 if a request that had a first bio took this one as its first.
    pub(super) const IN_FRONT: i16 = 28;
    /// 0 until its request is issued.
    pub(super) const BYTES: i16 = 32;
    /// A call does not wait for requests of an earlier one.
    pub(super) const ENTERED: i16 = 40;
    /// 0 if the entry is free.
    pub(super) const ADDRESS: i16 = 48;
    /// Such a request completes a second time, when the device's cache is flushed.
    pub(super) const DURABLE: i16 = 56;
}

#[cfg(test)]
pub(crate) const BIO_ADDRESS: usize = bio::ADDRESS as usize / 8;

pub(crate) const THREAD_WORDS: usize = 16;
pub(crate) const BIO_WORDS: usize = 8;

pub(crate) const SYSTEM_CALLS: usize = 512;

const OP_MASK: i32 = 0xff;
const WRITE: i32 = 1;
const LAST_BUCKET: i32 = BUCKETS as i32 - 1;
const SPANS: i32 = Span::ALL.len() as i32;
const PLACES: i32 = crate::PLACES as i32;
/// Shorter writes are messages of other kinds.
const SHORTEST_WRITE: i32 = 512;
/// A longer chain of bios, each in front of the one before it, keeps entries until their addresses come again.
const LONGEST_FRONT: usize = 128;

pub(crate) fn enter(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    let (out, known) = (asm.label(), asm.label());
    asm.load(Eight, R7, R1, 8);
    asm.jump_if(If::Above, R7, SYSTEM_CALLS as i32 - 1, out);
    asm.op_imm(Op::Shl, R7, 3);
    asm.array_value(R1, maps.calls.as_fd(), 0);
    asm.op(Op::Add, R1, R7);
    asm.load(Eight, R8, R1, 0);
    asm.jump_if(If::Equal, R8, 0, out);
    current_thread(&mut asm, maps);
    asm.op(Op::Mov, R6, R1);
    asm.op(Op::Mov, R7, R0);
    jump_if_field(&mut asm, (R6, thread::IDENTITY), If::Equal, R7, known);
    lookup_process(&mut asm, maps, R7);
    asm.jump_if(If::Equal, R0, 0, out);
    asm.store(Eight, R6, thread::IDENTITY, R7);
    asm.place(known);
    asm.call(KtimeNs);
    asm.store(Eight, R6, thread::ENTERED, R0);
    waits(&mut asm, layout, -16);
    asm.load(Eight, R1, R10, -16);
    asm.store(Eight, R6, thread::WAITS, R1);
    asm.op_imm(Op::Mov, R1, 0);
    for field in [
        thread::REQUESTS,
        thread::COMPLETED,
        thread::IN_DEVICE,
        thread::FIRST_ISSUED,
        thread::FLUSH_QUEUED,
        thread::FLUSHED,
    ] {
        asm.store(Eight, R6, field, R1);
    }
    asm.store(Eight, R6, thread::CALL, R8);
    asm.place(out);
    asm.exit();
    asm.finish()
}

pub(crate) fn leave(maps: &Maps, layout: &Layout, block_bytes: u32) -> Vec<u8> {
    let mut asm = Assembler::default();
    let [out, write, into_log, sync, forced, no_request, waited] = std::array::from_fn(|_| asm.label());
    asm.load(Eight, R7, R1, 8);
    asm.load(Eight, R2, R1, 0);
    asm.store(Eight, R10, ARGUMENTS, R2);
    current_thread(&mut asm, maps);
    asm.op(Op::Mov, R6, R1);
    jump_if_field(&mut asm, (R6, thread::IDENTITY), If::NotEqual, R0, out);
    asm.load(Eight, R9, R6, thread::CALL);
    asm.jump_if(If::Equal, R9, 0, out);
    asm.op_imm(Op::Mov, R1, 0);
    asm.store(Eight, R6, thread::CALL, R1);
    asm.call(KtimeNs);
    asm.store(Eight, R10, -16, R0);
    asm.op(Op::Mov, R8, R0);
    asm.load(Eight, R1, R6, thread::ENTERED);
    asm.op(Op::Sub, R8, R1);
    asm.jump_if(If::Equal, R9, Call::Sync as i32, sync);
    asm.jump_if(If::Equal, R9, Call::Write as i32, write);
    asm.jump_if(If::NotEqual, R9, Call::Read as i32, out);
    asm.jump_if(If::SignedAtMost, R7, 0, out);
    // Reads of anything but whole blocks are not those of data files.
    asm.op_imm(Op::Mod, R7, block_bytes as i32);
    asm.jump_if(If::NotEqual, R7, 0, out);
    asm.load(Eight, R1, R6, thread::REQUESTS);
    asm.jump_if(If::Equal, R1, 0, no_request);
    count(&mut asm, maps, Span::ReadFromDevice);
    joint(&mut asm, maps);
    asm.load(Eight, R8, R6, thread::FIRST_QUEUED);
    asm.load(Eight, R1, R6, thread::ENTERED);
    asm.op(Op::Sub, R8, R1);
    count(&mut asm, maps, Span::ReadSubmit);
    asm.load(Eight, R1, R6, thread::COMPLETED);
    asm.jump_if(If::Equal, R1, 0, out);
    asm.load(Eight, R8, R10, -16);
    asm.op(Op::Sub, R8, R1);
    count(&mut asm, maps, Span::ReadWakeUp);
    asm.jump(out);
    asm.place(no_request);
    waits(&mut asm, layout, -24);
    asm.load(Eight, R1, R10, -24);
    asm.load(Eight, R2, R6, thread::WAITS);
    asm.op(Op::Sub, R1, R2);
    asm.jump_if(If::NotEqual, R1, 0, waited);
    count(&mut asm, maps, Span::ReadFromCache);
    asm.jump(out);
    asm.place(waited);
    count(&mut asm, maps, Span::ReadWaited);
    asm.jump(out);
    asm.place(write);
    asm.jump_if(If::SignedAtMost, R7, 0, out);
    asm.jump_if(If::SignedAtMost, R7, SHORTEST_WRITE - 1, into_log);
    count(&mut asm, maps, Span::Write);
    asm.place(into_log);
    jump_unless_log(&mut asm, maps, &layout.file, out);
    asm.load(Eight, R1, R6, thread::REQUESTS);
    asm.jump_if(If::NotEqual, R1, 0, forced);
    count(&mut asm, maps, Span::LogWrite);
    asm.jump(out);
    asm.place(sync);
    count(&mut asm, maps, Span::Sync);
    jump_unless_log(&mut asm, maps, &layout.file, out);
    asm.place(forced);
    split_log_sync(&mut asm, maps);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// The stack of `leave` holds the address of the call's arguments.
const ARGUMENTS: i16 = -64;

/// Jumps if neither the call's file nor its folder belong to the log. `R6` and `R8` survive.
fn jump_unless_log(asm: &mut Assembler, maps: &Maps, layout: &FileLayout, no: Label) {
    const POINTER: i16 = -80;
    const KEY: i16 = -48;
    let yes = asm.label();
    asm.load(Eight, R7, R10, ARGUMENTS);
    probe(asm, R7, layout.argument, -72, 8);
    asm.call(CurrentTask);
    asm.op(Op::Mov, R7, R0);
    let follow = |asm: &mut Assembler, offset: i32| {
        probe(asm, R7, offset, POINTER, 8);
        asm.load(Eight, R7, R10, POINTER);
    };
    [layout.task_files, layout.files_table, layout.table_files]
        .iter()
        .for_each(|offset| follow(asm, *offset));
    asm.load(Four, R1, R10, -72);
    asm.op_imm(Op::Shl, R1, 3);
    asm.op(Op::Add, R7, R1);
    follow(asm, 0);
    asm.jump_if(If::Equal, R7, 0, no);
    asm.op(Op::Mov, R9, R7);
    follow(asm, layout.inode);
    probe(asm, R7, layout.number, KEY, 8);
    follow(asm, layout.file_system);
    probe(asm, R7, layout.device, KEY + 8, 4);
    asm.op_imm(Op::Mov, R1, 0);
    asm.store(Four, R10, KEY + 12, R1);
    lookup(asm, maps.logs.as_fd(), KEY);
    asm.jump_if(If::NotEqual, R0, 0, yes);
    asm.op(Op::Mov, R7, R9);
    [layout.entry, layout.parent, layout.entry_inode].iter().for_each(|offset| follow(asm, *offset));
    probe(asm, R7, layout.number, KEY, 8);
    lookup(asm, maps.logs.as_fd(), KEY);
    asm.jump_if(If::Equal, R0, 0, no);
    asm.place(yes);
}

/// The call of `R6` took `R8` ns until the time at -16. Its own requests come first, then those of the journal, which it waits
/// for.
fn split_log_sync(asm: &mut Assembler, maps: &Maps) {
    const NOW: i16 = -16;
    const LAST: i16 = -56;
    const BETWEEN: i16 = -72;
    let [together, queued, flushed, flush, own, no_journal, out] = std::array::from_fn(|_| asm.label());
    let minus = |asm: &mut Assembler, field: i16| {
        asm.load(Eight, R1, R6, field);
        asm.op(Op::Sub, R8, R1);
    };
    count(asm, maps, Span::LogSync);
    asm.load(Eight, R1, R6, thread::ENTERED);
    asm.store(Eight, R10, LAST, R1);
    asm.load(Eight, R1, R6, thread::REQUESTS);
    asm.jump_if(If::Equal, R1, 0, own);
    // Between two requests of a call nothing of it is in the device: the file system, or a group's limit, holds the second.
    asm.op_imm(Op::Mov, R1, 0);
    asm.store(Eight, R10, BETWEEN, R1);
    asm.load(Eight, R8, R6, thread::COMPLETED);
    minus(asm, thread::FIRST_ISSUED);
    minus(asm, thread::IN_DEVICE);
    asm.jump_if(If::SignedAtMost, R8, 0, together);
    asm.store(Eight, R10, BETWEEN, R8);
    asm.place(together);
    asm.load(Eight, R8, R6, thread::FIRST_QUEUED);
    asm.store(Eight, R10, LAST, R8);
    minus(asm, thread::ENTERED);
    asm.load(Eight, R1, R10, BETWEEN);
    asm.op(Op::Add, R8, R1);
    count(asm, maps, Span::LogSubmit);
    asm.load(Eight, R8, R6, thread::FIRST_ISSUED);
    asm.jump_if(If::Equal, R8, 0, queued);
    minus(asm, thread::FIRST_QUEUED);
    count(asm, maps, Span::LogInQueue);
    asm.load(Eight, R8, R6, thread::COMPLETED);
    asm.store(Eight, R10, LAST, R8);
    minus(asm, thread::FIRST_ISSUED);
    asm.load(Eight, R1, R10, BETWEEN);
    asm.op(Op::Sub, R8, R1);
    count(asm, maps, Span::LogInDevice);
    asm.place(queued);
    asm.load(Eight, R8, R6, thread::FLUSHED);
    asm.jump_if(If::Equal, R8, 0, own);
    asm.load(Eight, R1, R10, LAST);
    asm.op(Op::Sub, R8, R1);
    asm.jump_if(If::SignedAtMost, R8, 0, flushed);
    asm.load(Eight, R8, R6, thread::FLUSHED);
    asm.store(Eight, R10, LAST, R8);
    asm.place(flushed);
    asm.load(Eight, R8, R6, thread::COMPLETED);
    asm.jump_if(If::Equal, R8, 0, flush);
    asm.load(Eight, R8, R6, thread::FLUSH_QUEUED);
    minus(asm, thread::COMPLETED);
    count(asm, maps, Span::LogToFlush);
    asm.place(flush);
    asm.load(Eight, R8, R6, thread::FLUSHED);
    minus(asm, thread::FLUSH_QUEUED);
    count(asm, maps, Span::LogFlush);
    asm.place(own);
    asm.array_value(R1, maps.journal.as_fd(), 0);
    asm.load(Eight, R7, R1, 0);
    asm.load(Eight, R8, R10, NOW);
    asm.op(Op::Sub, R8, R7);
    asm.jump_if(If::SignedAtMost, R8, -1, no_journal);
    asm.op(Op::Mov, R8, R7);
    asm.load(Eight, R1, R10, LAST);
    asm.op(Op::Sub, R8, R1);
    asm.jump_if(If::SignedAtMost, R8, 0, no_journal);
    asm.store(Eight, R10, LAST, R7);
    count(asm, maps, Span::LogJournal);
    asm.place(no_journal);
    asm.load(Eight, R8, R10, LAST);
    minus(asm, thread::ENTERED);
    asm.jump_if(If::SignedAtMost, R8, 0, out);
    asm.load(Eight, R8, R10, NOW);
    asm.load(Eight, R1, R10, LAST);
    asm.op(Op::Sub, R8, R1);
    count(asm, maps, Span::LogWakeUp);
    asm.place(out);
}

/// The arguments are `block_bio_queue([queue,] bio)`.
pub(crate) fn queued(maps: &Maps, layout: &Layout) -> Vec<u8> {
    const ENTERED: i16 = -48;
    const THREAD: i16 = -56;
    const DURABLE: i16 = -64;
    const BYTES: i16 = -72;
    let mut asm = Assembler::default();
    let [out, forgotten, thread, has_data, own, chosen, write, neighbours_write] =
        std::array::from_fn(|_| asm.label());
    asm.load(Eight, R6, R1, 8 * layout.subject);
    probe(&mut asm, R6, layout.bio_flags, -24, 4);
    asm.load(Four, R7, R10, -24);
    asm.op(Op::Mov, R1, R7);
    asm.op_imm(Op::And, R1, layout.durable_bits);
    asm.store(Eight, R10, DURABLE, R1);
    asm.op_imm(Op::And, R7, OP_MASK);
    asm.jump_if(If::Above, R7, WRITE, forgotten);
    probe(&mut asm, R6, layout.bio_bytes, BYTES, 4);
    device(&mut asm, layout, -32);
    asm.call(KtimeNs);
    asm.op(Op::Mov, R9, R0);
    asm.op_imm(Op::Mov, R1, 0);
    asm.store(Eight, R10, ENTERED, R1);
    asm.store(Eight, R10, THREAD, R1);
    current_thread(&mut asm, maps);
    jump_if_field(&mut asm, (R1, thread::IDENTITY), If::Equal, R0, thread);
    asm.op(Op::Mov, R8, R0);
    lookup_process(&mut asm, maps, R8);
    asm.jump_if(If::NotEqual, R0, 0, own);
    lookup(&mut asm, maps.devices.as_fd(), -32);
    asm.jump_if(If::Equal, R0, 0, forgotten);
    asm.jump_if(If::Equal, R7, WRITE, neighbours_write);
    asm.op_imm(Op::Mov, R7, Span::NeighbourRead as i32);
    asm.jump(chosen);
    asm.place(neighbours_write);
    asm.op_imm(Op::Mov, R7, Span::NeighbourWrite as i32);
    asm.jump(chosen);
    asm.place(thread);
    // No thread waits for bios of io_uring's workers.
    asm.load(Eight, R2, R1, thread::CALL);
    asm.jump_if(If::Equal, R2, 0, own);
    asm.store(Eight, R10, THREAD, R0);
    asm.load(Eight, R2, R1, thread::ENTERED);
    asm.store(Eight, R10, ENTERED, R2);
    asm.load(Eight, R2, R1, thread::REQUESTS);
    asm.op(Op::Mov, R3, R2);
    asm.op_imm(Op::Add, R3, 1);
    asm.store(Eight, R1, thread::REQUESTS, R3);
    asm.load(Four, R3, R10, BYTES);
    asm.jump_if(If::NotEqual, R3, 0, has_data);
    asm.store(Eight, R1, thread::FLUSH_QUEUED, R9);
    asm.place(has_data);
    asm.jump_if(If::NotEqual, R2, 0, own);
    asm.store(Eight, R1, thread::FIRST_QUEUED, R9);
    asm.place(own);
    asm.jump_if(If::Equal, R7, WRITE, write);
    asm.op_imm(Op::Mov, R7, Span::ReadInDevice as i32);
    asm.jump(chosen);
    asm.place(write);
    asm.op_imm(Op::Mov, R7, Span::WriteInDevice as i32);
    asm.place(chosen);
    bio_entry(&mut asm, maps, R6);
    asm.store(Eight, R1, bio::ADDRESS, R6);
    asm.op_imm(Op::Mov, R2, 0);
    asm.store(Eight, R1, bio::BYTES, R2);
    asm.store(Eight, R1, bio::SINCE, R9);
    asm.store(Eight, R1, bio::DEVICE_HISTOGRAM, R7);
    asm.load(Four, R2, R10, -32);
    asm.store(Eight, R1, bio::DEVICE, R2);
    for (field, from) in [(bio::THREAD, THREAD), (bio::ENTERED, ENTERED), (bio::DURABLE, DURABLE)] {
        asm.load(Eight, R2, R10, from);
        asm.store(Eight, R1, field, R2);
    }
    asm.jump(out);
    asm.place(forgotten);
    forget(&mut asm, maps, R6);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// The arguments are `block_bio_backmerge([queue, request,] bio)`. The bio is issued with the request's first one.
pub(crate) fn merged(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    asm.load(Eight, R6, R1, 8 * layout.merged_bio);
    forget(&mut asm, maps, R6);
    asm.exit();
    asm.finish()
}

/// The arguments are `block_bio_frontmerge([queue, request,] bio)`. The request is known by this bio from now on.
pub(crate) fn merged_in_front(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    let out = asm.label();
    asm.load(Eight, R6, R1, 8 * layout.merged_bio);
    bio_entry(&mut asm, maps, R6);
    jump_if_field(&mut asm, (R1, bio::ADDRESS), If::NotEqual, R6, out);
    asm.op_imm(Op::Mov, R2, 1);
    asm.store(Four, R1, bio::IN_FRONT, R2);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// The arguments are `block_rq_merge([queue,] request)`. Its bios are issued with those of another request.
pub(crate) fn merged_request(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    let out = asm.label();
    asm.load(Eight, R7, R1, 8 * layout.subject);
    first_bio(&mut asm, maps, layout, out);
    forget_behind(&mut asm, maps, layout);
    asm.op_imm(Op::Mov, R2, 0);
    asm.store(Eight, R6, bio::ADDRESS, R2);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// Forgets what was first in the request before its first bio, whose entry is in `R6`.
fn forget_behind(asm: &mut Assembler, maps: &Maps, layout: &Layout) {
    const NEXT: i16 = -40;
    let done = asm.label();
    asm.load(Four, R1, R6, bio::IN_FRONT);
    asm.jump_if(If::Equal, R1, 0, done);
    asm.load(Eight, R9, R6, bio::ADDRESS);
    for _ in 0..LONGEST_FRONT {
        probe(asm, R9, layout.bio_next, NEXT, 8);
        asm.load(Eight, R9, R10, NEXT);
        asm.jump_if(If::Equal, R9, 0, done);
        forget(asm, maps, R9);
    }
    asm.place(done);
}

/// A later request with the same address would otherwise take its age.
fn forget(asm: &mut Assembler, maps: &Maps, address: Register) {
    let done = asm.label();
    bio_entry(asm, maps, address);
    jump_if_field(asm, (R1, bio::ADDRESS), If::NotEqual, address, done);
    asm.op_imm(Op::Mov, R2, 0);
    asm.store(Eight, R1, bio::ADDRESS, R2);
    asm.place(done);
}

/// The arguments are `block_rq_issue([queue,] request)`.
pub(crate) fn issued(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    let [out, write] = std::array::from_fn(|_| asm.label());
    asm.load(Eight, R7, R1, 8 * layout.subject);
    first_bio(&mut asm, maps, layout, out);
    // A request that is issued again was issued already.
    asm.load(Eight, R1, R6, bio::BYTES);
    asm.jump_if(If::NotEqual, R1, 0, out);
    forget_behind(&mut asm, maps, layout);
    probe(&mut asm, R7, layout.request_bytes, -32, 4);
    asm.load(Four, R1, R10, -32);
    asm.store(Eight, R6, bio::BYTES, R1);
    asm.call(KtimeNs);
    asm.op(Op::Mov, R8, R0);
    asm.load(Eight, R1, R6, bio::SINCE);
    asm.store(Eight, R6, bio::SINCE, R8);
    asm.op(Op::Sub, R8, R1);
    asm.load(Eight, R1, R6, bio::DEVICE_HISTOGRAM);
    asm.jump_if(If::Equal, R1, Span::WriteInDevice as i32, write);
    asm.jump_if(If::NotEqual, R1, Span::ReadInDevice as i32, out);
    count(&mut asm, maps, Span::ReadInQueue);
    asm.jump(out);
    asm.place(write);
    count(&mut asm, maps, Span::WriteInQueue);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// The arguments are `block_rq_complete(request, status, bytes)`.
pub(crate) fn completed(maps: &Maps, layout: &Layout) -> Vec<u8> {
    let mut asm = Assembler::default();
    let [out, flushed, own, journal, issued] = std::array::from_fn(|_| asm.label());
    asm.load(Eight, R7, R1, 0);
    first_bio(&mut asm, maps, layout, out);
    asm.call(KtimeNs);
    asm.store(Eight, R10, -24, R0);
    asm.op(Op::Mov, R8, R0);
    asm.op_imm(Op::Mov, R2, 0);
    asm.load(Eight, R1, R6, bio::BYTES);
    asm.jump_if(If::NotEqual, R1, 0, issued);
    asm.load(Eight, R1, R6, bio::DURABLE);
    asm.jump_if(If::Equal, R1, 0, out);
    asm.store(Eight, R6, bio::ADDRESS, R2);
    asm.load(Eight, R0, R6, bio::THREAD);
    asm.jump_if(If::Equal, R0, 0, journal);
    thread_of_bio(&mut asm, maps, out);
    asm.store(Eight, R1, thread::FLUSHED, R8);
    asm.load(Eight, R2, R1, thread::FLUSH_QUEUED);
    asm.jump_if(If::NotEqual, R2, 0, out);
    asm.load(Eight, R2, R1, thread::COMPLETED);
    asm.store(Eight, R1, thread::FLUSH_QUEUED, R2);
    asm.jump(out);
    asm.place(issued);
    asm.load(Eight, R1, R6, bio::DURABLE);
    asm.jump_if(If::NotEqual, R1, 0, flushed);
    asm.store(Eight, R6, bio::ADDRESS, R2);
    asm.place(flushed);
    asm.load(Eight, R1, R6, bio::SINCE);
    asm.op(Op::Sub, R8, R1);
    asm.jump_if(If::SignedAtMost, R8, -1, out);
    asm.load(Eight, R7, R6, bio::DEVICE_HISTOGRAM);
    asm.jump_if(If::Above, R7, SPANS - 1, out);
    count_at(&mut asm, maps, R7);
    by_device(&mut asm, maps);
    asm.op_imm(Op::Mov, R1, 0);
    asm.store(Eight, R6, bio::BYTES, R1);
    asm.load(Eight, R0, R6, bio::THREAD);
    asm.jump_if(If::Equal, R0, 0, own);
    thread_of_bio(&mut asm, maps, out);
    asm.load(Eight, R2, R10, -24);
    asm.store(Eight, R1, thread::COMPLETED, R2);
    asm.atomic_add(R1, thread::IN_DEVICE, R8);
    asm.load(Eight, R3, R1, thread::FIRST_ISSUED);
    asm.jump_if(If::NotEqual, R3, 0, out);
    asm.load(Eight, R3, R6, bio::SINCE);
    asm.store(Eight, R1, thread::FIRST_ISSUED, R3);
    asm.jump(out);
    asm.place(own);
    asm.load(Eight, R1, R6, bio::DURABLE);
    asm.jump_if(If::Equal, R1, 0, out);
    asm.place(journal);
    asm.load(Eight, R2, R10, -24);
    asm.array_value(R1, maps.journal.as_fd(), 0);
    asm.store(Eight, R1, 0, R2);
    asm.place(out);
    asm.exit();
    asm.finish()
}

/// Sets `R1` to the entry of the thread `R0`; jumps if it no longer waits for the bio of `R6`.
fn thread_of_bio(asm: &mut Assembler, maps: &Maps, no: Label) {
    thread_entry(asm, maps);
    jump_if_field(asm, (R1, thread::IDENTITY), If::NotEqual, R0, no);
    asm.load(Eight, R2, R6, bio::ENTERED);
    jump_if_field(asm, (R1, thread::ENTERED), If::NotEqual, R2, no);
}

/// The request of `R6` took `R8` ns; `R7` is the histogram.
fn by_device(asm: &mut Assembler, maps: &Maps) {
    let (known, done) = (asm.label(), asm.label());
    // The size is a power of two.
    asm.load(Eight, R1, R6, bio::DEVICE);
    asm.store(Four, R10, -40, R1);
    asm.load(Eight, R1, R6, bio::BYTES);
    asm.op(Op::Mov, R9, R1);
    log2(asm, R9, R2, R3);
    asm.op_imm(Op::Shl, R2, 8);
    asm.op(Op::Or, R2, R7);
    asm.store(Four, R10, -36, R2);
    lookup(asm, maps.by_device.as_fd(), -40);
    asm.jump_if(If::NotEqual, R0, 0, known);
    asm.op_imm(Op::Mov, R1, 1);
    asm.store(Eight, R10, -56, R1);
    asm.store(Eight, R10, -48, R8);
    update(asm, maps.by_device.as_fd(), -40, -56);
    asm.jump(done);
    asm.place(known);
    asm.op_imm(Op::Mov, R1, 1);
    asm.atomic_add(R0, 0, R1);
    asm.atomic_add(R0, 8, R8);
    asm.place(done);
}

/// Sets `R0` to the identity, and `R1` to the address of the entry.
fn current_thread(asm: &mut Assembler, maps: &Maps) {
    asm.call(CurrentPidTgid);
    thread_entry(asm, maps);
}

/// Sets `R1` to the entry of the thread `R0`. Few threads share a place.
fn thread_entry(asm: &mut Assembler, maps: &Maps) {
    asm.op(Op::Mov, R3, R0);
    asm.op_imm(Op::And, R3, (1 << THREAD_BITS) - 1);
    asm.op_imm(Op::Mul, R3, 8 * THREAD_WORDS as i32);
    asm.array_value(R1, maps.threads.as_fd(), 0);
    asm.op(Op::Add, R1, R3);
}

/// Sets `R6` for the request `R7`; jumps if it has no bio.
fn first_bio(asm: &mut Assembler, maps: &Maps, layout: &Layout, none: Label) {
    probe(asm, R7, layout.request_bio, -24, 8);
    asm.load(Eight, R2, R10, -24);
    asm.jump_if(If::Equal, R2, 0, none);
    bio_entry(asm, maps, R2);
    asm.op(Op::Mov, R6, R1);
    jump_if_field(asm, (R6, bio::ADDRESS), If::NotEqual, R2, none);
}

/// Sets `R1`. There is no lock, and a later bio may take the entry over: merged ones are never issued.
fn bio_entry(asm: &mut Assembler, maps: &Maps, address: Register) {
    /// 2^32 divided by the golden ratio (Knuth, 'The Art of Computer Programming', 6.4).
    const SPREAD: i32 = 0x9e37_79b1_u32.cast_signed();
    asm.op(Op::Mov, R3, address);
    asm.op_imm(Op::Mul, R3, SPREAD);
    asm.op_imm(Op::Shl, R3, 32);
    asm.op_imm(Op::Shr, R3, 64 - BIO_BITS);
    asm.op_imm(Op::Mul, R3, 8 * BIO_WORDS as i32);
    asm.array_value(R1, maps.bios.as_fd(), 0);
    asm.op(Op::Add, R1, R3);
}

fn jump_if_field(
    asm: &mut Assembler,
    (base, field): (Register, i16),
    condition: If,
    value: Register,
    to: Label,
) {
    asm.load(Eight, R3, base, field);
    asm.op(Op::Sub, R3, value);
    asm.jump_if(condition, R3, 0, to);
}

/// `R0` is not 0 if the process is watched.
fn lookup_process(asm: &mut Assembler, maps: &Maps, thread: Register) {
    asm.op(Op::Mov, R1, thread);
    asm.op_imm(Op::Shr, R1, 32);
    asm.store(Four, R10, -8, R1);
    lookup(asm, maps.processes.as_fd(), -8);
}

/// The key lies on the stack. `R0` is the address of the value, or 0.
fn lookup(asm: &mut Assembler, map: BorrowedFd<'_>, key: i16) {
    asm.map(R1, map);
    stack(asm, R2, key);
    asm.call(MapLookup);
}

fn update(asm: &mut Assembler, map: BorrowedFd<'_>, key: i16, value: i16) {
    asm.map(R1, map);
    stack(asm, R2, key);
    stack(asm, R3, value);
    asm.op_imm(Op::Mov, R4, 0);
    asm.call(MapUpdate);
}

fn stack(asm: &mut Assembler, register: Register, offset: i16) {
    asm.op(Op::Mov, register, R10);
    asm.op_imm(Op::Add, register, i32::from(offset));
}

fn probe(asm: &mut Assembler, base: Register, offset: i32, to: i16, bytes: i32) {
    asm.op(Op::Mov, R3, base);
    asm.op_imm(Op::Add, R3, offset);
    stack(asm, R1, to);
    asm.op_imm(Op::Mov, R2, bytes);
    asm.call(ProbeReadKernel);
}

/// The stack gets the voluntary context switches of the current task.
fn waits(asm: &mut Assembler, layout: &Layout, to: i16) {
    asm.call(CurrentTask);
    probe(asm, R0, layout.task_waits, to, 8);
}

/// The bio is in `R6`; the stack gets four bytes.
fn device(asm: &mut Assembler, layout: &Layout, to: i16) {
    match layout.bio_device {
        BioDevice::Number { bdev, number } => {
            probe(asm, R6, bdev, to - 8, 8);
            asm.load(Eight, R8, R10, to - 8);
            probe(asm, R8, number, to, 4);
        }
        BioDevice::Disk { disk, major, first_minor } => {
            probe(asm, R6, disk, to - 8, 8);
            asm.load(Eight, R8, R10, to - 8);
            probe(asm, R8, major, to, 4);
            probe(asm, R8, first_minor, to - 8, 4);
            asm.load(Four, R1, R10, to);
            asm.op_imm(Op::Shl, R1, 20);
            asm.load(Four, R2, R10, to - 8);
            asm.op(Op::Or, R1, R2);
            asm.store(Four, R10, to, R1);
        }
    }
}

fn count(asm: &mut Assembler, maps: &Maps, span: Span) {
    asm.op_imm(Op::Mov, R7, span as i32);
    count_at(asm, maps, R7);
}

/// `which` is below [`SPANS`]; [`slob_stats::bucket_index`] gives the bucket. Negative times are not counted: clocks of CPUs
/// differ.
fn count_at(asm: &mut Assembler, maps: &Maps, which: Register) {
    let negative = asm.label();
    asm.jump_if(If::SignedAtMost, R8, -1, negative);
    bucket(asm);
    // The verifier follows values and not what they mean.
    asm.op_imm(Op::And, R9, 0xfff);
    asm.op(Op::Mov, R1, which);
    asm.op_imm(Op::And, R1, PLACES - 1);
    asm.op_imm(Op::Shl, R1, 12);
    asm.op(Op::Add, R9, R1);
    asm.op_imm(Op::Shl, R9, 3);
    asm.array_value(R1, maps.histograms.as_fd(), 0);
    asm.op(Op::Add, R1, R9);
    asm.op_imm(Op::Mov, R2, 1);
    asm.atomic_add(R1, 0, R2);
    asm.op(Op::Mov, R2, which);
    asm.op_imm(Op::And, R2, PLACES - 1);
    asm.op_imm(Op::Shl, R2, 3);
    asm.array_value(R1, maps.sums.as_fd(), 0);
    asm.op(Op::Add, R1, R2);
    asm.atomic_add(R1, 0, R8);
    asm.place(negative);
}

/// Sets `R9` to the bucket of `R8` ns.
fn bucket(asm: &mut Assembler) {
    let (beyond, fits) = (asm.label(), asm.label());
    asm.op(Op::Mov, R9, R8);
    asm.op_imm(Op::Or, R9, 64);
    log2(asm, R9, R2, R3);
    asm.op_imm(Op::Sub, R2, 6);
    asm.op(Op::Mov, R9, R8);
    asm.op(Op::Shr, R9, R2);
    asm.op_imm(Op::Shl, R2, 6);
    asm.op(Op::Add, R9, R2);
    asm.jump_if(If::Above, R9, LAST_BUCKET, beyond);
    asm.jump(fits);
    asm.place(beyond);
    asm.op_imm(Op::Mov, R9, LAST_BUCKET);
    asm.place(fits);
}

/// A read took `R8` ns; both times are powers of two.
fn joint(asm: &mut Assembler, maps: &Maps) {
    asm.op(Op::Mov, R9, R8);
    log2(asm, R9, R2, R3);
    asm.op(Op::Mov, R7, R2);
    asm.load(Eight, R9, R6, thread::IN_DEVICE);
    log2(asm, R9, R2, R3);
    asm.op_imm(Op::And, R7, (1 << JOINT_BITS) - 1);
    asm.op_imm(Op::And, R2, (1 << JOINT_BITS) - 1);
    asm.op_imm(Op::Shl, R7, JOINT_BITS);
    asm.op(Op::Or, R7, R2);
    asm.op_imm(Op::Shl, R7, 3);
    asm.array_value(R1, maps.joint.as_fd(), 0);
    asm.op(Op::Add, R1, R7);
    asm.op_imm(Op::Mov, R2, 1);
    asm.atomic_add(R1, 0, R2);
}

/// `value` is destroyed. 0 gives 0.
fn log2(asm: &mut Assembler, value: Register, result: Register, scratch: Register) {
    asm.op_imm(Op::Mov, result, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let small = asm.label();
        asm.op(Op::Mov, scratch, value);
        asm.op_imm(Op::Shr, scratch, bits);
        asm.jump_if(If::Equal, scratch, 0, small);
        asm.op(Op::Mov, value, scratch);
        asm.op_imm(Op::Add, result, bits);
        asm.place(small);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_stats::bucket_index;

    /// Executes instructions on 64 bits and jumps, up to the exit.
    fn execute(code: &[u8], registers: &mut [u64; 11]) {
        let mut at = 0;
        loop {
            let [op, sides, low, high, a, b, c, d] = code[8 * at..].first_chunk().copied().unwrap();
            let immediate = i64::from(i32::from_le_bytes([a, b, c, d])) as u64;
            let (left, right) = (usize::from(sides & 0xf), usize::from(sides >> 4));
            let right = if op & 0x08 == 0 { immediate } else { registers[right] };
            let value = registers[left];
            let jumps = match op & !0x08 {
                0x95 => return,
                0x05 => true,
                0x15 => value == right,
                0x25 => value > right,
                _ => false,
            };
            match op & !0x08 {
                0x07 => registers[left] = value.wrapping_add(right),
                0x17 => registers[left] = value.wrapping_sub(right),
                0x47 => registers[left] = value | right,
                0x67 => registers[left] = value << right,
                0x77 => registers[left] = value >> right,
                0xb7 => registers[left] = right,
                _ => {}
            }
            at += 1;
            if jumps {
                at = (at as i64 + i64::from(i16::from_le_bytes([low, high]))) as usize;
            }
        }
    }

    #[test]
    fn the_kernel_sorts_durations_into_the_buckets_of_our_histograms() {
        let mut asm = Assembler::default();
        bucket(&mut asm);
        asm.exit();
        let code = asm.finish();
        let around = (0..64).flat_map(|bit| [-1, 0, 1].map(|more| (1_u64 << bit).wrapping_add_signed(more)));
        let spread = (0..4000_u64).map(|number| number * number * number * 31);
        for ns in around.chain(spread).chain([u64::MAX]) {
            let mut registers = [0; 11];
            registers[8] = ns;
            execute(&code, &mut registers);
            assert_eq!(registers[9] as usize, bucket_index(ns), "{ns} ns");
        }
    }
}
