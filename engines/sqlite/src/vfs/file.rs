//! The main database file and the write-ahead log: SQLite's own file objects with a header of ours in front.
//!
//! A page is only transferred through our descriptor, parts of page 1 through SQLite's. The kernel keeps both equal: a direct
//! read first writes back dirty pages of its range, and a direct write drops cached ones. Direct I/O is not durable: only fsync
//! flushes the device's cache. SQLite calls it on its own descriptor; it works on the file.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::ffi::{
    self, SQLITE_CANTOPEN, SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_MMAP_SIZE,
    SQLITE_FCNTL_SIZE_HINT, SQLITE_FULL, SQLITE_IOERR, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ,
    SQLITE_IOERR_WRITE, SQLITE_NOTFOUND, SQLITE_OK, sqlite3_file, sqlite3_int64, sqlite3_io_methods,
};
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;

use super::gather::Gather;
use super::meter::{FileMeter, IoFault, Shared};
use super::pages::PageFile;

pub(super) struct OpenFile {
    pub(super) meter: Arc<FileMeter>,
    pub(super) shared: Shared,
    pub(super) path: String,
    /// `None` for the write-ahead log.
    pub(super) pages: Option<PageFile>,
}

/// SQLite aligns this memory to 8 bytes only; larger alignments are behind the pointer.
#[repr(C)]
pub(super) struct Header {
    pub(super) methods: *const sqlite3_io_methods,
    pub(super) open: *mut OpenFile,
}

pub(super) const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(align_of::<Header>() <= 8 && HEADER_BYTES.is_multiple_of(8));

/// # Safety
/// `file` must point at memory of our VFS's szOsFile bytes.
#[inline]
pub(super) unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: szOsFile covers the header and the inner object.
    unsafe { file.byte_add(HEADER_BYTES) }
}

/// # Safety
/// `file` must have been opened by our VFS with a header, and not be in use by another call.
#[inline]
unsafe fn open_file<'a>(file: *mut sqlite3_file) -> &'a mut OpenFile {
    // SAFETY: the header's pointer is set when the file is opened and freed when it is closed.
    unsafe { &mut *(*file.cast::<Header>()).open }
}

/// A missing method is an I/O error.
macro_rules! forward {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        // SAFETY: the inner object was opened by the VFS that it belongs to and is passed to its own method.
        unsafe {
            let inner = inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $arg)*),
                None => SQLITE_IOERR,
            }
        }
    }};
}

macro_rules! settle_and_forward {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        // SAFETY: SQLite calls this method for files that we opened, one call at a time.
        match unsafe { open_file($file) }.settle() {
            SQLITE_OK => forward!($file, $method $(, $arg)*),
            rc => rc,
        }
    }};
}

impl OpenFile {
    fn stop_counting(&mut self) {
        self.shared.close(&self.meter);
        self.shared = Shared::default();
        self.meter = self.shared.open(FileMeter::new(self.meter.kind));
    }

    fn fault(&self, action: &'static str, offset: u64, errno: Errno) {
        let direct = self.pages.as_ref().is_some_and(|pages| pages.file.access.direct);
        let path = self.path.clone();
        self.shared.set_fault(if direct && errno == Errno::INVAL {
            IoFault::NoDirectIo { path }
        } else {
            IoFault::Transfer { action, path, offset, errno }
        });
    }

    fn write_fault(&self, offset: u64, errno: Errno) -> c_int {
        self.fault("write", offset, errno);
        if errno == Errno::NOSPC { SQLITE_FULL } else { SQLITE_IOERR_WRITE }
    }

    fn gather(&mut self) -> Option<&mut Gather> {
        self.pages.as_mut()?.gather.as_mut()
    }

    /// Must precede every operation on the file but a write of a page. Returns SQLite's result code.
    fn settle(&mut self) -> c_int {
        match self.gather().map_or(Ok(()), Gather::flush) {
            Ok(()) => SQLITE_OK,
            Err(errno) => self.write_fault(0, errno),
        }
    }
}

/// Version 2 has the shared memory of the WAL. Version 3's memory mapping would bypass counters and direct I/O.
pub(super) static MAIN: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read_main),
    xWrite: Some(write_main),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

pub(super) static WAL: sqlite3_io_methods =
    sqlite3_io_methods { xRead: Some(forward_read), xWrite: Some(write_wal), ..MAIN };

unsafe extern "C" fn read_main(
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
        _ => {
            return match open.gather().map_or(Ok(false), |gather| gather.read(buffer, at)) {
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
            // SQLite relies on zeros beyond the end of the file.
            buffer[got..].fill(MaybeUninit::zeroed());
            if got == len { SQLITE_OK } else { SQLITE_IOERR_SHORT_READ }
        }
        Err(errno) => {
            open.fault("read", at, errno);
            SQLITE_IOERR_READ
        }
    }
}

/// A page has at least 512 bytes and lies at a multiple of its size.
fn is_page(offset: u64, len: usize) -> bool {
    len >= 512 && offset.is_multiple_of(len as u64)
}

unsafe extern "C" fn write_main(
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

unsafe extern "C" fn write_wal(
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

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let start = Instant::now();
    let rc = settle_and_forward!(file, xSync, flags);
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    unsafe { open_file(file) }.meter.syncs.record(start, 0);
    rc
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let settled = unsafe { open_file(file) }.settle();
    let mut files = super::pages::lock();
    let closed = forward!(file, xClose);
    // SAFETY: the pointer came from Box::into_raw when the file was opened; SQLite closes a file once.
    let open = unsafe { Box::from_raw((*file.cast::<Header>()).open) };
    open.shared.close(&open.meter);
    if let Some(pages) = open.pages {
        pages.detach(&mut files);
    }
    if settled == SQLITE_OK { closed } else { settled }
}

/// Defines methods that only call those of SQLite's own file object.
macro_rules! forwarders {
    ($($forward:ident! $name:ident = $method:ident($($arg:ident: $type:ty),*);)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $arg: $type)*) -> c_int {
            $forward!(file, $method $(, $arg)*)
        }
    )*};
}

forwarders! {
    forward! forward_read = xRead(buffer: *mut c_void, amount: c_int, offset: sqlite3_int64);
    settle_and_forward! truncate = xTruncate(size: sqlite3_int64);
    settle_and_forward! file_size = xFileSize(size: *mut sqlite3_int64);
    forward! lock = xLock(level: c_int);
    settle_and_forward! unlock = xUnlock(level: c_int);
    forward! check_reserved_lock = xCheckReservedLock(held: *mut c_int);
    forward! sector_size = xSectorSize();
    forward! device_characteristics = xDeviceCharacteristics();
    forward! shm_lock = xShmLock(offset: c_int, n: c_int, flags: c_int);
    forward! shm_unmap = xShmUnmap(delete: c_int);
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    place: *mut *mut c_void,
) -> c_int {
    let rc = forward!(file, xShmMap, region, bytes, extend, place);
    if matches!(rc & 0xff, SQLITE_CANTOPEN | SQLITE_IOERR) {
        let errno = super::last_errno();
        // SAFETY: SQLite calls this method for files that we opened, one call at a time.
        let open = unsafe { open_file(file) };
        open.shared.set_fault(IoFault::Open { path: format!("{}-shm", open.path), errno });
    }
    rc
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: the inner object was opened by the VFS that it belongs to and is passed to its own method.
    unsafe {
        let inner = inner(file);
        if let Some(method) = (*(*inner).pMethods).xShmBarrier {
            method(inner);
        }
    }
}

/// Codes above 100 are the application's.
const START_WRITE_BACK: c_int = 0x534C01;
const DROP_PAGE_CACHE: c_int = 0x534C02;
const STOP_COUNTING: c_int = 0x534C03;

unsafe extern "C" fn file_control(file: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    match op {
        SQLITE_FCNTL_MMAP_SIZE => return SQLITE_NOTFOUND,
        // SQLite ignores it without a chunk size, and a load sends one per 2 MiB.
        SQLITE_FCNTL_SIZE_HINT => return SQLITE_OK,
        START_WRITE_BACK | DROP_PAGE_CACHE | STOP_COUNTING => {}
        // SQLITE_FCNTL_SYNC among them, before each commit.
        _ => return settle_and_forward!(file, xFileControl, op, arg),
    }
    // SAFETY: SQLite calls this method for files that we opened, one call at a time.
    let open = unsafe { open_file(file) };
    if op == STOP_COUNTING {
        open.stop_counting();
        return SQLITE_OK;
    }
    let Some(pages) = &open.pages else { return SQLITE_NOTFOUND };
    let fd = &pages.file.fd;
    let done = if op == DROP_PAGE_CACHE {
        fadvise(fd, 0, None, Advice::DontNeed).is_ok()
    } else {
        // SAFETY: `start_write_back` passes two numbers with this code.
        let [offset, len] = unsafe { *arg.cast::<[u64; 2]>() };
        // SAFETY: a system call on an open descriptor with plain numbers.
        let rc = unsafe {
            libc::sync_file_range(fd.as_raw_fd(), offset as i64, len as i64, libc::SYNC_FILE_RANGE_WRITE)
        };
        rc == 0
    };
    if done { SQLITE_OK } else { SQLITE_IOERR }
}

// Another descriptor would drop this process's locks when it closes (see `pages`).

/// Does not wait.
pub fn start_write_back(connection: &Connection, bytes: Range<u64>) -> rusqlite::Result<()> {
    let mut range = [bytes.start, bytes.end - bytes.start];
    control(connection, START_WRITE_BACK, range.as_mut_ptr().cast())
}

/// Dirty pages stay.
pub fn drop_page_cache(connection: &Connection) -> rusqlite::Result<()> {
    control(connection, DROP_PAGE_CACHE, null_mut())
}

/// The counts so far stay.
pub fn stop_counting(connection: &Connection) -> rusqlite::Result<()> {
    let mut log: *mut sqlite3_file = null_mut();
    control(connection, SQLITE_FCNTL_JOURNAL_POINTER, (&raw mut log).cast())?;
    // SAFETY: SQLite has just given us its journal or log, which may not be open; a log of ours has our methods.
    unsafe {
        if !log.is_null() && std::ptr::eq((*log).pMethods, &raw const WAL) {
            open_file(log).stop_counting();
        }
    }
    control(connection, STOP_COUNTING, null_mut())
}

/// Bypasses SQLite's page cache. There must be no transaction and no write-ahead log.
pub fn read_page(connection: &Connection, page: u32, bytes: &mut [u8]) -> rusqlite::Result<()> {
    let mut file: *mut sqlite3_file = null_mut();
    control(connection, SQLITE_FCNTL_FILE_POINTER, (&raw mut file).cast())?;
    let (len, offset) = (bytes.len() as c_int, i64::from(page.saturating_sub(1)) * bytes.len() as i64);
    // SAFETY: SQLite has just given us its open file, which lives as long as the connection; the buffer has room for what is
    // asked.
    let rc = unsafe {
        match (*(*file).pMethods).xRead {
            Some(read) => read(file, bytes.as_mut_ptr().cast(), len, offset),
            None => SQLITE_IOERR,
        }
    };
    checked(rc)
}

fn control(connection: &Connection, op: c_int, arg: *mut c_void) -> rusqlite::Result<()> {
    // SAFETY: the handle is live for as long as the borrow, and `arg` is what `file_control` takes for `op`.
    checked(unsafe { ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), op, arg) })
}

fn checked(rc: c_int) -> rusqlite::Result<()> {
    if rc == SQLITE_OK { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(rc), None)) }
}
