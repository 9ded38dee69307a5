//! A scratch file that leaves nothing behind, however its process ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::HostError;

/// A file without a name. It disappears with its last descriptor: at the end of its owner, on an error, on a panic,
/// and when the process is killed.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: PathBuf,
    file: File,
}

/// How the file's own descriptors do their I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caching {
    /// `O_DIRECT`: the page cache is passed by.
    Direct,
    /// Ordinary I/O through the page cache.
    Buffered,
}

impl Caching {
    pub(crate) fn direct_if(direct: bool) -> Self {
        if direct { Self::Direct } else { Self::Buffered }
    }
}

impl Scratch {
    /// Creates the file in `dir`: with `O_TMPFILE`, or where the file system has no such thing, by removing the name
    /// right after creating it.
    pub(crate) fn create(dir: &Path) -> Result<Self, HostError> {
        match fs::metadata(dir) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(HostError::NotAFolder { path: dir.to_path_buf() }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(HostError::NoSuchPath { path: dir.to_path_buf() });
            }
            Err(e) => return Err(HostError::io("open", dir)(e)),
        }
        let file = Self::open_anonymous(dir)
            .or_else(|_| Self::open_and_unlink(dir))
            .map_err(|source| HostError::NotWritable { path: dir.to_path_buf(), source })?;
        Ok(Self { dir: dir.to_path_buf(), file })
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    }

    fn open_anonymous(dir: &Path) -> io::Result<File> {
        Self::options().custom_flags(libc::O_TMPFILE).open(dir)
    }

    fn open_and_unlink(dir: &Path) -> io::Result<File> {
        let mut attempt = 0_u32;
        loop {
            let path = dir.join(format!(".slob-scratch-{}-{attempt}", std::process::id()));
            match Self::options().create_new(true).open(&path) {
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(file);
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// The folder that the file was created in.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A descriptor of the file, for reading and writing, with an open file description of its own (so sessions do
    /// not share one's locks and counters in the kernel) wherever `/proc` allows that.
    pub(crate) fn reopen(&self, caching: Caching) -> Result<File, HostError> {
        let flags = match caching {
            Caching::Direct => libc::O_DIRECT,
            Caching::Buffered => 0,
        };
        let by_number = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(by_number);
        let opened = match opened {
            // Some file systems can't open an unlinked file again: then all sessions share one description.
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => self.share(caching),
            other => other,
        };
        opened.map_err(|source| match caching {
            Caching::Direct => HostError::DirectIoRefused { path: self.dir.clone(), source },
            Caching::Buffered => {
                HostError::Io { action: "reopen the scratch file in", path: self.dir.clone(), source }
            }
        })
    }

    fn share(&self, caching: Caching) -> io::Result<File> {
        let file = self.file.try_clone()?;
        if caching == Caching::Direct {
            rustix::fs::fcntl_setfl(&file, OFlags::DIRECT)?;
        }
        Ok(file)
    }

    /// Writes out what is cached.
    pub(crate) fn sync(&self) -> Result<(), HostError> {
        self.file.sync_all().map_err(HostError::io("sync the scratch file in", &self.dir))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn is_empty(dir: &Path) -> bool {
        fs::read_dir(dir).unwrap().next().is_none()
    }

    #[test]
    fn neither_way_of_creating_leaves_a_name() {
        let dir = tempfile::tempdir().unwrap();
        for open in [Scratch::open_anonymous, Scratch::open_and_unlink] {
            let file = open(dir.path()).unwrap();
            assert!(is_empty(dir.path()));
            let scratch = Scratch { dir: dir.path().to_path_buf(), file };
            scratch.reopen(Caching::Buffered).unwrap().write_all_at(b"abc", 5).unwrap();
            let mut back = [0; 3];
            scratch.share(Caching::Buffered).unwrap().read_exact_at(&mut back, 5).unwrap();
            assert_eq!(&back, b"abc", "all descriptors are of one file");
            assert!(is_empty(dir.path()));
        }
    }

    #[test]
    fn a_bad_folder_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let missing = Scratch::create(&dir.path().join("missing")).unwrap_err();
        assert!(matches!(missing, HostError::NoSuchPath { .. }), "{missing}");
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let not_a_folder = Scratch::create(&file).unwrap_err();
        assert!(matches!(not_a_folder, HostError::NotAFolder { .. }), "{not_a_folder}");
        let read_only = Scratch::create("/proc".as_ref()).unwrap_err();
        assert!(matches!(read_only, HostError::NotWritable { .. }), "{read_only}");
    }
}
