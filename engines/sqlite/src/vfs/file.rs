//! Our two kinds of files: the main database file, and the write-ahead log.
//!
//! Each is SQLite's own file object with a header of ours in front. Calls go to SQLite's object, except that pages
//! of the main file take our descriptor, and that everything worth counting is counted.
//!
//! # Coherence of direct and ordinary I/O
//! A database page is only ever transferred through our descriptor, parts of page 1 through SQLite's. The kernel
//! keeps the two views equal: a direct read first writes back what the page cache holds dirty of that range, and a
//! direct write drops what the page cache holds of it, before and after. So a header read through the page cache
//! after a checkpoint sees the checkpoint's data, here and in any other process. What direct I/O does not give is
//! durability: the device's own cache is flushed by fsync only, which SQLite calls where it must (on its own
//! descriptor; fsync works on the file).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::ffi::{
    SQLITE_FULL, SQLITE_IOERR, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ, SQLITE_IOERR_WRITE, SQLITE_OK,
    sqlite3_file, sqlite3_int64, sqlite3_io_methods,
};
use rustix::io::Errno;

use super::meter::{FileMeter, IoFault, Shared};
use super::page_file::PageFile;

/// What our part of an open file holds.
pub(super) struct OpenFile {
    pub(super) meter: Arc<FileMeter>,
    pub(super) shared: Shared,
    pub(super) path: String,
    /// Our own descriptor; the write-ahead log has none.
    pub(super) pages: Option<PageFile>,
}

/// The file object in SQLite's memory: this header, then SQLite's own object. SQLite aligns that memory to 8
/// bytes only, so whatever wants more lives behind the pointer.
#[repr(C)]
pub(super) struct Header {
    pub(super) methods: *const sqlite3_io_methods,
    pub(super) open: *mut OpenFile,
}

/// Bytes that our header adds to SQLite's file object.
pub(super) const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(align_of::<Header>() <= 8 && HEADER_BYTES.is_multiple_of(8));

/// SQLite's own file object behind our header.
///
/// # Safety
/// `file` must point at memory of our VFS's szOsFile bytes.
#[inline]
pub(super) unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: szOsFile covers the header and the inner object.
    unsafe { file.byte_add(HEADER_BYTES) }
}

/// Our part of an open file.
///
/// # Safety
/// `file` must have been opened by our VFS with a header, and not be in use by another call.
#[inline]
pub(super) unsafe fn open_file<'a>(file: *mut sqlite3_file) -> &'a mut OpenFile {
    // SAFETY: the header's pointer is set when the file is opened and freed when it is closed.
    unsafe { &mut *(*file.cast::<Header>()).open }
}

/// Calls a method of SQLite's own file object; a method it lacks is an I/O error.
macro_rules! forward {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        // SAFETY: the inner object was opened by the VFS that it belongs to and is passed to its own method.
        unsafe {
            let inner = $crate::vfs::file::inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $arg)*),
                None => SQLITE_IOERR,
            }
        }
    }};
}
pub(super) use forward;

impl OpenFile {
    /// Lets what follows count for nobody.
    pub(super) fn stop_counting(&mut self) {
        self.shared.close(&self.meter);
        self.shared = Shared::default();
        self.meter = self.shared.open(FileMeter::new(self.meter.kind()));
    }

    fn fault(&self, action: &'static str, offset: u64, errno: Errno) {
        let direct = self.pages.as_ref().is_some_and(|pages| pages.file().access().direct);
        self.shared.set_fault(if direct && errno == Errno::INVAL {
            IoFault::NoDirectIo { path: self.path.clone() }
        } else {
            IoFault::Transfer { action, path: self.path.clone(), offset, errno }
        });
    }

    fn write_fault(&self, offset: u64, errno: Errno) -> c_int {
        self.fault("write", offset, errno);
        if errno == Errno::NOSPC { SQLITE_FULL } else { SQLITE_IOERR_WRITE }
    }

    /// Writes what is gathered, before anything but a write of a page happens to the file. Returns SQLite's result
    /// code.
    pub(super) fn settle(&mut self) -> c_int {
        match self.pages.as_mut().map_or(Ok(()), PageFile::settle) {
            Ok(()) => SQLITE_OK,
            Err(errno) => self.write_fault(0, errno),
        }
    }
}

/// Reads from the main file.
///
/// # Safety
/// As SQLite's xRead: `buffer` has room for `amount` bytes.
pub(super) unsafe extern "C" fn read_main(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let open = unsafe { open_file(file) };
    let (len, at) = (amount as usize, offset as u64);
    let is_page = is_page(at, len);
    // SAFETY: SQLite gives us `amount` bytes to fill.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), len) };
    let pages = match &mut open.pages {
        Some(pages) if is_page && pages.reads(at, len) => pages,
        pages => {
            return match pages.as_mut().map_or(Ok(false), |pages| pages.read_gathered(buffer, at)) {
                Ok(true) => SQLITE_OK,
                Ok(false) => forward!(file, xRead, buffer.as_mut_ptr().cast(), amount, offset),
                Err(errno) => open.write_fault(at, errno),
            };
        }
    };
    let start = Instant::now();
    let result = pages.read(buffer, at);
    open.meter.reads.record(start, result.unwrap_or(0) as u64);
    match result {
        Ok(got) => {
            // SQLite relies on it: what lies beyond the end of the file reads as zeros.
            buffer[got..].fill(MaybeUninit::zeroed());
            if got == len { SQLITE_OK } else { SQLITE_IOERR_SHORT_READ }
        }
        Err(errno) => {
            open.fault("read", at, errno);
            SQLITE_IOERR_READ
        }
    }
}

/// Tells pages from parts of the header: a page is at least 512 bytes and lies at a multiple of its size.
fn is_page(offset: u64, len: usize) -> bool {
    len >= 512 && offset.is_multiple_of(len as u64)
}

/// Writes to the main file.
///
/// # Safety
/// As SQLite's xWrite: `data` holds `amount` bytes.
pub(super) unsafe extern "C" fn write_main(
    file: *mut sqlite3_file,
    data: *const c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let open = unsafe { open_file(file) };
    let (len, at, start) = (amount as usize, offset as u64, Instant::now());
    let rc = match &mut open.pages {
        Some(pages) if pages.writes(at, len) => {
            // SAFETY: SQLite gives us `amount` bytes to write.
            let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) };
            match pages.write(data, at) {
                Ok(()) => SQLITE_OK,
                Err(errno) => open.write_fault(at, errno),
            }
        }
        _ => match open.settle() {
            SQLITE_OK => forward!(file, xWrite, data, amount, offset),
            rc => rc,
        },
    };
    if rc == SQLITE_OK {
        open.meter.writes.record(start, len as u64);
    }
    rc
}

/// Writes to the write-ahead log.
///
/// # Safety
/// As SQLite's xWrite.
pub(super) unsafe extern "C" fn write_wal(
    file: *mut sqlite3_file,
    data: *const c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let start = Instant::now();
    let rc = forward!(file, xWrite, data, amount, offset);
    if rc == SQLITE_OK {
        // SAFETY: SQLite calls this method for files that we opened, one call at a time.
        unsafe { open_file(file) }.meter.writes.record(start, amount as u64);
    }
    rc
}

/// fsync of either file.
///
/// # Safety
/// As SQLite's xSync.
pub(super) unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let open = unsafe { open_file(file) };
    let start = Instant::now();
    let rc = match open.settle() {
        SQLITE_OK => forward!(file, xSync, flags),
        rc => rc,
    };
    open.meter.syncs.record(start, 0);
    rc
}

/// Closes either file: SQLite's object first, then, if this was the last connection, our descriptors.
///
/// # Safety
/// As SQLite's xClose.
pub(super) unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let settled = unsafe { open_file(file) }.settle();
    let mut files = super::registry::lock();
    let closed = forward!(file, xClose);
    // SAFETY: the pointer came from Box::into_raw when the file was opened; SQLite closes a file once.
    let open = unsafe { Box::from_raw((*file.cast::<Header>()).open) };
    open.shared.close(&open.meter);
    if let Some(pages) = open.pages {
        files.detach(pages.into_file());
    }
    if settled == SQLITE_OK { closed } else { settled }
}
