//! What schemas a folder holds.

use slob_engine::{EngineError, ErrorKind, SchemaState, only_damaged};
use slob_method::SchemaNo;

use crate::error::os_failed;
use crate::schema_file::SchemaFile;
use crate::target::{Place, schema_of};
use crate::vfs::{IoMode, Meter};

/// The schemas of a folder, in order of their numbers.
///
/// # Errors
/// If the folder or a file can't be read; if the only schemas there are damaged, because then nothing says what they
/// were loaded as.
pub(crate) fn schemas(place: &Place, meter: &Meter) -> Result<Vec<SchemaState>, EngineError> {
    let (mut states, mut damaged) = (Vec::new(), Vec::new());
    for (schema, path) in files(place)? {
        let read = SchemaFile::open(schema, &path, IoMode::Buffered, meter).and_then(|file| file.state());
        match read {
            Ok(state) => states.extend(state),
            Err(error) if error.kind() == ErrorKind::Space => {
                states.extend(SchemaFile::open_read_only(schema, &path, meter)?.state()?);
            }
            Err(error) if error.kind() == ErrorKind::Data => damaged.push(schema),
            Err(error) => return Err(error),
        }
    }
    SchemaState::with_damaged(states, &damaged).ok_or_else(|| no_sound_one(place, &damaged))
}

fn files(place: &Place) -> Result<Vec<(SchemaNo, std::path::PathBuf)>, EngineError> {
    if !place.folder.exists() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| os_failed(format!("reading {}", place.folder.display()), &error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&place.folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        files.extend(schema_of(&path).map(|schema| (schema, path)));
    }
    files.sort();
    Ok(files)
}

fn no_sound_one(place: &Place, damaged: &[SchemaNo]) -> EngineError {
    let files: Vec<String> =
        damaged.iter().map(|schema| format!("'{}'*", place.file(*schema).display())).collect();
    let step = format!("reading {}", place.folder.display());
    only_damaged(&step, &format!("the files: rm {}", files.join(" ")))
}
