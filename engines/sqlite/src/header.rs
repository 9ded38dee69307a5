//! The marker in a database file's header, and taking a file out of use: with plain file I/O, so that it works on
//! files that SQLite can't read and on file systems without any room.

use std::fs::File;
use std::io::{self, ErrorKind::UnexpectedEof, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use crate::vfs::while_unused;

/// 'SLOB': the application_id of our files.
pub(crate) const APPLICATION_ID: u32 = 0x534C_4F42;
/// Bytes of the header of a database file (sqlite.org/fileformat2.html, 'The Database Header').
pub(crate) const HEADER_BYTES: usize = 100;

/// Between two tries to get a file that is in use.
const PAUSE: Duration = Duration::from_millis(20);

/// Whether a header carries our application_id, at byte 68.
pub(crate) fn is_ours(header: &[u8]) -> bool {
    header.get(68..72) == Some(&APPLICATION_ID.to_be_bytes())
}

/// Whether a header says that the file has a write-ahead log (both format versions, at bytes 18 and 19, are 2).
pub(crate) fn is_wal(header: &[u8]) -> bool {
    header.get(18..20) == Some(&[2, 2])
}

/// What became of [`claim`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim<T> {
    /// The file was ours and unused, and this came of the work.
    Done(T),
    /// Somebody, in this process or another, works with the file.
    InUse,
    /// The file does not carry our marker.
    NotOurs,
}

/// Does `work` while nobody else has the file open as a database, if it carries our marker. Waits up to `wait` for
/// those who have.
///
/// # Errors
/// What the operating system says about opening, reading or locking the file.
pub(crate) fn claim<T>(
    path: &Path,
    wait: Duration,
    mut work: impl FnMut() -> io::Result<T>,
) -> io::Result<Claim<T>> {
    let end = Instant::now() + wait;
    loop {
        let tried = while_unused(path, || try_claim(path, &mut work))?.unwrap_or(Ok(Claim::InUse))?;
        if !matches!(tried, Claim::InUse) || Instant::now() >= end {
            return Ok(tried);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Closing the file drops every lock that this process holds on it: only for files that it does not use.
fn try_claim<T>(path: &Path, work: &mut impl FnMut() -> io::Result<T>) -> io::Result<Claim<T>> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == UnexpectedEof => return Ok(Claim::NotOurs),
        other => other?,
    }
    if !is_ours(&header) {
        return Ok(Claim::NotOurs);
    }
    // SQLite's locks are locks of bytes of this file: a lock of all bytes excludes all of them. A connection to a
    // file with a write-ahead log holds one for as long as it is open.
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::AGAIN | Errno::ACCESS) => Ok(Claim::InUse),
        Err(errno) => Err(errno.into()),
        Ok(()) => work().map(Claim::Done),
    }
}
