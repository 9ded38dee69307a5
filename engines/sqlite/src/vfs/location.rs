//! Where a database file is and how it is to be opened, as the URI that SQLite takes.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{Meter, NAME};

/// How pages of a database file are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// Past the page cache of the operating system, page by page: what a session does.
    Direct,
    /// Through the page cache of the operating system.
    Buffered,
    /// For loading: consecutive writes are gathered and go past the page cache in large pieces, reads go through
    /// it. What SQLite has committed survives a kill of this process, as it does in the other modes.
    Streaming,
}

impl IoMode {
    const ALL: [Self; 3] = [Self::Direct, Self::Buffered, Self::Streaming];

    /// Its word in the URI.
    fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Buffered => "buffered",
            Self::Streaming => "streaming",
        }
    }

    /// The mode of that word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

/// A database file to be opened through our VFS.
#[derive(Clone, Copy)]
pub struct Location<'a> {
    /// The file.
    pub path: &'a Path,
    /// How its pages are read and written.
    pub io: IoMode,
    /// What counts the connection's I/O.
    pub meter: &'a Meter,
}

impl Location<'_> {
    /// Opens a connection. `create`: whether the file may have to be made.
    ///
    /// # Errors
    /// SQLite's; the meter's [`Meter::take_fault`] knows more about failures of our VFS.
    pub fn open(&self, create: bool) -> rusqlite::Result<Connection> {
        let mut flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        Connection::open_with_flags_and_vfs(self.uri(), flags, NAME)
    }

    /// Opens a connection that reads the main file as it lies there: without locks, log or shared memory, so it takes
    /// no room. For what is never changed.
    ///
    /// # Errors
    /// As [`Location::open`].
    pub fn open_read_only(&self) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags_and_vfs(self.uri() + "&immutable=1", flags, NAME)
    }

    fn uri(&self) -> String {
        // The empty authority keeps SQLite from taking the beginning of a path such as //a/b for one.
        let mut uri = String::from(if self.path.is_absolute() { "file://" } else { "file:" });
        for byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                    uri.push(char::from(*byte));
                }
                // Writing to a String cannot fail.
                _ => _ = write!(uri, "%{byte:02X}"),
            }
        }
        _ = write!(uri, "?meter={}&io={}", self.meter.id(), self.io.word());
        uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_path_survives() {
        crate::library::initialise().unwrap();
        let meter = Meter::new();
        let dir = tempfile::tempdir().unwrap();
        let path = Path::new("//").join(dir.path().strip_prefix("/").unwrap()).join("odd ?&%#=ü.db");
        let location = |io| Location { path: &path, io, meter: &meter };
        location(IoMode::Buffered).open(true).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
        assert!(path.exists());
        location(IoMode::Streaming).open(false).unwrap().execute_batch("INSERT INTO t VALUES(1)").unwrap();
    }
}
