//! Reads and writes of the main database file through our own descriptor.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::aligned::{ALIGN, AlignedBuffer, copy_in};
use super::gather::Gather;
use super::location::IoMode;
use super::registry::Attached;

/// The largest page that SQLite knows.
const LARGEST_PAGE: usize = 65_536;

/// The database file as a file of whole pages.
pub(super) struct PageFile {
    file: Attached,
    /// For the callers whose memory is not aligned: SQLite's checkpointer, for one, copies pages through a buffer
    /// of its own.
    bounce: Option<AlignedBuffer>,
    gather: Option<Gather>,
}

impl PageFile {
    pub(super) fn new(file: Attached, mode: IoMode) -> Self {
        let gather = (mode == IoMode::Streaming).then(|| Gather::new(file.fd()));
        Self { file, bounce: None, gather }
    }

    pub(super) fn file(&self) -> &Attached {
        &self.file
    }

    /// The descriptor, for the registry. Whatever is gathered should have been settled.
    pub(super) fn into_file(self) -> Attached {
        drop(self.gather);
        self.file
    }

    /// Whether a read goes through our descriptor. SQLite also reads and writes parts of the header, which direct
    /// I/O cannot: those belong to the ordinary descriptor, as do all reads of a loader.
    pub(super) fn reads(&self, offset: u64, len: usize) -> bool {
        self.gather.is_none() && self.writes(offset, len)
    }

    /// Whether a write goes through our descriptor.
    pub(super) fn writes(&self, offset: u64, len: usize) -> bool {
        !self.file.access().direct || (offset.is_multiple_of(ALIGN as u64) && len.is_multiple_of(ALIGN))
    }

    /// Writes what is still to be written. Needed before anything but a write of a page happens to the file.
    ///
    /// # Errors
    /// What `pwrite` says.
    pub(super) fn settle(&mut self) -> Result<(), Errno> {
        self.gather.as_mut().map_or(Ok(()), Gather::flush)
    }

    /// Fills `buffer` if what belongs there is gathered and not written yet; false if it is to be read from the file.
    ///
    /// # Errors
    /// What `pwrite` says, of a write that had to be waited for.
    pub(super) fn read_gathered(
        &mut self,
        buffer: &mut [MaybeUninit<u8>],
        offset: u64,
    ) -> Result<bool, Errno> {
        self.gather.as_mut().map_or(Ok(false), |gather| gather.read(buffer, offset))
    }

    /// Reads until `buffer` is full or the file ends; returns the bytes read.
    ///
    /// # Errors
    /// What `pread` says. EINVAL: this file system or device has no direct I/O with 4 KiB alignment.
    pub(super) fn read(&mut self, buffer: &mut [MaybeUninit<u8>], offset: u64) -> Result<usize, Errno> {
        if !self.needs_bounce(buffer.as_ptr()) {
            return read_full(&self.file, buffer, offset);
        }
        let len = buffer.len().min(LARGEST_PAGE);
        let bounce = self.bounce.get_or_insert_with(|| AlignedBuffer::new(LARGEST_PAGE));
        let bounce = &mut bounce.bytes()[..len];
        let got = read_full(&self.file, bounce, offset)?;
        buffer[..got].copy_from_slice(&bounce[..got]);
        Ok(got)
    }

    /// Writes all of `data`.
    ///
    /// # Errors
    /// What `pwrite` says.
    pub(super) fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Errno> {
        if let Some(gather) = &mut self.gather {
            return gather.write(data, offset);
        }
        if !self.needs_bounce(data.as_ptr().cast()) {
            return write_full(self.file.fd(), data, offset);
        }
        let bounce = self.bounce.get_or_insert_with(|| AlignedBuffer::new(LARGEST_PAGE));
        write_full(self.file.fd(), copy_in(bounce.bytes(), data), offset)
    }

    fn needs_bounce(&self, start: *const MaybeUninit<u8>) -> bool {
        self.file.access().direct && !start.addr().is_multiple_of(ALIGN)
    }
}

fn read_full(file: &Attached, buffer: &mut [MaybeUninit<u8>], offset: u64) -> Result<usize, Errno> {
    let mut done = 0;
    while done < buffer.len() {
        let got = retry_on_intr(|| {
            pread(file.fd(), &mut buffer[done..], offset + done as u64).map(|(i, _)| i.len())
        })?;
        done += got;
        // Direct I/O stops at an odd place only where the file ends.
        if got == 0 || (file.access().direct && !done.is_multiple_of(ALIGN)) {
            break;
        }
    }
    Ok(done)
}

/// Writes all of `data`.
///
/// # Errors
/// What `pwrite` says.
pub(super) fn write_full(fd: &OwnedFd, mut data: &[u8], mut offset: u64) -> Result<(), Errno> {
    while !data.is_empty() {
        match retry_on_intr(|| pwrite(fd, data, offset))? {
            0 => return Err(Errno::NOSPC),
            put => {
                data = &data[put..];
                offset += put as u64;
            }
        }
    }
    Ok(())
}
