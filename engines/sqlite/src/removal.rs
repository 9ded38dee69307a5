//! Removing a schema, sound or damaged.

use std::path::Path;
use std::{fs, io};

use slob_engine::{EngineError, ErrorKind};
use slob_method::SchemaNo;

use crate::error::os_failed;
use crate::header::{Claim, claim};
use crate::schema_file::{BUSY_WAIT, not_loaded, not_ours};
use crate::target::{Place, companions};

/// Removes a schema. SQLite has no part in this: the file may be damaged, and there may be no room for what SQLite
/// makes beside it.
///
/// # Errors
/// If it is not ours, in use, or can't be removed.
pub(crate) fn drop_schema(place: &Place, schema: SchemaNo) -> Result<(), EngineError> {
    let path = place.file(schema);
    let step = || format!("removing {}", path.display());
    match claim(&path, BUSY_WAIT, || remove(&path)) {
        Ok(Claim::Done(())) => Ok(()),
        Ok(Claim::NotOurs) => Err(not_ours(&path)),
        Ok(Claim::InUse) => {
            Err(EngineError::new(ErrorKind::Retryable, step(), "a program has it open").with_advice("end it"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(not_loaded(schema, &path)),
        Err(error) => Err(os_failed(step(), &error)),
    }
}

/// The file goes last: as long as anything is left, the marker is, and removing can be resumed.
fn remove(path: &Path) -> io::Result<()> {
    for companion in companions(path) {
        match fs::remove_file(companion) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(path)
}
