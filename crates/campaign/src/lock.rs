//! One campaign in a directory at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;

use crate::error::CampaignError;

const FILE: &str = "lock";

/// Holds a directory until it is dropped, or the process ends in whatever way: the kernel keeps the lock, the file only
/// gives it a place.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(directory: &Path) -> Result<Self, CampaignError> {
        let path = directory.join(FILE);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(CampaignError::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CampaignError::Locked { path: directory.to_path_buf() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(CampaignError::Io { step: "locking", path, source });
            }
        }
        // For whoever wonders who holds it; nothing depends on it.
        let _ = file.set_len(0).and_then(|()| writeln!(&file, "{}", std::process::id()));
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// To close the file is not enough: a hook that another thread starts at this moment has a copy of it until it
    /// becomes another program, and would hold the lock for as long.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_can_not_hold_it_and_a_dropped_one_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        assert!(matches!(Lock::take(folder.path()), Err(CampaignError::Locked { .. })));
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_copy_that_a_starting_process_holds_does_not_keep_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        Lock::take(folder.path()).unwrap();
        drop(copy);
    }
}
