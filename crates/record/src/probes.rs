//! Saved probes: what a device could do when it was last asked.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slob_host::{Device, ProbeResult};

use crate::error::RecordError;

const FOLDER: &str = "probes";

/// A probe's result, with when and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedProbe {
    /// When it began.
    pub taken: Timestamp,
    /// Which host.
    pub host: String,
    /// Which device, where there is one.
    pub device: Option<Device>,
    /// What it showed.
    pub result: ProbeResult,
}

impl SavedProbe {
    /// Whether it is a probe of the same device, through the same file system, with blocks of the same size.
    #[must_use]
    pub fn is_of(&self, host: &str, device: &Device, block_bytes: u32) -> bool {
        let same = |mine: &Device| mine.mount_point == device.mount_point && mine.stack == device.stack;
        self.host == host
            && self.device.as_ref().is_some_and(same)
            && self.result.plan.block_bytes == block_bytes
    }
}

/// Keeps a probe in a results folder; returns the file.
///
/// # Errors
/// If it can't be written.
pub fn save_probe(results: &Path, probe: &SavedProbe) -> Result<PathBuf, RecordError> {
    let folder = results.join(FOLDER);
    fs::create_dir_all(&folder).map_err(RecordError::io("creating", &folder))?;
    let path = folder.join(format!("{}.json", probe.taken.strftime("%Y%m%dT%H%M%SZ")));
    let temporary = path.with_extension("partial");
    let json = |source| RecordError::Json { path: path.clone(), source };
    let text = serde_json::to_string(probe).map_err(json)?;
    fs::write(&temporary, text).map_err(RecordError::io("writing", &temporary))?;
    fs::rename(&temporary, &path).map_err(RecordError::io("writing", &path))?;
    Ok(path)
}

/// The latest probe of a device in a results folder. Files that can't be read are passed over: a probe is an
/// extra, and a broken one must not stop a run.
#[must_use]
pub fn latest_probe(results: &Path, host: &str, device: &Device, block_bytes: u32) -> Option<SavedProbe> {
    let entries = fs::read_dir(results.join(FOLDER)).ok()?;
    let read = |path: PathBuf| serde_json::from_str::<SavedProbe>(&fs::read_to_string(path).ok()?).ok();
    entries
        .filter_map(|entry| read(entry.ok()?.path()))
        .filter(|probe| probe.is_of(host, device, block_bytes))
        .max_by_key(|probe| probe.taken)
}
