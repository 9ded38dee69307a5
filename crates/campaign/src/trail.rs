//! A directory of runs of which each follows from those before: after a kill the same runs are asked for again, and those that
//! are there are not made twice. There is nothing else to remember.

use std::fs;
use std::path::{Path, PathBuf};

use slob_record::{Record, SeriesWanted, Status, list_runs, read_record_with};

use crate::error::CampaignError;
use crate::lock::Lock;

/// What the runs are for.
const FILE: &str = "trail.json";

/// A directory of such runs, held for this process.
#[derive(Debug)]
pub struct Trail {
    directory: PathBuf,
    _lock: Lock,
}

impl Trail {
    /// Takes a directory for runs that are for `about`: makes it, or goes on with what is there.
    ///
    /// # Errors
    /// If another process holds it, if it holds something else, or if its runs are for something else.
    pub fn open(directory: &Path, about: &serde_json::Value) -> Result<Self, CampaignError> {
        let path = directory.join(FILE);
        if !path.is_file() && holds_other_files(directory) {
            return Err(CampaignError::Foreign { path: directory.to_path_buf() });
        }
        fs::create_dir_all(directory).map_err(CampaignError::io("creating", directory))?;
        let lock = Lock::take(directory)?;
        if path.is_file() {
            let text = fs::read(&path).map_err(CampaignError::io("reading", &path))?;
            let was: serde_json::Value = serde_json::from_slice(&text)
                .map_err(|source| CampaignError::Json { path: path.clone(), source })?;
            if was != *about {
                return Err(CampaignError::OtherTrail {
                    path: directory.to_path_buf(),
                    changes: differences(&was, about),
                });
            }
        } else {
            let text = format!("{about:#}\n");
            let temporary = directory.join(format!(".{FILE}.new"));
            fs::write(&temporary, text).map_err(CampaignError::io("writing", &temporary))?;
            fs::rename(&temporary, &path).map_err(CampaignError::io("renaming to", &path))?;
        }
        Ok(Self { directory: directory.to_path_buf(), _lock: lock })
    }

    /// Where its runs are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The run of that name that was completed, if there is one: the latest of them.
    #[must_use]
    pub fn made(&self, name: &str) -> Option<Record> {
        let runs = list_runs(&self.directory).ok()?;
        let mut records =
            runs.iter().rev().filter_map(|path| read_record_with(path, SeriesWanted::Empty).ok());
        records.find(|record| record.name == name && record.status == Status::Completed)
    }
}

fn holds_other_files(directory: &Path) -> bool {
    let ours = |name: &str| name == "lock" || name.starts_with('.');
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !ours(&entry.file_name().to_string_lossy()))
}

/// What changed at the top of two objects.
fn differences(was: &serde_json::Value, is: &serde_json::Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let [was, is] = [was, is].map(|value| value.as_object().unwrap_or(&empty));
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    let show = |value: Option<&serde_json::Value>| value.map_or("unset".to_owned(), ToString::to_string);
    keys.filter(|key| was.get(*key) != is.get(*key))
        .map(|key| format!("{key} was {} and is {}", show(was.get(key)), show(is.get(key))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_directory_is_for_one_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("headroom");
        let about = json!({"demand": 7, "target": "a"});
        drop(Trail::open(&directory, &about).unwrap());
        let trail = Trail::open(&directory, &about).unwrap();
        assert!(trail.made("step-1").is_none());
        assert!(matches!(Trail::open(&directory, &about), Err(CampaignError::Locked { .. })));
        drop(trail);
        let error = Trail::open(&directory, &json!({"demand": 8, "target": "a"})).unwrap_err();
        assert!(error.to_string().contains("demand was 7 and is 8"), "{error}");
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("a.txt"), "a").unwrap();
        assert!(matches!(Trail::open(&other, &about), Err(CampaignError::Foreign { .. })));
    }
}
