//! Space on the file system of the data. Loads need it; errors may be its lack.

use std::fmt::Display;
use std::path::Path;

use slob_engine::{EngineError, ErrorKind};

use crate::RunError;

/// Index, interior pages and log, as a share of blocks with rows.
const OVERHEAD: f64 = 0.05;
/// Databases extend files and logs in steps of this order.
const FULL_BYTES: u64 = 64 << 20;

pub(crate) fn check_free_space(path: &Path, load_bytes: u64) -> Result<(), RunError> {
    let place = nearest_existing(path);
    let free = slob_host::free_space(place).map_err(|error| RunError::usage(error.to_string()))?;
    check_room(&place.display(), free, load_bytes)
}

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

/// A database that can't write its log ends, so a lost connection may be a lack of space.
pub(crate) fn space_hint(error: &EngineError, path: Option<&Path>, missing_bytes: u64) -> Option<String> {
    let place = nearest_existing(path?);
    let free = slob_host::free_space(place).ok()?;
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

/// A new folder is on the file system of the nearest existing one above it.
pub(crate) fn nearest_existing(path: &Path) -> &Path {
    let existing = path.ancestors().find(|path| path.exists());
    // The last ancestor of a relative path is empty.
    existing.unwrap_or(Path::new(if path.is_absolute() { "/" } else { "." }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunErrorKind;

    #[test]
    fn a_load_without_room_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("yet/to/be/made");
        assert!(check_free_space(&place, 1).is_ok());
        let error = check_free_space(&place, 1 << 60).unwrap_err();
        assert_eq!(error.kind, RunErrorKind::Usage);
        let text = error.to_string();
        assert!(
            text.contains(&folder.path().display().to_string()) && text.contains("MB are free"),
            "{text}"
        );
    }

    #[test]
    fn errors_of_a_full_file_system_name_the_room_left() {
        let folder = tempfile::tempdir().unwrap();
        let room = |kind, missing_bytes| {
            let error = EngineError::new(kind, "loading", "no");
            space_hint(&error, Some(folder.path()), missing_bytes)
        };
        let text = room(ErrorKind::Space, 200_000_000_000_000).unwrap();
        assert!(text.contains("needs 210000000 MB") && text.contains("make room"), "{text}");
        assert_eq!(room(ErrorKind::Data, 1), None);
        let error = EngineError::new(ErrorKind::Space, "loading", "no");
        assert_eq!(space_hint(&error, None, 1), None, "a server elsewhere");
    }

    #[test]
    fn a_folder_that_is_yet_to_be_made_has_an_existing_ancestor() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(nearest_existing(&folder.path().join("a/b")), folder.path());
        assert_eq!(nearest_existing(folder.path()), folder.path());
        assert_eq!(nearest_existing(Path::new("no-such-folder/x")), Path::new("."));
    }
}
