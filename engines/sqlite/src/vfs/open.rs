//! Opening files, and registering the VFS.

use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

use rusqlite::ffi::{
    SQLITE_CANTOPEN, SQLITE_OK, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_READWRITE, SQLITE_OPEN_WAL, sqlite3_file,
    sqlite3_filename, sqlite3_filename_database, sqlite3_uri_int64, sqlite3_uri_parameter, sqlite3_vfs,
    sqlite3_vfs_find, sqlite3_vfs_register,
};
use rustix::io::Errno;

use super::file::{HEADER_BYTES, Header, OpenFile, inner};
use super::location::IoMode;
use super::meter::{FileKind, FileMeter, IoFault, Shared};
use super::page_file::PageFile;
use super::registry::{self, Access};
use super::{NAME, methods};

/// URI parameters that [`super::Location`] writes.
const METER: &CStr = c"meter";
const IO: &CStr = c"io";

/// SQLite's own VFS, which ours builds on.
struct Base(*mut sqlite3_vfs);
// SAFETY: a VFS that is registered lives, unchanged, until the process ends, and its methods are thread-safe.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

static BASE: OnceLock<Base> = OnceLock::new();

/// Makes our VFS known to SQLite, under its name and not as the default. Returns SQLite's result code.
pub(crate) fn register() -> c_int {
    // SAFETY: SQLite is initialised; a VFS that it returns stays valid. Ours is a copy of it (a few function
    // pointers, none of which looks at the parts we change) that is never freed, as SQLite demands.
    unsafe {
        let base = sqlite3_vfs_find(c"unix".as_ptr());
        if base.is_null() {
            return SQLITE_CANTOPEN;
        }
        BASE.get_or_init(|| Base(base));
        let ours = Box::leak(Box::new(*base));
        ours.szOsFile += HEADER_BYTES as c_int;
        ours.zName = NAME.as_ptr();
        ours.pNext = null_mut();
        ours.xOpen = Some(open);
        sqlite3_vfs_register(ours, 0)
    }
}

/// Opens a file with SQLite's own VFS.
///
/// # Safety
/// As SQLite's xOpen; `file` has room for SQLite's own file object.
unsafe fn open_base(name: sqlite3_filename, file: *mut sqlite3_file, flags: c_int, out: *mut c_int) -> c_int {
    let Some(Base(base)) = BASE.get() else { return SQLITE_CANTOPEN };
    // SAFETY: the base VFS is registered and is passed to its own method.
    unsafe { (**base).xOpen.map_or(SQLITE_CANTOPEN, |open| open(*base, name, file, flags, out)) }
}

/// The xOpen of our VFS. Journals and temporary files are SQLite's alone, without a header of ours.
unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let is_main = flags & SQLITE_OPEN_MAIN_DB != 0;
    if name.is_null() || !(is_main || flags & SQLITE_OPEN_WAL != 0) {
        // SAFETY: SQLite's arguments, passed on; there is more room than the base VFS needs.
        return unsafe { open_base(name, file, flags, out) };
    }
    let mut out_flags = flags;
    // Held until our descriptor is open too, see the registry.
    let mut files = registry::lock();
    // SAFETY: szOsFile includes our header and the inner object; names of main files and logs carry the URI
    // parameters of their database.
    unsafe {
        file.cast::<Header>().write(Header { methods: std::ptr::null(), open: null_mut() });
        let rc = open_base(name, inner(file), flags, &raw mut out_flags);
        if rc != SQLITE_OK {
            let errno = last_errno();
            let database = sqlite3_filename_database(name);
            let shared = Shared::find(sqlite3_uri_int64(database, METER.as_ptr(), 0));
            shared.set_fault(open_fault(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()), errno));
            return rc;
        }
        if !out.is_null() {
            *out = out_flags;
        }
        let database = sqlite3_filename_database(name);
        let shared = Shared::find(sqlite3_uri_int64(database, METER.as_ptr(), 0));
        let mode = io_mode(database);
        let access =
            Access { direct: mode != IoMode::Buffered, writable: out_flags & SQLITE_OPEN_READWRITE != 0 };
        let path = OsStr::from_bytes(CStr::from_ptr(name).to_bytes());
        let pages = match is_main.then(|| files.attach(Path::new(path), access)).transpose() {
            Ok(attached) => attached.map(|attached| PageFile::new(attached, mode)),
            Err(errno) => {
                shared.set_fault(open_fault(path, errno));
                if let Some(close) = (*(*inner(file)).pMethods).xClose {
                    close(inner(file));
                }
                return SQLITE_CANTOPEN;
            }
        };
        let meter = shared.open(FileMeter::new(if is_main { FileKind::Main } else { FileKind::Log }));
        let path = path.to_string_lossy().into_owned();
        let open = Box::into_raw(Box::new(OpenFile { meter, shared, path, pages }));
        let methods = if is_main { &raw const methods::MAIN } else { &raw const methods::WAL };
        file.cast::<Header>().write(Header { methods, open });
    }
    SQLITE_OK
}

/// The mode that the URI names; without one, direct I/O.
///
/// # Safety
/// `database` must be the name of a main file as SQLite passes it to xOpen.
unsafe fn io_mode(database: sqlite3_filename) -> IoMode {
    // SAFETY: as required above; the value is a C string that lives as long as the name.
    let word = unsafe {
        let value = sqlite3_uri_parameter(database, IO.as_ptr());
        if value.is_null() { c"" } else { CStr::from_ptr(value) }
    };
    word.to_str().ok().and_then(IoMode::of_word).unwrap_or(IoMode::Direct)
}

/// What the system call that has just failed inside SQLite's VFS said.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn open_fault(path: &OsStr, errno: Errno) -> IoFault {
    let path = path.to_string_lossy().into_owned();
    match errno {
        Errno::INVAL => IoFault::NoDirectIo { path },
        errno => IoFault::Open { path, errno },
    }
}
