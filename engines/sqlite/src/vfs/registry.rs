//! Second descriptors of database files, and when they may be closed.
//!
//! POSIX drops all of a process's locks on a file as soon as the process closes *any* descriptor of it. SQLite's
//! own VFS keeps its descriptors open for that reason until nobody in the process holds a lock; ours must do the
//! same with the descriptors that it opens beside them. So a descriptor that a connection no longer needs is
//! parked, given to the next connection that wants the same kind, and closed only together with the last
//! connection to that file.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags, open, stat};
use rustix::io::Errno;

/// What a file is, whatever its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileId {
    device: u64,
    inode: u64,
}

/// The kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// Past the page cache of the operating system (O_DIRECT).
    pub(super) direct: bool,
    /// For writing too.
    pub(super) writable: bool,
}

impl Access {
    fn flags(self) -> OFlags {
        let mode = if self.writable { OFlags::RDWR } else { OFlags::RDONLY };
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        mode | direct | OFlags::CLOEXEC
    }
}

/// A second descriptor in use by one connection; it goes back through [`Files::detach`].
#[derive(Debug)]
pub(super) struct Attached {
    fd: Arc<OwnedFd>,
    file: FileId,
    access: Access,
}

impl Attached {
    pub(super) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    pub(super) fn access(&self) -> Access {
        self.access
    }
}

#[derive(Default)]
struct Entry {
    connections: usize,
    parked: Vec<(Access, Arc<OwnedFd>)>,
}

/// All database files that this process has open through our VFS.
#[derive(Default)]
pub(super) struct Files(BTreeMap<FileId, Entry>);

static FILES: Mutex<Files> = Mutex::new(Files(BTreeMap::new()));

/// Locks the registry. A connection opens and closes SQLite's own descriptor under the same lock as ours, so that
/// 'the last connection' means the same to both.
pub(super) fn lock() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does some work with a file to which no connection of this process is open, and lets none be opened meanwhile;
/// `None` if there is one. The work may open and close the file: no lock can be lost.
///
/// # Errors
/// If the file can't be found.
pub(crate) fn while_unused<T>(path: &Path, work: impl FnOnce() -> T) -> Result<Option<T>, Errno> {
    let named = stat(path)?;
    let files = lock();
    let file = FileId { device: named.st_dev, inode: named.st_ino };
    Ok((!files.0.contains_key(&file)).then(work))
}

impl Files {
    /// Opens a second descriptor for a connection, or takes a parked one.
    ///
    /// # Errors
    /// What `stat` or `open` says; EINVAL means that the file system has no direct I/O.
    pub(super) fn attach(&mut self, path: &Path, access: Access) -> Result<Attached, Errno> {
        let named = stat(path)?;
        let file = FileId { device: named.st_dev, inode: named.st_ino };
        // The number of descriptors stays bounded: a parked one is reused before another is opened.
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

    /// Takes a connection's descriptor back; SQLite's own must be closed already.
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
        let number = second.fd().as_raw_fd();
        files.detach(second);
        let open = |fd: i32| std::fs::exists(format!("/proc/self/fd/{fd}")).unwrap();
        assert!(open(number), "parked, not closed");
        let third = files.attach(file.path(), PLAIN).unwrap();
        assert_eq!(third.fd().as_raw_fd(), number, "a parked descriptor is used again");
        files.detach(first);
        files.detach(third);
        assert!(files.0.is_empty(), "all closed with the last connection");
    }

    #[test]
    fn kinds_are_not_mixed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut files = Files::default();
        let keeper = files.attach(file.path(), PLAIN).unwrap();
        let reader = files.attach(file.path(), Access { writable: false, ..PLAIN }).unwrap();
        let number = reader.fd().as_raw_fd();
        files.detach(reader);
        let writer = files.attach(file.path(), PLAIN).unwrap();
        assert_ne!(writer.fd().as_raw_fd(), number);
        files.detach(writer);
        files.detach(keeper);
    }
}
