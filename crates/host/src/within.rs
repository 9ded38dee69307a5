//! Files as another process sees them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::HostError;

/// Opens the absolute `path` of the process `pid`, whose root and mounts may be its own: that of a server in a container, a
/// chroot or another namespace. Links are followed within its root. Before Linux 5.6, a link to an absolute path leads to this
/// process's own root instead.
///
/// # Errors
/// The process is gone, may not be looked at, or the path can't be opened.
pub fn open_within(pid: u32, path: &Path, how: OFlags) -> Result<OwnedFd, HostError> {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let its_root = rustix::fs::open(&root, flags, Mode::empty())
        .map_err(|errno| HostError::io("open", &root)(errno.into()))?;
    let within = path.strip_prefix("/").unwrap_or(path);
    let within = if within.as_os_str().is_empty() { Path::new(".") } else { within };
    let how = how | OFlags::CLOEXEC;
    let opened = match rustix::fs::openat2(&its_root, within, how, Mode::empty(), ResolveFlags::IN_ROOT) {
        Err(Errno::NOSYS) => rustix::fs::openat(&its_root, within, how, Mode::empty()),
        other => other,
    };
    opened.map_err(|errno| HostError::io("open", &root.join(within))(errno.into()))
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
}
