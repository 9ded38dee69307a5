//! Saved loads: size and duration of each, which the runs on its data take over.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::durable::durable_write;
use crate::error::RecordError;
use crate::record::LoadCost;

const FOLDER: &str = "loads";

/// A load with the data that it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedLoad {
    /// The target, without a password.
    pub target: String,
    /// The seed of scatter and content, which tells loads of one target apart.
    pub seed: u64,
    /// Size and duration.
    #[serde(flatten)]
    pub cost: LoadCost,
}

/// Saves a load in a results folder.
///
/// # Errors
/// If it can't be written.
pub fn save_load(results: &Path, load: &SavedLoad) -> Result<(), RecordError> {
    let folder = results.join(FOLDER);
    fs::create_dir_all(&folder).map_err(RecordError::io("creating", &folder))?;
    let path = folder.join(format!("{}.json", load.cost.ended.strftime("%Y%m%dT%H%M%S%3fZ")));
    let text =
        serde_json::to_string(load).map_err(|source| RecordError::Json { path: path.clone(), source })?;
    durable_write(&path, 0o666, |file| file.write_all(text.as_bytes()))
        .map_err(RecordError::io("writing", path))
}

/// The latest load of a target with that seed. Unreadable files are skipped, because they must not stop a run.
pub fn latest_load(results: &Path, target: &str, seed: u64) -> Option<LoadCost> {
    let read = |path: PathBuf| serde_json::from_str::<SavedLoad>(&fs::read_to_string(path).ok()?).ok();
    let loads = fs::read_dir(results.join(FOLDER)).ok()?.filter_map(|entry| read(entry.ok()?.path()));
    let of_data = loads.filter(|load| load.target == target && load.seed == seed);
    of_data.map(|load| load.cost).max_by_key(|cost| cost.ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_load_of_the_same_data_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let load = |target: &str, seed, ended: &str, rows| {
            let cost = LoadCost { ended: ended.parse().unwrap(), rows, bytes: 8192 * rows, seconds: 2.0 };
            save_load(folder.path(), &SavedLoad { target: target.into(), seed, cost }).unwrap();
        };
        load("sqlite:a", 7, "2026-11-20T10:00:00Z", 1);
        load("sqlite:a", 7, "2026-11-20T11:00:00.5Z", 2);
        load("sqlite:a", 8, "2026-11-20T12:00:00Z", 3);
        load("sqlite:b", 7, "2026-11-20T13:00:00Z", 4);
        fs::write(folder.path().join(FOLDER).join("damaged.json"), "{").unwrap();
        let rows = |target, seed| latest_load(folder.path(), target, seed).map(|load| load.rows);
        assert_eq!([rows("sqlite:a", 7), rows("sqlite:a", 8), rows("sqlite:c", 7)], [Some(2), Some(3), None]);
    }
}
