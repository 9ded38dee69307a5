//! The mount table, `/proc/PID/mountinfo`. Libraries lose the order of options, and escaped characters of paths.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, Statx, StatxFlags, statx};

use crate::HostError;
use crate::files::{Roots, open_within, read_text};

/// The form is that of proc(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// The file system's folder at the mount point.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) source: String,
    /// The mount's options come first.
    pub(crate) options: Vec<String>,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let id = fields.next()?.parse().ok()?;
        let (major, minor) = fields.nth(1)?.split_once(':')?;
        let (root, point) = (unescape(fields.next()?), unescape(fields.next()?));
        let own_options = fields.next()?;
        let mut fields = fields.skip_while(|field| *field != "-").skip(1); // any number of optional fields
        let file_system = fields.next()?.to_owned();
        let source = unescape(fields.next()?);
        let mut options: Vec<String> = own_options.split(',').map(unescape).collect();
        for option in fields.next().unwrap_or_default().split(',').map(unescape) {
            if !option.is_empty() && !options.contains(&option) {
                options.push(option);
            }
        }
        let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
        Some(Self { id, major, minor, root: root.into(), point: point.into(), file_system, source, options })
    }

    /// The form is `name=value`.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// `process` is a number, or "self".
pub(crate) fn read_mounts(roots: &Roots, process: &str) -> Result<Vec<Mount>, HostError> {
    let path = roots.proc.join(process).join("mountinfo");
    let mounts: Vec<Mount> = read_text(&path)?.lines().filter_map(Mount::parse).collect();
    if mounts.is_empty() {
        return Err(HostError::unexpected(&path, "no line describes a mount"));
    }
    Ok(mounts)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// It has no symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// Linux 5.8 and later have it.
    pub(crate) mount_id: Option<u64>,
}

impl Location {
    const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

    pub(crate) fn of(path: &Path) -> Result<Self, HostError> {
        let canonical = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => HostError::NoSuchPath { path: path.to_path_buf() },
            _ => HostError::io("find", path)(error),
        })?;
        let stat = statx(CWD, &canonical, AtFlags::empty(), Self::WANTED)
            .map_err(HostError::io("stat", &canonical))?;
        Ok(Self::from_stat(canonical, &stat))
    }

    pub(crate) fn seen_by(pid: u32, path: &Path) -> Result<Self, HostError> {
        let file = open_within(pid, path, OFlags::PATH)?;
        let stat =
            statx(&file, "", AtFlags::EMPTY_PATH, Self::WANTED).map_err(HostError::io("stat", path))?;
        Ok(Self::from_stat(path.to_path_buf(), &stat))
    }

    fn from_stat(path: PathBuf, stat: &Statx) -> Self {
        let given = StatxFlags::from_bits_retain(stat.stx_mask);
        Self {
            path,
            major: stat.stx_dev_major,
            minor: stat.stx_dev_minor,
            mount_id: given.contains(StatxFlags::MNT_ID).then_some(stat.stx_mnt_id),
        }
    }

    /// The mount id decides, else device number and longest mount point above the path.
    ///
    /// Subvolumes of a btrfs have own device numbers, so the mount point alone is the last resort. The last of equal mounts
    /// covers the others.
    pub(crate) fn mount<'a>(&self, mounts: &'a [Mount]) -> Option<&'a Mount> {
        let by_id = self.mount_id.and_then(|id| mounts.iter().find(|mount| mount.id == id));
        if by_id.is_some() {
            return by_id;
        }
        let above = || mounts.iter().filter(|mount| self.path.starts_with(&mount.point));
        let depth = |mount: &&Mount| mount.point.components().count();
        let same_device = |m: &&Mount| (m.major, m.minor) == (self.major, self.minor);
        above().filter(same_device).max_by_key(depth).or_else(|| above().max_by_key(depth))
    }
}

/// Three octal digits follow a backslash.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &rest[4..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_optional_fields_and_escapes() {
        let line =
            r"36 35 98:0 /mnt1 /mnt\040two rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.id, mount.major, mount.minor), (36, 98, 0));
        assert_eq!((mount.point.to_str(), mount.file_system.as_str()), (Some("/mnt two"), "ext3"));
        assert_eq!(mount.options, ["rw", "noatime", "errors=continue"]);
        assert_eq!((mount.option("errors"), mount.option("rw")), (Some("continue"), None));
        assert_eq!(Mount::parse("36 35 98 / / rw - ext3"), None);
    }

    #[test]
    fn escapes_are_undone_and_nothing_else() {
        assert_eq!(unescape(r"a\040b\011c\134d\12x\\"), "a b\tc\\d\\12x\\\\");
        assert_eq!(unescape(r"caf\303\251"), "café");
    }

    proptest::proptest! {
        #[test]
        fn all_escaped_characters_come_back(text in ".{0,40}") {
            let escaped: String = text.bytes().map(|byte| format!("\\{byte:03o}")).collect();
            proptest::prop_assert_eq!(unescape(&escaped), text);
        }

        #[test]
        fn any_line_is_read_or_refused(line in "([0-9:/ a-z,=\\\\-]|é){0,80}") {
            if let Some(mount) = Mount::parse(&line) {
                proptest::prop_assert!(!mount.options.is_empty());
            }
        }
    }

    #[test]
    fn the_covering_mount_wins() {
        let parse = |line| Mount::parse(line).unwrap();
        let mounts = [
            parse("1 0 8:1 / / rw - ext4 /dev/sda1 rw"),
            parse("2 1 8:2 / /data rw - xfs /dev/sda2 rw"),
            parse("3 1 8:3 / /data rw - xfs /dev/sda3 rw"),
        ];
        let location =
            |path: &str, minor, mount_id| Location { path: path.into(), major: 8, minor, mount_id };
        let id = |location: &Location| location.mount(&mounts).map(|mount| mount.id);
        assert_eq!(id(&location("/data/x", 3, None)), Some(3));
        assert_eq!(id(&location("/data/x", 2, None)), Some(2));
        assert_eq!(id(&location("/data/x", 2, Some(3))), Some(3));
        assert_eq!(id(&location("/database", 1, None)), Some(1));
        assert_eq!(
            id(&location("/data/x", 77, None)),
            Some(3),
            "an unknown number falls back to the mount point"
        );
    }
}
