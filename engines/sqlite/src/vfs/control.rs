//! What the engine can ask of an open database file through SQLite's file control.
//!
//! These work on the descriptors of the connection. Opening the file beside SQLite and closing it again would drop
//! the locks that this process holds on it (see [`super::registry`]).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::os::fd::AsRawFd;

use rusqlite::Connection;
use rusqlite::ffi::{self, SQLITE_IOERR, SQLITE_NOTFOUND, SQLITE_OK, sqlite3_file};
use rustix::fs::{Advice, fadvise};

use super::file::open_file;

/// Codes above 100 are the application's.
const START_WRITE_BACK: c_int = 0x534C01;
const DROP_PAGE_CACHE: c_int = 0x534C02;
const STOP_COUNTING: c_int = 0x534C03;

/// Asks the kernel to start writing back what the page cache holds dirty of `bytes` of the main file, without
/// waiting for it.
///
/// # Errors
/// The connection's VFS is not ours, or the kernel refused.
pub fn start_write_back(connection: &Connection, bytes: Range<u64>) -> rusqlite::Result<()> {
    let mut range = [bytes.start, bytes.end - bytes.start];
    control(connection, START_WRITE_BACK, range.as_mut_ptr().cast())
}

/// Asks the kernel to drop what its page cache holds clean of the main file.
///
/// # Errors
/// The connection's VFS is not ours, or the kernel refused.
pub fn drop_page_cache(connection: &Connection) -> rusqlite::Result<()> {
    control(connection, DROP_PAGE_CACHE, std::ptr::null_mut())
}

/// From here on the connection's I/O, on its main file and its write-ahead log, is no longer counted. What has been
/// counted stays.
///
/// # Errors
/// The connection's VFS is not ours.
pub fn stop_counting(connection: &Connection) -> rusqlite::Result<()> {
    let mut log: *mut sqlite3_file = std::ptr::null_mut();
    control(connection, ffi::SQLITE_FCNTL_JOURNAL_POINTER, (&raw mut log).cast())?;
    // SAFETY: SQLite has just given us its journal or log, which may not be open; a log of ours has our methods.
    unsafe {
        if !log.is_null() && std::ptr::eq((*log).pMethods, &raw const super::methods::WAL) {
            open_file(log).stop_counting();
        }
    }
    control(connection, STOP_COUNTING, std::ptr::null_mut())
}

/// Reads one page of the main file as it lies there, past the page cache of SQLite. What is in a transaction or a
/// write-ahead log is not seen.
///
/// # Errors
/// The page does not exist or can't be read.
pub fn read_page(connection: &Connection, page: u32, page_bytes: usize) -> rusqlite::Result<Vec<u8>> {
    let mut file: *mut sqlite3_file = std::ptr::null_mut();
    control(connection, ffi::SQLITE_FCNTL_FILE_POINTER, (&raw mut file).cast())?;
    let mut bytes = vec![0; page_bytes];
    let (len, offset) = (page_bytes as c_int, i64::from(page.saturating_sub(1)) * page_bytes as i64);
    // SAFETY: SQLite has just given us its open file, which lives as long as the connection; the buffer has room
    // for what is asked.
    let rc = unsafe {
        match (*(*file).pMethods).xRead {
            Some(read) => read(file, bytes.as_mut_ptr().cast(), len, offset),
            None => SQLITE_IOERR,
        }
    };
    if rc == SQLITE_OK { Ok(bytes) } else { Err(failure(rc)) }
}

fn failure(rc: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(rc), None)
}

fn control(connection: &Connection, op: c_int, arg: *mut c_void) -> rusqlite::Result<()> {
    // SAFETY: the handle is live for as long as the borrow, and `arg` is what `answer` takes for `op`.
    let rc = unsafe { ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), op, arg) };
    if rc == SQLITE_OK { Ok(()) } else { Err(failure(rc)) }
}

/// Answers our own codes, and a hint that is best not passed on; `None` for all others.
///
/// # Safety
/// `file` must be open and ours; `arg` must be what the function above passes for that code.
pub(super) unsafe fn answer(file: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> Option<c_int> {
    // SQLite's own file makes nothing of it without a chunk size, which is never set; a load sends one with every other
    // mebibyte.
    if op == ffi::SQLITE_FCNTL_SIZE_HINT {
        return Some(SQLITE_OK);
    }
    if ![START_WRITE_BACK, DROP_PAGE_CACHE, STOP_COUNTING].contains(&op) {
        return None;
    }
    // SAFETY: as required above.
    let open = unsafe { open_file(file) };
    if op == STOP_COUNTING {
        open.stop_counting();
        return Some(SQLITE_OK);
    }
    let Some(pages) = &open.pages else { return Some(SQLITE_NOTFOUND) };
    let fd = pages.file().fd();
    let done = if op == DROP_PAGE_CACHE {
        fadvise(fd, 0, None, Advice::DontNeed).is_ok()
    } else {
        // SAFETY: as required above: two numbers.
        let [offset, len] = unsafe { *arg.cast::<[u64; 2]>() };
        // SAFETY: a system call on a descriptor that is open, with plain numbers.
        let rc = unsafe {
            libc::sync_file_range(fd.as_raw_fd(), offset as i64, len as i64, libc::SYNC_FILE_RANGE_WRITE)
        };
        rc == 0
    };
    Some(if done { SQLITE_OK } else { SQLITE_IOERR })
}
