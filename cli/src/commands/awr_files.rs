//! Reading many reports at once.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slob_awr::info::Named;
use slob_awr::{ReadError, is_report, read};
use slob_record::RUN_FILE;

use crate::failure::{Failure, PARTLY};
use crate::output;

/// What was kept of reports, in the order of the files.
pub(super) struct Files<T> {
    pub(super) kept: Vec<T>,
    /// Files that were asked for, and those read to their end.
    asked: usize,
    whole: usize,
}

impl<T: Send> Files<T> {
    /// Reads files, and those of folders, on all CPUs; of each report only what `keep` makes of it stays in memory.
    /// What is wrong with a file is said on stderr and does not stop the others; what can be read of one that was cut
    /// short is kept.
    pub(super) fn read<'a>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        keep: impl Fn(Named) -> T + Sync,
    ) -> Result<Self, Failure> {
        let files = files_of(paths)?;
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, One<T>)>> = Mutex::new(Vec::with_capacity(files.len()));
        let work = || {
            while let Some((at, path)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
            {
                let one = one(path, &keep);
                if let Ok(mut results) = results.lock() {
                    results.push((at, one));
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(files.len());
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        let mut results = results.into_inner().unwrap_or_default();
        results.sort_by_key(|(at, _)| *at);
        let whole = results.iter().filter(|(_, one)| one.error.is_none()).count();
        for (_, one) in &results {
            if let Some(error) = &one.error {
                output::say(&format!("slob: {error}"));
            }
        }
        let kept = results.into_iter().flat_map(|(_, one)| one.kept).collect();
        Ok(Self { kept, asked: files.len(), whole })
    }

    /// 0 if all were read, 1 if some were, 2 if none was.
    pub(super) fn exit_code(&self) -> Result<ExitCode, Failure> {
        match (self.whole, self.asked) {
            (whole, asked) if whole == asked => Ok(ExitCode::SUCCESS),
            (0, _) if self.kept.is_empty() => Err(Failure::usage("no report could be read")),
            (whole, asked) => {
                output::say(&format!(
                    "slob: {whole} of {} read to the end",
                    output::plural(asked as u64, "report")
                ));
                Ok(ExitCode::from(PARTLY))
            }
        }
    }
}

struct One<T> {
    kept: Vec<T>,
    error: Option<String>,
}

fn one<T>(path: &Path, keep: &impl Fn(Named) -> T) -> One<T> {
    let name = path.display().to_string();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return One { kept: Vec::new(), error: Some(format!("{name}: {error}")) },
    };
    let (reports, error) = match read(&bytes) {
        Ok(reports) => (reports, None),
        Err(error) => {
            let message = format!("{name}: {error}");
            (ReadError::read(error), Some(message))
        }
    };
    drop(bytes);
    let kept = reports.into_iter().map(|report| keep(Named { file: name.clone(), report })).collect();
    One { kept, error }
}

/// Whether a path is a report, or a folder whose files are: one of the first of them. The folder of a run, in which the
/// server's own report may lie, is a run.
pub(super) fn are_reports(path: &Path) -> bool {
    if path.join(RUN_FILE).exists() {
        return false;
    }
    let is_one = |path: &PathBuf| begins(path).is_some_and(|bytes| is_report(&bytes));
    let looked_at = 5;
    match files_of([&path.to_owned()]) {
        Ok(files) => files.iter().take(looked_at).any(is_one),
        Err(_) => false,
    }
}

/// The first bytes of a file.
fn begins(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(128 * 1024).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The files that arguments stand for: a folder stands for those in it, by name; hidden ones are left out.
pub(super) fn files_of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries =
            fs::read_dir(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.is_file()
                    && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
            })
            .collect();
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}
