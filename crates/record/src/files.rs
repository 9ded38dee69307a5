//! How a run's folder and the files in it are named.

use std::path::{Path, PathBuf};

/// The file in a run's directory that makes it one.
pub const RUN_FILE: &str = "run.json";
/// The file in a run's directory that holds every operation, if they were kept.
pub const OPERATIONS_FILE: &str = "operations.csv";
/// Made from the record, for spreadsheets.
pub(crate) const SERIES_FILE: &str = "series.csv";
/// The marks of a run that is under way.
pub(crate) const MARKS_FILE: &str = "marks";

/// How the folder of a run ends that is not published yet.
const PARTIAL: &str = ".partial";

/// The folder of a run that is not published yet: hidden.
pub(crate) fn partial_folder(results: &Path, id: &str) -> PathBuf {
    results.join(format!(".{id}{PARTIAL}"))
}

/// The id of the run whose unpublished folder is named so; `None` for other names.
pub(crate) fn run_of_partial(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(PARTIAL)
}
