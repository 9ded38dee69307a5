use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::Serializer;

use crate::HostError;

#[derive(Clone, Debug)]
pub(crate) struct Roots {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into() }
    }
}

/// Bytes that are not UTF-8, such as file names in mountinfo, are replaced.
pub(crate) fn read_text(path: &Path) -> Result<String, HostError> {
    let bytes = std::fs::read(path).map_err(HostError::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `None` if it is absent, unreadable or empty.
pub(crate) fn attribute(path: &Path) -> Option<String> {
    let text = read_text(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn number<T: FromStr>(path: &Path) -> Option<T> {
    attribute(path)?.parse().ok()
}

/// Records accept any path, so bytes that are not UTF-8 are replaced.
pub(crate) fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Opens an absolute path as the process `pid` sees it, as in a container.
///
/// Links are followed within its root. Before Linux 5.6, absolute links lead to this process's root.
pub fn open_within(pid: u32, path: &Path, flags: OFlags) -> Result<OwnedFd, HostError> {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let root_flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let its_root =
        rustix::fs::open(&root, root_flags, Mode::empty()).map_err(HostError::io("open", &root))?;
    let within = path.strip_prefix("/").unwrap_or(path);
    let within = if within.as_os_str().is_empty() { Path::new(".") } else { within };
    let flags = flags | OFlags::CLOEXEC;
    let opened = match rustix::fs::openat2(&its_root, within, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Err(Errno::NOSYS) => rustix::fs::openat(&its_root, within, flags, Mode::empty()),
        other => other,
    };
    opened.map_err(HostError::io("open", &root.join(within)))
}

/// Space reserved for root does not count: databases do not run as root. Quotas are unknown here.
pub fn free_space(path: &Path) -> Result<u64, HostError> {
    let stat = rustix::fs::statvfs(path).map_err(|errno| match errno {
        Errno::NOENT => HostError::NoSuchPath { path: path.to_path_buf() },
        other => HostError::io("stat the file system of", path)(other),
    })?;
    Ok(stat.f_bavail * stat.f_frsize)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_file_of_this_process_is_found_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let me = std::process::id();
        let mut text = String::new();
        let opened = open_within(me, &link, OFlags::RDONLY).unwrap();
        std::fs::File::from(opened).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let missing = open_within(me, &dir.path().join("missing"), OFlags::RDONLY).unwrap_err();
        assert!(missing.to_string().contains("missing"), "{missing}");
        assert!(open_within(me, Path::new("/"), OFlags::PATH).is_ok());
    }

    #[test]
    fn free_space_is_part_of_the_file_system_and_a_missing_path_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let stat = rustix::fs::statvfs(dir.path()).unwrap();
        let free_bytes = free_space(dir.path()).unwrap();
        assert!(stat.f_blocks > 0 && free_bytes <= stat.f_blocks * stat.f_frsize, "{free_bytes}");
        let missing = dir.path().join("missing");
        let error = free_space(&missing).unwrap_err();
        assert!(matches!(&error, HostError::NoSuchPath { path } if *path == missing), "{error}");
    }
}
