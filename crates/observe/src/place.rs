//! Where a server's files are, as the host knows them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use slob_host::Device;

/// A path of the server as it sees it, absolute; one that is not lies in the folder that it works in.
pub(crate) fn absolute(pid: u32, path: &Path) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.to_path_buf());
    }
    let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
    let (works_in, root) = (link("cwd")?, link("root")?);
    let within = works_in.strip_prefix(&root).ok()?;
    let kept = path.components().filter(|part| *part != Component::CurDir);
    Some(Path::new("/").join(within).join(kept.collect::<PathBuf>()))
}

/// Where this process finds that path; the same where both see the same files.
pub(crate) fn on_this_host(pid: u32, path: &Path) -> PathBuf {
    if sees_the_same(pid) {
        return path.to_path_buf();
    }
    Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").unwrap_or(path))
}

/// What carries a path of the server. Where this account may not look with the server's eyes, its own must do, if both see the
/// same.
pub(crate) fn device(pid: u32, path: &Path) -> Result<Device, String> {
    let theirs = Device::behind_seen_by(pid, path);
    theirs.or_else(|error| match Device::behind(path) {
        Ok(device) if sees_the_same(pid) => Ok(device),
        _ => Err(error.to_string()),
    })
}

/// Whether a process has the root and the mounts of this one. Of a process that may not be looked at the mounts can be read all
/// the same, and tell.
fn sees_the_same(pid: u32) -> bool {
    let (theirs, own) = (format!("/proc/{pid}"), "/proc/self");
    let link = |process: &str, name: &str| fs::read_link(format!("{process}/{name}")).ok();
    let table = |process: &str| fs::read(format!("{process}/mountinfo")).ok();
    match link(&theirs, "ns/mnt").zip(link(&theirs, "root")) {
        Some((mounts, root)) => Some(mounts) == link(own, "ns/mnt") && Some(root) == link(own, "root"),
        None => table(&theirs).is_some_and(|mounts| Some(mounts) == table(own)),
    }
}

/// CPUs that a process may run on, by its affinity and its set.
pub(crate) fn cpus_allowed(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?;
    Some(mask.chars().filter_map(|digit| digit.to_digit(16)).map(u32::count_ones).sum())
        .filter(|cpus| *cpus > 0)
}
