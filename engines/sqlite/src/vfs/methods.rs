//! The method tables of our files: what is not ours goes to SQLite's own file object.
//!
//! Version 2 of the interface: with shared memory (the WAL needs it), without memory mapping, which would bypass
//! every counter and direct I/O itself.

use std::ffi::{c_int, c_void};

use rusqlite::ffi::{
    SQLITE_CANTOPEN, SQLITE_FCNTL_MMAP_SIZE, SQLITE_IOERR, SQLITE_NOTFOUND, SQLITE_OK, sqlite3_file,
    sqlite3_int64, sqlite3_io_methods,
};

use super::control;
use super::file::{close, forward, open_file, read_main, sync, write_main, write_wal};
use super::meter::IoFault;

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
    sqlite3_io_methods { xRead: Some(read), xWrite: Some(write_wal), ..MAIN };

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: sqlite3_int64,
) -> c_int {
    forward!(file, xRead, buffer, amount, offset)
}

/// Forwards a call, after what is gathered has been written.
macro_rules! settle_and_forward {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        // SAFETY: SQLite calls this method for files that we opened, one call at a time.
        match unsafe { open_file($file) }.settle() {
            SQLITE_OK => forward!($file, $method $(, $arg)*),
            rc => rc,
        }
    }};
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    settle_and_forward!(file, xTruncate, size)
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    settle_and_forward!(file, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    forward!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    settle_and_forward!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, held: *mut c_int) -> c_int {
    forward!(file, xCheckReservedLock, held)
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    if op == SQLITE_FCNTL_MMAP_SIZE {
        return SQLITE_NOTFOUND;
    }
    // SAFETY: SQLite calls this method for files that we opened, with the argument that belongs to the code.
    match unsafe { control::answer(file, op, arg) } {
        Some(rc) => rc,
        // SQLITE_FCNTL_SYNC among them: SQLite sends it before each commit, even if it syncs nothing.
        None => settle_and_forward!(file, xFileControl, op, arg),
    }
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    forward!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    forward!(file, xDeviceCharacteristics)
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
        let errno = super::open::last_errno();
        // SAFETY: SQLite calls this method for files that we opened, one call at a time.
        let open = unsafe { open_file(file) };
        open.shared.set_fault(IoFault::Open { path: format!("{}-shm", open.path), errno });
    }
    rc
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, offset: c_int, n: c_int, flags: c_int) -> c_int {
    forward!(file, xShmLock, offset, n, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: the inner object was opened by the VFS that it belongs to and is passed to its own method.
    unsafe {
        let inner = super::file::inner(file);
        if let Some(method) = (*(*inner).pMethods).xShmBarrier {
            method(inner);
        }
    }
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    forward!(file, xShmUnmap, delete)
}
