//! Reads and writes of main database files through our own descriptors.
//!
//! POSIX drops all locks of a process on a file when the process closes *any* descriptor of it. A descriptor that a connection no
//! longer needs is therefore parked for the next one, and closed only with the last connection.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::IoMode;
use super::gather::Gather;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(path: &Path) -> Result<Self, Errno> {
        let named = stat(path)?;
        Ok(Self { device: named.st_dev, inode: named.st_ino })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) direct: bool,
    pub(super) writable: bool,
}

impl Access {
    fn flags(self) -> OFlags {
        let mode = if self.writable { OFlags::RDWR } else { OFlags::RDONLY };
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        mode | direct | OFlags::CLOEXEC
    }
}

/// It goes back through [`Files::detach`].
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) fd: Arc<OwnedFd>,
    file: FileId,
    pub(super) access: Access,
}

#[derive(Default)]
struct Entry {
    connections: usize,
    parked: Vec<(Access, Arc<OwnedFd>)>,
}

#[derive(Default)]
pub(super) struct Files(BTreeMap<FileId, Entry>);

static FILES: Mutex<Files> = Mutex::new(Files(BTreeMap::new()));

/// A connection opens and closes SQLite's descriptor and ours under one lock, so that both have the same last connection.
pub(super) fn lock() -> MutexGuard<'static, Files> {
    slob_engine::lock(&FILES)
}

/// `work` may open and close the file: no lock can be lost.
pub(crate) fn while_unused<T>(path: &Path, work: impl FnOnce() -> T) -> Result<Option<T>, Errno> {
    let file = FileId::of(path)?;
    let files = lock();
    Ok((!files.0.contains_key(&file)).then(work))
}

impl Files {
    /// EINVAL: the file system has no direct I/O.
    pub(super) fn attach(&mut self, path: &Path, access: Access) -> Result<Attached, Errno> {
        let file = FileId::of(path)?;
        // Reuse bounds the number of descriptors.
        let parked = self.0.get_mut(&file).and_then(|entry| {
            let at = entry.parked.iter().position(|(kind, _)| *kind == access)?;
            Some(entry.parked.swap_remove(at).1)
        });
        let fd = match parked {
            Some(fd) => fd,
            None => Arc::new(open(path, access.flags(), Mode::empty())?),
        };
        self.0.entry(file).or_default().connections += 1;
        Ok(Attached { fd, file, access })
    }

    /// SQLite's own descriptor must be closed already.
    pub(super) fn detach(&mut self, attached: Attached) {
        let Attached { fd, file, access } = attached;
        let Some(entry) = self.0.get_mut(&file) else { return };
        entry.parked.push((access, fd));
        entry.connections -= 1;
        if entry.connections == 0 {
            self.0.remove(&file);
        }
    }
}

/// Disks want 512 or 4096; database pages suit both.
const ALIGN: usize = 4096;
const LARGEST_PAGE: usize = 65_536;

#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Block {
    _bytes: [MaybeUninit<u8>; ALIGN],
}

pub(super) struct AlignedBuffer(Box<[Block]>);

impl AlignedBuffer {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![Block { _bytes: [MaybeUninit::uninit(); ALIGN] }; bytes.div_ceil(ALIGN)].into_boxed_slice())
    }

    pub(super) fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the blocks are contiguous, have no padding (their size is their alignment), and MaybeUninit bytes may
        // hold anything.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * ALIGN) }
    }
}

/// Panics if the buffer is shorter.
pub(super) fn copy_in<'a>(buffer: &'a mut [MaybeUninit<u8>], data: &[u8]) -> &'a [u8] {
    let place = &mut buffer[..data.len()];
    // SAFETY: both slices have the same length and can't overlap; MaybeUninit<u8> and u8 have the same layout, and after the
    // copy every byte is initialised.
    unsafe {
        std::ptr::copy_nonoverlapping(data.as_ptr(), place.as_mut_ptr().cast::<u8>(), data.len());
        std::slice::from_raw_parts(place.as_ptr().cast::<u8>(), data.len())
    }
}

pub(super) struct PageFile {
    pub(super) file: Attached,
    /// SQLite's checkpointer, for one, copies pages through an unaligned buffer.
    bounce: Option<AlignedBuffer>,
    pub(super) gather: Option<Gather>,
}

impl PageFile {
    pub(super) fn new(file: Attached, mode: IoMode) -> Self {
        let gather = (mode == IoMode::Streaming).then(|| Gather::new(&file.fd));
        Self { file, bounce: None, gather }
    }

    /// Gathered writes must be settled.
    pub(super) fn detach(self, files: &mut Files) {
        // The writing thread must end first.
        drop(self.gather);
        files.detach(self.file);
    }

    /// Direct I/O can't transfer parts of the header. Reads of a loader use SQLite's descriptor too.
    pub(super) fn reads(&self, offset: u64, len: usize) -> bool {
        self.gather.is_none() && self.writes(offset, len)
    }

    pub(super) fn writes(&self, offset: u64, len: usize) -> bool {
        !self.file.access.direct || (offset.is_multiple_of(ALIGN as u64) && len.is_multiple_of(ALIGN))
    }

    /// Returns fewer bytes at the end of the file. EINVAL: no direct I/O with 4 KiB alignment.
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

    pub(super) fn write(&mut self, data: &[u8], offset: u64) -> Result<(), Errno> {
        if let Some(gather) = &mut self.gather {
            return gather.write(data, offset);
        }
        if !self.needs_bounce(data.as_ptr().cast()) {
            return write_full(&self.file.fd, data, offset);
        }
        let bounce = self.bounce.get_or_insert_with(|| AlignedBuffer::new(LARGEST_PAGE));
        write_full(&self.file.fd, copy_in(bounce.bytes(), data), offset)
    }

    fn needs_bounce(&self, start: *const MaybeUninit<u8>) -> bool {
        self.file.access.direct && !start.addr().is_multiple_of(ALIGN)
    }
}

fn read_full(file: &Attached, buffer: &mut [MaybeUninit<u8>], offset: u64) -> Result<usize, Errno> {
    let mut done = 0;
    while done < buffer.len() {
        let got = retry_on_intr(|| {
            pread(&file.fd, &mut buffer[done..], offset + done as u64).map(|(i, _)| i.len())
        })?;
        done += got;
        // Direct I/O stops at an unaligned offset only at the end of the file.
        if got == 0 || (file.access.direct && !done.is_multiple_of(ALIGN)) {
            break;
        }
    }
    Ok(done)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    const PLAIN: Access = Access { direct: false, writable: true };

    #[test]
    fn descriptors_live_as_long_as_the_last_connection_and_are_reused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut files = Files::default();
        let first = files.attach(file.path(), PLAIN).unwrap();
        let second = files.attach(file.path(), PLAIN).unwrap();
        let number = second.fd.as_raw_fd();
        files.detach(second);
        let open = |fd: i32| std::fs::exists(format!("/proc/self/fd/{fd}")).unwrap();
        assert!(open(number), "parked, not closed");
        let third = files.attach(file.path(), PLAIN).unwrap();
        assert_eq!(third.fd.as_raw_fd(), number, "a parked descriptor is used again");
        files.detach(first);
        files.detach(third);
        assert!(files.0.is_empty(), "all closed with the last connection");
    }

    #[test]
    fn kinds_of_descriptors_are_not_mixed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut files = Files::default();
        let keeper = files.attach(file.path(), PLAIN).unwrap();
        let reader = files.attach(file.path(), Access { writable: false, ..PLAIN }).unwrap();
        let number = reader.fd.as_raw_fd();
        files.detach(reader);
        let writer = files.attach(file.path(), PLAIN).unwrap();
        assert_ne!(writer.fd.as_raw_fd(), number);
        files.detach(writer);
        files.detach(keeper);
    }

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
    fn data_longer_than_the_buffer_are_not_copied() {
        copy_in(AlignedBuffer::new(1).bytes(), &[0; ALIGN + 1]);
    }
}
