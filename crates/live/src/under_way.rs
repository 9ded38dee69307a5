//! A run under way, for `slob serve` in the same results folder: a file of each run, written only while somebody watches.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use slob_facts::Judged;
use slob_record::replace;

use crate::state::RunState;

/// Its time says when somebody last watched.
const WATCHED: &str = ".watched";
const ENDING: &str = ".under-way.json";
/// After that a watcher is gone, or a run's file was left behind.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_RATES: usize = 120;

#[derive(Serialize, Deserialize)]
pub struct UnderWay {
    run: String,
    name: String,
    target: String,
    stage: String,
    sessions: u32,
    elapsed_s: f64,
    left_s: Option<f64>,
    /// They are of the last second, and have their names.
    figures: Vec<(String, String)>,
    /// Operations per second, the last two minutes.
    rates: Vec<f64>,
    verdicts: Vec<Judged>,
    notes: Vec<String>,
}

impl UnderWay {
    pub(crate) fn of(state: &RunState) -> Option<Self> {
        let rates: Vec<f64> = state.history.iter().map(|second| second.operations_per_s).collect();
        Some(Self {
            run: state.run_id.clone()?,
            name: state.name.clone(),
            target: state.target.clone(),
            stage: state.stage.word().to_owned(),
            sessions: state.sessions,
            elapsed_s: state.elapsed.as_secs_f64(),
            left_s: state.left.map(|left| left.as_secs_f64()),
            figures: state.now().map(crate::state::Second::shown).unwrap_or_default(),
            rates: rates[rates.len().saturating_sub(MOST_RATES)..].to_vec(),
            verdicts: state.verdicts.iter().map(Judged::from).collect(),
            notes: state.notes.iter().cloned().collect(),
        })
    }
}

fn is_fresh(path: &Path) -> bool {
    let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| SystemTime::now().duration_since(modified).unwrap_or_default() < PATIENCE)
}

/// A run's own file, which goes with it.
pub(crate) struct Notice {
    results: PathBuf,
    file: Option<PathBuf>,
}

impl Notice {
    pub(crate) fn new(results: &Path) -> Self {
        Self { results: results.to_path_buf(), file: None }
    }

    pub(crate) fn is_watched(&self) -> bool {
        is_fresh(&self.results.join(WATCHED))
    }

    /// A failure costs a watcher this second only.
    pub(crate) fn show(&mut self, state: &RunState) {
        let Some(run) = UnderWay::of(state) else { return };
        let file = self.results.join(format!(".{}{ENDING}", run.run));
        if serde_json::to_vec(&run).is_ok_and(|run| replace(&file, &run).is_ok()) {
            self.file = Some(file);
        }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        let _ = self.file.take().map(fs::remove_file);
    }
}

/// Tells runs in this folder that somebody watches. A folder that is not writable shows no runs under way.
pub fn watch(results: &Path) {
    let _ = fs::write(results.join(WATCHED), "");
}

pub fn end_watch(results: &Path) {
    let _ = fs::remove_file(results.join(WATCHED));
}

/// Files of runs that were killed are removed.
pub fn runs_under_way(results: &Path) -> Vec<UnderWay> {
    let entries = fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_notice = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    let read = |path: PathBuf| {
        if !is_fresh(&path) {
            let _ = fs::remove_file(path);
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    };
    let mut runs: Vec<UnderWay> = entries.filter(is_notice).filter_map(read).collect();
    runs.sort_by(|a, b| a.run.cmp(&b.run));
    runs
}
