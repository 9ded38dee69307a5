//! Free space of a file system.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::HostError;

/// What the file system of a path can still take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Bytes that an ordinary user may still write. Space reserved for root is not counted, even for root: a
    /// database does not run as root. Quotas are not known here.
    pub free_bytes: u64,
    /// Size of the file system.
    pub total_bytes: u64,
    /// Files that may still be created; `None` where the file system has no fixed number of them.
    pub inodes_free: Option<u64>,
}

/// The free space of the file system that carries `path`.
///
/// # Errors
/// The path does not exist or cannot be reached.
pub fn free_space(path: &Path) -> Result<FreeSpace, HostError> {
    let stat = rustix::fs::statvfs(path).map_err(|e| match e {
        rustix::io::Errno::NOENT => HostError::NoSuchPath { path: path.to_path_buf() },
        other => HostError::Io { action: "stat the file system of", path: path.into(), source: other.into() },
    })?;
    Ok(FreeSpace {
        free_bytes: stat.f_bavail * stat.f_frsize,
        total_bytes: stat.f_blocks * stat.f_frsize,
        inodes_free: (stat.f_files > 0).then_some(stat.f_favail),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_part_of_the_total() {
        let dir = tempfile::tempdir().unwrap();
        let space = free_space(dir.path()).unwrap();
        assert!(space.total_bytes > 0 && space.free_bytes <= space.total_bytes, "{space:?}");
    }

    #[test]
    fn a_missing_path_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let error = free_space(&missing).unwrap_err();
        assert!(matches!(&error, HostError::NoSuchPath { path } if *path == missing), "{error}");
    }
}
