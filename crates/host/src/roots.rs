//! Where the kernel's files are: `/proc` and `/sys`, or a fixture of them in tests; and small readers for them.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::HostError;

/// The two mount points that everything in this room is read from.
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

/// A whole file as text; bytes that are not UTF-8 (file names in mountinfo) are replaced, not refused.
pub(crate) fn read_text(path: &Path) -> Result<String, HostError> {
    let bytes = std::fs::read(path).map_err(HostError::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A one-line attribute without its line end; `None` where it is absent, unreadable or empty.
pub(crate) fn attribute(path: &Path) -> Option<String> {
    let text = read_text(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A one-number attribute; `None` where it is absent or not a number.
pub(crate) fn number<T: FromStr>(path: &Path) -> Option<T> {
    attribute(path)?.parse().ok()
}
