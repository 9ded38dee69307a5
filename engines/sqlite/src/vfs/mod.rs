//! A VFS that wraps SQLite's 'unix' VFS, so that reads reach the device and are counted. Pages of main files go through a second
//! descriptor with O_DIRECT. Locks, shared memory, journals and the log stay SQLite's.

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

const NAME: &CStr = c"slob";
/// URI parameters of [`Location`].
const METER: &CStr = c"meter";
const IO: &CStr = c"io";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    Direct,
    Buffered,
    /// For loading: writes are gathered and large ones bypass the page cache. Commits survive a kill of this process, as in the
    /// other modes.
    Streaming,
}

#[derive(Clone, Copy)]
pub struct Location<'a> {
    pub path: &'a Path,
    pub io: IoMode,
    pub meter: &'a Meter,
}

impl Location<'_> {
    /// [`Meter::take_fault`] explains failures of our VFS.
    pub fn open(&self, create: bool) -> rusqlite::Result<Connection> {
        let mut flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        Connection::open_with_flags_and_vfs(self.uri(), flags, NAME)
    }

    /// Needs no locks, log or room. The file must not change meanwhile.
    pub fn open_read_only(&self) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags_and_vfs(self.uri() + "&immutable=1", flags, NAME)
    }

    fn uri(&self) -> String {
        // An empty authority keeps SQLite from taking the beginning of //a/b for one.
        let mut uri = String::from(if self.path.is_absolute() { "file://" } else { "file:" });
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    uri.push(char::from(*byte));
                }
                _ => _ = write!(uri, "%{byte:02X}"),
            }
        }
        _ = write!(uri, "?meter={}&io={}", self.meter.id, self.io as i64);
        uri
    }
}

struct UnixVfs(*mut sqlite3_vfs);
// SAFETY: a registered VFS lives unchanged until the process ends, and its methods are thread-safe.
unsafe impl Send for UnixVfs {}
// SAFETY: as above.
unsafe impl Sync for UnixVfs {}

static BASE: OnceLock<UnixVfs> = OnceLock::new();

/// Returns SQLite's result code.
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

/// # Safety
/// See SQLite's xOpen; `file` has room for SQLite's own file object.
unsafe fn open_base(name: sqlite3_filename, file: *mut sqlite3_file, flags: c_int, out: *mut c_int) -> c_int {
    let Some(UnixVfs(base)) = BASE.get() else { return SQLITE_CANTOPEN };
    // SAFETY: the base VFS is registered and is passed to its own method.
    unsafe { (**base).xOpen.map_or(SQLITE_CANTOPEN, |open| open(*base, name, file, flags, out)) }
}

/// Journals and temporary files have no header of ours.
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
    // Must be held until our descriptor is open, see `pages`.
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
