//! Gathers consecutive writes and writes them in the background. SQLite writes page by page, which costs a device round trip, or
//! more CPU time than making the rows.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use rustix::io::Errno;
use slob_engine::lock;

use super::pages::{AlignedBuffer, copy_in, write_full};

/// Larger ones are no faster on the devices tried.
const CAPACITY: usize = 1 << 20;
/// SQLite rewrites the neighbours of each new interior page; gathered, they cost no I/O.
const OPEN: usize = 8;
/// A small piece must not make SQLite wait for the large one before it.
const IN_FLIGHT: usize = 4;

struct Piece {
    buffer: AlignedBuffer,
    offset: u64,
    len: usize,
}

impl Piece {
    fn new() -> Self {
        Self { buffer: AlignedBuffer::new(CAPACITY), offset: 0, len: 0 }
    }

    /// `None` if the bytes neither overlap nor fit at the end.
    fn place(&self, offset: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let end = at.checked_add(len)?;
        (end <= self.len || (at == self.len && end <= CAPACITY)).then_some(at)
    }

    fn end(&self) -> u64 {
        self.offset + self.len as u64
    }

    fn touches(&self, bytes: &Range<u64>) -> bool {
        bytes.start < self.end() && self.offset < bytes.end
    }

    fn put(&mut self, at: usize, data: &[u8]) {
        copy_in(&mut self.buffer.bytes()[at..], data);
        self.len = self.len.max(at + data.len());
    }
}

/// SQLite's writes that the file may not hold yet.
///
/// Pages have one size, so two are equal or disjoint. No page is in two pieces being filled, and pieces are written in order, so
/// the last write of a page wins.
pub(super) struct Gather {
    /// The piece with the last write comes last.
    filling: Vec<Piece>,
    writer: Option<Writer>,
}

impl Gather {
    pub(super) fn new(fd: &Arc<OwnedFd>) -> Self {
        Self { filling: Vec::with_capacity(OPEN), writer: Writer::start(Arc::clone(fd)) }
    }

    /// Errors may be those of an earlier write.
    pub(super) fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Errno> {
        let bytes = offset..offset + data.len() as u64;
        let known = self
            .filling
            .iter()
            .position(|piece| piece.touches(&bytes))
            .or_else(|| self.filling.iter().position(|piece| piece.place(offset, data.len()).is_some()));
        let mut piece = match known {
            Some(index) => self.filling.remove(index),
            None => self.begin(offset)?,
        };
        let at = piece.place(offset, data.len()).ok_or(Errno::INVAL)?;
        piece.put(at, data);
        if piece.len + data.len() > CAPACITY {
            return self.writer.as_mut().ok_or(Errno::AGAIN)?.write(piece);
        }
        self.filling.push(piece);
        Ok(())
    }

    /// False if the bytes are in the file. Errors are those of pending writes.
    pub(super) fn read(&mut self, buffer: &mut [MaybeUninit<u8>], offset: u64) -> Result<bool, Errno> {
        let bytes = offset..offset + buffer.len() as u64;
        let touched = self.filling.iter_mut().find(|piece| piece.touches(&bytes));
        if let Some(piece) = touched {
            if bytes.start >= piece.offset && bytes.end <= piece.end() {
                let at = (bytes.start - piece.offset) as usize;
                buffer.copy_from_slice(&piece.buffer.bytes()[at..at + buffer.len()]);
                return Ok(true);
            }
            self.flush()?;
        } else if let Some(writer) = &mut self.writer
            && writer.in_flight.iter().any(|sent| bytes.start < sent.end && sent.start < bytes.end)
        {
            writer.wait(0)?;
        }
        Ok(false)
    }

    /// After an error the data are lost.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        // The system had no thread left.
        let writer = self.writer.as_mut().ok_or(Errno::AGAIN)?;
        let given = self.filling.drain(..).try_for_each(|piece| writer.write(piece));
        let written = writer.wait(0);
        given.and(written)
    }

    /// Replaces the piece that has waited longest.
    fn begin(&mut self, offset: u64) -> Result<Piece, Errno> {
        let writer = self.writer.as_mut().ok_or(Errno::AGAIN)?;
        if self.filling.len() == OPEN {
            writer.write(self.filling.remove(0))?;
        }
        let piece = idle().pop().unwrap_or_else(Piece::new);
        Ok(Piece { offset, len: 0, ..piece })
    }
}

/// Reused memory saves a fault for each page.
fn idle() -> MutexGuard<'static, Vec<Piece>> {
    static IDLE: Mutex<Vec<Piece>> = Mutex::new(Vec::new());
    lock(&IDLE)
}

struct Writer {
    /// `None` only while it is being stopped.
    pieces: Option<SyncSender<Piece>>,
    written: Receiver<(Piece, Result<(), Errno>)>,
    in_flight: VecDeque<Range<u64>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(fd: Arc<OwnedFd>) -> Option<Self> {
        let (pieces, taken) = sync_channel::<Piece>(IN_FLIGHT);
        let (done, written) = sync_channel(IN_FLIGHT);
        let write_all = move || {
            for mut piece in taken {
                let bytes = &piece.buffer.bytes()[..piece.len];
                // SAFETY: Piece::put has initialised the first `len` bytes.
                let data = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
                let result = write_full(&fd, data, piece.offset);
                if done.send((piece, result)).is_err() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("slob-load-write".into()).spawn(write_all).ok()?;
        let in_flight = VecDeque::with_capacity(IN_FLIGHT);
        Some(Self { pieces: Some(pieces), written, in_flight, thread: Some(thread) })
    }

    fn write(&mut self, piece: Piece) -> Result<(), Errno> {
        self.wait(IN_FLIGHT - 1)?;
        let bytes = piece.offset..piece.end();
        self.pieces.as_ref().and_then(|pieces| pieces.send(piece).ok()).ok_or(Errno::IO)?;
        self.in_flight.push_back(bytes);
        Ok(())
    }

    /// Returns the first failure.
    fn wait(&mut self, left: usize) -> Result<(), Errno> {
        let mut first = Ok(());
        while self.in_flight.len() > left {
            let (piece, result) = self.written.recv().map_err(|_| Errno::IO)?;
            self.in_flight.pop_front();
            idle().push(piece);
            first = first.and(result);
        }
        first
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread must end before the descriptor goes back to the registry.
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;
    use std::os::unix::fs::FileExt;

    const PAGE: usize = 4096;

    proptest! {
        #[test]
        fn the_file_holds_the_last_write_of_each_page(
            runs in prop::collection::vec((0usize..600, 1usize..400, any::<bool>()), 1..12)
        ) {
            let mut file = tempfile::tempfile().unwrap();
            let fd = Arc::new(OwnedFd::from(file.try_clone().unwrap()));
            let mut gather = Gather::new(&fd);
            let mut expected = Vec::new();
            for (i, (first, pages, flush)) in runs.into_iter().enumerate() {
                for page in first..first + pages {
                    let data = [(i * 31 + page) as u8; PAGE];
                    gather.write(&data, (page * PAGE) as u64).unwrap();
                    if expected.len() < (page + 1) * PAGE {
                        expected.resize((page + 1) * PAGE, 0);
                    }
                    expected[page * PAGE..(page + 1) * PAGE].copy_from_slice(&data);
                }
                let probed = (first.saturating_sub(i * 7) * PAGE) as u64;
                let mut page = [MaybeUninit::uninit(); PAGE];
                if gather.read(&mut page, probed).unwrap() {
                    // SAFETY: `read` has just filled it.
                    let page = page.map(|byte| unsafe { byte.assume_init() });
                    prop_assert!(page == expected[probed as usize..][..PAGE], "gathered pages hold the last write");
                } else {
                    let mut there = [0; PAGE];
                    let end = file.metadata().unwrap().len();
                    file.read_exact_at(&mut there[..end.saturating_sub(probed).min(PAGE as u64) as usize], probed).unwrap();
                    let mut wanted = expected.get(probed as usize..).unwrap_or_default().to_vec();
                    wanted.resize(PAGE.max(wanted.len()), 0);
                    prop_assert!(there == wanted[..PAGE], "other pages are in the file");
                }
                if flush {
                    gather.flush().unwrap();
                }
            }
            gather.flush().unwrap();
            drop(gather);
            let mut found = Vec::new();
            file.read_to_end(&mut found).unwrap();
            prop_assert!(found == expected);
        }
    }

    #[test]
    fn a_failed_write_is_reported_once() {
        let fd = Arc::new(OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap()));
        let mut gather = Gather::new(&fd);
        gather.write(&[0; PAGE], 0).unwrap();
        assert_eq!(gather.flush(), Err(Errno::BADF), "the file is read-only");
        assert_eq!(gather.flush(), Ok(()), "once");
    }
}
