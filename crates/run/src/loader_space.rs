//! Room for a load: told before it begins where that can be known, and looked at again when it runs out.

use std::fmt::Display;
use std::path::Path;

use slob_engine::{EngineError, ErrorKind};

use crate::RunError;

/// Blocks besides those of rows (index, interior pages, log), as a share of them.
const OVERHEAD: f64 = 0.05;
/// A file system with less room than this is full: databases extend their files and logs in steps of this order.
const FULL_BYTES: u64 = 64 << 20;

/// Refuses a load for which there is no room.
///
/// # Errors
/// With [`crate::RunErrorKind::Usage`] and the figures; also if the file system can't be asked.
pub(crate) fn check_space(path: &Path, load_bytes: u64) -> Result<(), RunError> {
    let place = existing(path);
    let free = slob_host::free_space(place).map_err(|error| RunError::usage(error.to_string()))?.free_bytes;
    check_room(&place.display(), free, load_bytes)
}

/// The same where it is known how much is free at that place.
///
/// # Errors
/// As [`check_space`].
pub(crate) fn check_room(place: &dyn Display, free: u64, load_bytes: u64) -> Result<(), RunError> {
    let needed = with_overhead(load_bytes);
    if needed > free {
        return Err(RunError::usage(format!(
            "the load needs {} MB on the file system of {}, but only {} MB are free there; lower SCALE or the number \
             of schemas, or choose another place with TARGET or TABLESPACE",
            mb(needed).max(mb(free) + 1),
            place,
            mb(free)
        )));
    }
    Ok(())
}

/// What to add to an error that may come of a file system that is full; `None` if it has another reason. A database
/// that can't write its log ends, so that a lost connection may be one.
pub(crate) fn room_left(error: &EngineError, path: Option<&Path>, missing_bytes: u64) -> Option<String> {
    let place = existing(path?);
    let free = slob_host::free_space(place).ok()?.free_bytes;
    let full = free < FULL_BYTES;
    if !(error.kind() == ErrorKind::Space || (error.kind() == ErrorKind::Connection && full)) {
        return None;
    }
    let needed = with_overhead(missing_bytes);
    let remedy = if needed > free || full {
        "make room there"
    } else {
        "so another file system is full, such as the log's"
    };
    let (needed, free) = (mb(needed), mb(free));
    Some(format!(
        "the file system of {} has {free} MB free now, and what is still missing needs {needed} MB: {remedy}",
        place.display()
    ))
}

fn with_overhead(bytes: u64) -> u64 {
    (bytes as f64 * (1.0 + OVERHEAD)) as u64
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// A folder that is yet to be made lies on its parent's file system.
fn existing(path: &Path) -> &Path {
    match path.ancestors().find(|path| path.exists()) {
        Some(existing) => existing,
        None => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunErrorKind;

    #[test]
    fn a_load_without_room_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("yet/to/be/made");
        assert!(check_space(&place, 1).is_ok());
        let error = check_space(&place, 1 << 60).unwrap_err();
        assert_eq!(error.kind(), RunErrorKind::Usage);
        let text = error.to_string();
        assert!(
            text.contains(&folder.path().display().to_string()) && text.contains("MB are free"),
            "{text}"
        );
    }

    #[test]
    fn room_is_told_with_errors_that_may_come_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let room = |kind, missing_bytes| {
            let error = EngineError::new(kind, "loading", "no");
            room_left(&error, Some(folder.path()), missing_bytes)
        };
        let text = room(ErrorKind::Space, 200_000_000_000_000).unwrap();
        assert!(text.contains("needs 210000000 MB") && text.contains("make room"), "{text}");
        assert_eq!(room(ErrorKind::Data, 1), None);
        let error = EngineError::new(ErrorKind::Space, "loading", "no");
        assert_eq!(room_left(&error, None, 1), None, "a server elsewhere");
    }
}
