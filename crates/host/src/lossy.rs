//! Paths in records: text, whatever bytes they are of.

use std::path::Path;

use serde::Serializer;

/// What is no UTF-8 is replaced: a record must be kept wherever it was made.
pub(crate) fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
