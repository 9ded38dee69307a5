//! Reading many reports at once.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slob_awr::info::{Named, part_of_file};
use slob_awr::{Reports, Scope, is_report};
use slob_record::RUN_FILE;

use crate::failure::{Failure, PARTLY};
use crate::output;

/// What was kept of reports, in the order of the files.
pub(super) struct Files<T> {
    pub(super) kept: Vec<T>,
    /// Reports that there are, and those read to their end.
    asked: usize,
    whole: usize,
}

impl<T: Send> Files<T> {
    /// Reads files, and those of folders, on all CPUs; of each report only what `keep` makes of it stays in memory.
    /// What is wrong with a file is said on stderr and does not stop the others; what can be read of one that was cut
    /// short is kept.
    pub(super) fn read<'a>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        scope: Scope,
        keep: impl Fn(Named) -> T + Sync,
    ) -> Result<Self, Failure> {
        let files = files_of(paths)?;
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, One<T>)>> = Mutex::new(Vec::with_capacity(files.len()));
        let work = || {
            while let Some((at, path)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, files.get(at)?)))
            {
                let one = one(path, scope, &keep);
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
        let asked = results.iter().map(|(_, one)| one.reports).sum();
        let wrong = results.iter().map(|(_, one)| one.errors.len()).sum::<usize>();
        for error in results.iter().flat_map(|(_, one)| &one.errors) {
            output::say(&format!("slob: {error}"));
        }
        let kept = results.into_iter().flat_map(|(_, one)| one.kept).collect();
        Ok(Self { kept, asked, whole: asked - wrong })
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

/// What came of one file.
struct One<T> {
    kept: Vec<T>,
    /// What is wrong with it or with reports in it.
    errors: Vec<String>,
    /// Reports that it holds.
    reports: usize,
}

/// Stands for stdin.
const STDIN: &str = "-";

fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    if path.as_os_str() == STDIN {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    Ok(Box::new(fs::File::open(path)?))
}

fn one<T>(path: &Path, scope: Scope, keep: &impl Fn(Named) -> T) -> One<T> {
    let name = if path.as_os_str() == STDIN { "stdin".to_owned() } else { path.display().to_string() };
    let mut one = One { kept: Vec::new(), errors: Vec::new(), reports: 0 };
    let reports = open(path).map_err(|error| error.to_string());
    let reports = reports.and_then(|file| Reports::of(file).map_err(|error| error.to_string()));
    let reports = match reports {
        Ok(reports) => reports.within(scope),
        Err(error) => return One { errors: vec![format!("{name}: {error}")], reports: 1, ..one },
    };
    for (at, report) in reports.enumerate() {
        let nth = at + 1;
        one.reports = nth;
        let read = report.unwrap_or_else(|error| {
            one.errors.push(format!("{}: {error}", part_of_file(&name, nth)));
            error.read()
        });
        one.kept.extend(read.into_iter().map(|report| keep(Named::new(name.clone(), report).nth(nth))));
    }
    one
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
        if inside.is_empty() {
            return Err(Failure::usage(format!("{}: there are no files in this folder", path.display())));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}
