//! A VFS of our own: SQLite's file access with direct I/O and counters.
//!
//! SQLite reads its pages through the page cache of the operating system. In a benchmark of storage, a read that misses
//! SQLite's cache must reach the device. This VFS wraps SQLite's own 'unix' VFS and changes only the transfer of pages of main
//! database files: they go through a second descriptor opened with O_DIRECT. Locks, shared memory, journals and the
//! write-ahead log stay SQLite's, with ordinary writes and real fsyncs.

mod file;
mod gather;
mod meter;
mod pages;

use std::ffi::{CStr, OsStr, c_int};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use rusqlite::ffi::{
    SQLITE_CANTOPEN, SQLITE_OK, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_READWRITE, SQLITE_OPEN_WAL, sqlite3_file,
    sqlite3_filename, sqlite3_filename_database, sqlite3_uri_int64, sqlite3_vfs, sqlite3_vfs_find,
    sqlite3_vfs_register,
};
use rusqlite::{Connection, OpenFlags};
use rustix::io::Errno;

pub use file::{drop_page_cache, read_page, start_write_back, stop_counting};
pub use meter::{IoFault, IoTotals, Meter, TransferTotals};
pub(crate) use pages::while_unused;

use file::{HEADER_BYTES, Header, OpenFile, inner};
use meter::{FileKind, FileMeter, Shared};
use pages::{Access, PageFile};

/// The name under which SQLite knows our VFS.
const NAME: &CStr = c"slob";
/// URI parameters that [`Location`] writes: numbers of a meter and of an [`IoMode`].
const METER: &CStr = c"meter";
const IO: &CStr = c"io";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// Past the page cache of the operating system, page by page, as sessions do.
    Direct,
    /// Through the page cache of the operating system.
    Buffered,
    /// For loading: consecutive writes are gathered and bypass the page cache in large pieces; reads go through it. What
    /// SQLite has committed survives a kill of this process, as in the other modes.
    Streaming,
}

#[derive(Clone, Copy)]
pub struct Location<'a> {
    pub path: &'a Path,
    pub io: IoMode,
    /// Counts the connection's I/O.
    pub meter: &'a Meter,
}

impl Location<'_> {
    /// Opens a connection; with `create`, the file may be made. [`Meter::take_fault`] explains failures of our VFS.
    pub fn open(&self, create: bool) -> rusqlite::Result<Connection> {
        let mut flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        Connection::open_with_flags_and_vfs(self.uri(), flags, NAME)
    }

    /// Opens a connection that reads only the main file, without locks, log or shared memory, so it needs no room. The file
    /// must not change meanwhile.
    pub fn open_read_only(&self) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags_and_vfs(self.uri() + "&immutable=1", flags, NAME)
    }

    fn uri(&self) -> String {
        // An empty authority keeps SQLite from taking the beginning of a path such as //a/b for one.
        let mut uri = String::from(if self.path.is_absolute() { "file://" } else { "file:" });
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    uri.push(char::from(*byte));
                }
                // Writing to a String does not fail.
                _ => _ = write!(uri, "%{byte:02X}"),
            }
        }
        _ = write!(uri, "?meter={}&io={}", self.meter.id, self.io as i64);
        uri
    }
}

/// SQLite's own VFS, the base of ours.
struct UnixVfs(*mut sqlite3_vfs);
// SAFETY: a registered VFS lives unchanged until the process ends, and its methods are thread-safe.
unsafe impl Send for UnixVfs {}
// SAFETY: as above.
unsafe impl Sync for UnixVfs {}

static BASE: OnceLock<UnixVfs> = OnceLock::new();

/// Registers our VFS with SQLite, not as the default. Returns SQLite's result code.
pub(crate) fn register() -> c_int {
    // SAFETY: SQLite is initialised; a VFS that it returns stays valid. Ours is a copy of it (function pointers that do not
    // look at the parts we change) and is never freed, as SQLite demands.
    unsafe {
        let base = sqlite3_vfs_find(c"unix".as_ptr());
        if base.is_null() {
            return SQLITE_CANTOPEN;
        }
        BASE.get_or_init(|| UnixVfs(base));
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
/// See SQLite's xOpen; `file` has room for SQLite's own file object.
unsafe fn open_base(name: sqlite3_filename, file: *mut sqlite3_file, flags: c_int, out: *mut c_int) -> c_int {
    let Some(UnixVfs(base)) = BASE.get() else { return SQLITE_CANTOPEN };
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
    // Held until our descriptor is open too, see `pages`.
    let mut files = pages::lock();
    // SAFETY: szOsFile includes our header and the inner object; names of main files and logs carry the URI parameters of
    // their database.
    unsafe {
        file.cast::<Header>().write(Header { methods: null(), open: null_mut() });
        let rc = open_base(name, inner(file), flags, &raw mut out_flags);
        let errno = last_errno();
        let path = OsStr::from_bytes(CStr::from_ptr(name).to_bytes());
        let database = sqlite3_filename_database(name);
        let shared = Shared::find(sqlite3_uri_int64(database, METER.as_ptr(), 0));
        if rc != SQLITE_OK {
            shared.set_fault(open_fault(path, errno));
            return rc;
        }
        if !out.is_null() {
            *out = out_flags;
        }
        let mode = match sqlite3_uri_int64(database, IO.as_ptr(), 0) {
            mode if mode == IoMode::Buffered as i64 => IoMode::Buffered,
            mode if mode == IoMode::Streaming as i64 => IoMode::Streaming,
            _ => IoMode::Direct,
        };
        let access =
            Access { direct: mode != IoMode::Buffered, writable: out_flags & SQLITE_OPEN_READWRITE != 0 };
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
        let methods = if is_main { &raw const file::MAIN } else { &raw const file::WAL };
        file.cast::<Header>().write(Header { methods, open });
    }
    SQLITE_OK
}

/// The error of the system call that has just failed inside SQLite's VFS.
fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn open_fault(path: &OsStr, errno: Errno) -> IoFault {
    let path = path.to_string_lossy().into_owned();
    match errno {
        Errno::INVAL => IoFault::NoDirectIo { path },
        errno => IoFault::Open { path, errno },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_path_survives() {
        crate::initialise().unwrap();
        let meter = Meter::default();
        let dir = tempfile::tempdir().unwrap();
        let path = Path::new("//").join(dir.path().strip_prefix("/").unwrap()).join("odd ?&%#=ü.db");
        let location = |io| Location { path: &path, io, meter: &meter };
        location(IoMode::Buffered).open(true).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
        assert!(path.exists());
        location(IoMode::Streaming).open(false).unwrap().execute_batch("INSERT INTO t VALUES(1)").unwrap();
    }
}
