//! What runs leave behind that were killed.

use std::fs;
use std::path::Path;

use crate::files::{MARKS_FILE, OPERATIONS_FILE, RUN_FILE, SERIES_FILE, run_of_partial};
use crate::marks::is_held;

/// A record's last byte: the file that lacks it was cut off.
pub(crate) const END: &[u8] = b"\n";

/// Removes the folders of runs that were killed before they had written their record. One with a whole record, which only
/// lacks its name, is kept for whoever looks for it.
pub(crate) fn remove_abandoned(results: &Path) {
    let entries = fs::read_dir(results).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| run_of_partial(&entry.file_name().to_string_lossy()).is_some()) {
        let folder = entry.path();
        if is_held(&folder.join(MARKS_FILE)) || !holds_nothing_whole(&folder) {
            continue;
        }
        for name in OURS {
            let _ = fs::remove_file(folder.join(name));
        }
        // Only an empty folder can be removed in this way.
        let _ = fs::remove_dir(folder);
    }
}

/// What this program writes into such a folder.
const OURS: [&str; 4] = [MARKS_FILE, RUN_FILE, SERIES_FILE, OPERATIONS_FILE];

fn holds_nothing_whole(folder: &Path) -> bool {
    let is_ours = |file: fs::DirEntry| OURS.iter().any(|name| file.file_name() == *name);
    let are_ours = fs::read_dir(folder).is_ok_and(|files| files.flatten().all(is_ours));
    are_ours && !fs::read(folder.join(RUN_FILE)).is_ok_and(|record| record.ends_with(END))
}
