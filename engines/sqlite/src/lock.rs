//! The lock of a folder of schemas while they are loaded or removed. A file of our own meets no other program's lock; the kernel
//! releases it at the end of the process.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use slob_engine::{Result, TargetLock, target_in_use};

const NAME: &str = ".slob.lock";

pub(crate) struct FolderLock {
    file: File,
    folder: PathBuf,
    made_folder: bool,
}

impl FolderLock {
    /// A folder that takes no file, or has no locks, is not locked.
    pub(crate) fn take(folder: &Path) -> Result<TargetLock> {
        let made_folder = fs::create_dir(folder).is_ok();
        loop {
            let Ok(file) = open(folder) else { return Ok(Box::new(())) };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(target_in_use(folder.display(), holder(&file))),
                // The one that had it has removed its file since.
                Ok(()) if !leads_to(folder, &file) => {}
                // Without locks the file goes at the end all the same.
                Ok(()) | Err(TryLockError::Error(_)) => {
                    return Ok(Box::new(Self { file, folder: folder.to_owned(), made_folder }));
                }
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A file with content is another's.
        if leads_to(&self.folder, &self.file) && self.file.metadata().is_ok_and(|about| about.len() == 0) {
            let _ = fs::remove_file(self.folder.join(NAME));
        }
        if self.made_folder {
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

fn open(folder: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    File::options().read(true).append(true).create(true).custom_flags(flags).open(folder.join(NAME))
}

fn leads_to(folder: &Path, file: &File) -> bool {
    let place = |about: fs::Metadata| (about.dev(), about.ino());
    let there = fs::symlink_metadata(folder.join(NAME)).map(place).ok();
    there.is_some() && there == file.metadata().map(place).ok()
}

/// `None` if the holder is of another host or container.
fn holder(file: &File) -> Option<String> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let pids = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5)?.ends_with(&inode)).then_some(*words.get(4)?)
    });
    pids.map(|pid| format!("process {pid}")).find(|holder| holder != "process 0")
}
