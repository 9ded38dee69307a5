//! Finding runs by what people type.

use std::fs;
use std::path::{Path, PathBuf};

use crate::RUN_FILE;
use crate::error::RecordError;

/// Whether a run of that id has that RUN_NAME. Of several in the same second the later ones have a number after it.
fn is_named(id: &str, name: &str, is_there: impl Fn(&str) -> bool) -> bool {
    let Some((stamp, named)) = id.split_once('-') else { return false };
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = || named.strip_prefix(name)?.strip_prefix('-').filter(|rest| is_number(rest));
    named == name || (numbered().is_some() && is_there(&format!("{stamp}-{name}")))
}

/// Finds a run by what a person types. In this order, the first that fits is meant:
///
/// 1. a path: of a run's folder or of its `run.json`;
/// 2. `latest` (or `last`), `latest~1` for the one before, `latest~2` and so on;
/// 3. the whole id, which is the name of the run's folder in `results`;
/// 4. RUN_NAME, which is the id after its first dash: the latest run of that name;
/// 5. the beginning of the id of one run only;
/// 6. any part of the id of one run only.
///
/// # Errors
/// If there is none, or if several fit where only one may.
pub fn find_run(results: &Path, name: &str) -> Result<PathBuf, RecordError> {
    let direct = Path::new(name);
    if direct.join(RUN_FILE).is_file() || (direct.is_file() && !name.is_empty()) {
        return Ok(direct.to_path_buf());
    }
    let runs = list_runs(results)?;
    if let Some(back) = steps_back(name) {
        return nth_latest(&runs, back, results, name);
    }
    let latest = |fits: &dyn Fn(&str) -> bool| runs.iter().rev().find(|path| fits(&id_of(path))).cloned();
    let is_there = |id: &str| runs.iter().any(|path| id_of(path) == id);
    if let Some(run) = latest(&|id| id == name).or_else(|| latest(&|id| is_named(id, name, is_there))) {
        return Ok(run);
    }
    let no_run = || RecordError::NoRun { name: name.into(), path: results.to_path_buf() };
    if name.is_empty() {
        return Err(no_run());
    }
    let beginning = only(&runs, name, |id| id.starts_with(name))?;
    beginning
        .map_or_else(|| only(&runs, name, |id| id.contains(name)), |run| Ok(Some(run)))?
        .ok_or_else(no_run)
}

/// The runs that a name stands for: those of a folder of runs, oldest first, or else the one that [`find_run`] finds.
///
/// # Errors
/// As those of [`find_run`]; a folder without any run is an error too.
pub fn find_runs(results: &Path, name: &str) -> Result<Vec<PathBuf>, RecordError> {
    let folder = Path::new(name);
    if !folder.is_dir() || folder.join(RUN_FILE).is_file() {
        return Ok(vec![find_run(results, name)?]);
    }
    let runs = list_runs(folder)?;
    if runs.is_empty() { Err(RecordError::NoRuns { path: folder.to_path_buf() }) } else { Ok(runs) }
}

/// The folder of a run that [`find_run`] found: itself, or that of its file.
#[must_use]
pub fn run_folder(run: &Path) -> &Path {
    if run.is_dir() { run } else { run.parent().unwrap_or(Path::new(".")) }
}

/// The published runs of a results folder, oldest first. A folder that does not exist holds none.
///
/// # Errors
/// If the folder can't be read.
pub fn list_runs(results: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let entries = match fs::read_dir(results) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RecordError::io("reading", results)(error)),
    };
    let visible = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && path.join(RUN_FILE).is_file()
    };
    let mut runs: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(visible).collect();
    runs.sort();
    Ok(runs)
}

/// How many runs before the latest one `latest`, `last`, `latest~2` mean; `None` for other names.
fn steps_back(name: &str) -> Option<usize> {
    let rest = name.strip_prefix("latest").or_else(|| name.strip_prefix("last"))?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('~')?.parse().ok() }
}

fn nth_latest(runs: &[PathBuf], back: usize, results: &Path, name: &str) -> Result<PathBuf, RecordError> {
    if runs.is_empty() {
        return Err(RecordError::NoRun { name: name.into(), path: results.to_path_buf() });
    }
    let too_far =
        || RecordError::TooFarBack { name: name.into(), count: runs.len(), path: results.to_path_buf() };
    runs.iter().rev().nth(back).cloned().ok_or_else(too_far)
}

/// The one run that fits; `None` if none does.
fn only(runs: &[PathBuf], name: &str, fits: impl Fn(&str) -> bool) -> Result<Option<PathBuf>, RecordError> {
    let fitting: Vec<&PathBuf> = runs.iter().filter(|path| fits(&id_of(path))).collect();
    match fitting.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let ids = several.iter().map(|path| id_of(path)).collect();
            Err(RecordError::Ambiguous { name: name.into(), ids })
        }
    }
}

fn id_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
