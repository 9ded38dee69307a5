//! Gathering consecutive writes into large ones, and writing them behind the writer's back.
//!
//! SQLite writes page by page. Through the page cache of the operating system that costs more processor time than
//! making the rows does; past it, one write for each page is a device round trip for 8 KiB. So while a schema is
//! loaded its pages are collected here, and a second thread writes them, a mebibyte at a time, while the next ones
//! are made.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::io::Errno;

use super::aligned::{AlignedBuffer, copy_in};
use super::page_file::write_full;

/// Bytes of a write: from here on larger ones bring nothing on the devices tried.
const CAPACITY: usize = 1 << 20;

/// Consecutive pages on their way to the file.
struct Piece {
    buffer: AlignedBuffer,
    /// Where in the file they belong.
    offset: u64,
    len: usize,
}

impl Piece {
    fn new() -> Self {
        Self { buffer: AlignedBuffer::new(CAPACITY), offset: 0, len: 0 }
    }

    /// Whether `len` bytes at `offset` continue it, and fit.
    fn takes(&self, offset: u64, len: usize) -> bool {
        offset == self.offset + self.len as u64 && self.len + len <= CAPACITY
    }
}

/// What SQLite has written and the file may not have yet: one piece being filled, one being written.
pub(super) struct Gather {
    filling: Piece,
    writer: Option<Writer>,
}

impl Gather {
    /// Gathers writes to `fd`.
    pub(super) fn new(fd: &Arc<OwnedFd>) -> Self {
        Self { filling: Piece::new(), writer: Writer::start(Arc::clone(fd)) }
    }

    /// Takes a write.
    ///
    /// # Errors
    /// What `pwrite` says, of this write or an earlier one.
    pub(super) fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Errno> {
        if !self.filling.takes(offset, data.len()) {
            self.hand_over()?;
            self.filling.offset = offset;
        }
        copy_in(&mut self.filling.buffer.bytes()[self.filling.len..], data);
        self.filling.len += data.len();
        Ok(())
    }

    /// Returns when everything is written.
    ///
    /// # Errors
    /// What `pwrite` says; the data are then lost, as those of a failed write are.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        self.hand_over()?;
        self.writer.as_mut().map_or(Err(Errno::AGAIN), Writer::wait)
    }

    /// Gives the piece being filled to the writer.
    fn hand_over(&mut self) -> Result<(), Errno> {
        if self.filling.len == 0 {
            return Ok(());
        }
        // Without a second thread nothing can be written: the system is out of them.
        let writer = self.writer.as_mut().ok_or(Errno::AGAIN)?;
        writer.wait()?;
        let empty = writer.idle.take().unwrap_or_else(Piece::new);
        writer.begin(std::mem::replace(&mut self.filling, empty))
    }
}

/// The thread that writes.
struct Writer {
    /// `None` only while it is being stopped.
    pieces: Option<SyncSender<Piece>>,
    written: Receiver<(Piece, Result<(), Errno>)>,
    writing: bool,
    /// A piece that has been written, for its memory.
    idle: Option<Piece>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn start(fd: Arc<OwnedFd>) -> Option<Self> {
        let (pieces, taken) = sync_channel::<Piece>(1);
        let (done, written) = sync_channel(1);
        let write_all = move || {
            for mut piece in taken {
                let bytes = &piece.buffer.bytes()[..piece.len];
                // SAFETY: Gather::write has initialised the first `len` bytes.
                let data = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
                let result = write_full(&fd, data, piece.offset);
                if done.send((piece, result)).is_err() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("slob-load-write".into()).spawn(write_all).ok()?;
        Some(Self { pieces: Some(pieces), written, writing: false, idle: None, thread: Some(thread) })
    }

    fn begin(&mut self, piece: Piece) -> Result<(), Errno> {
        let sent = self.pieces.as_ref().is_some_and(|pieces| pieces.send(piece).is_ok());
        self.writing = sent;
        if sent { Ok(()) } else { Err(Errno::IO) }
    }

    /// Waits for the piece being written.
    fn wait(&mut self) -> Result<(), Errno> {
        if !std::mem::take(&mut self.writing) {
            return Ok(());
        }
        let (mut piece, result) = self.written.recv().map_err(|_| Errno::IO)?;
        piece.len = 0;
        self.idle = Some(piece);
        result
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Ends the thread's loop. It must be gone before the descriptor goes back to the registry.
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
    fn a_failed_write_is_told() {
        let fd = Arc::new(OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap()));
        let mut gather = Gather::new(&fd);
        gather.write(&[0; PAGE], 0).unwrap();
        assert_eq!(gather.flush(), Err(Errno::BADF), "the file is open for reading only");
        assert_eq!(gather.flush(), Ok(()), "once");
    }
}
