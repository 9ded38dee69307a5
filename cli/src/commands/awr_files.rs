//! Files of AWR and Statspack reports: which a command means, and what it keeps of each.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use slob_awr::info::{Named, part_of_file};
use slob_awr::{Reports, Scope, is_report};
use slob_facts::format::plural;
use slob_record::{RUN_FILE, on_all_cpus};

use crate::failure::{Failure, PARTLY};

pub(super) const EXIT_CODES: &str =
    "Exit codes: 0 all files were read; 1 only some were, or one is truncated; 2 none was.";

/// Reports that a command reads.
#[derive(Args)]
pub(super) struct Files {
    /// Reports, also packed with gzip or zip, folders of nothing but reports, or - for stdin
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(super) files: Vec<PathBuf>,
}

const STDIN: &str = "-";
/// Files of a folder that are opened to see whether it holds reports.
const FILES_TRIED: usize = 5;
const HEAD_BYTES: u64 = 128 * 1024;

pub(super) struct ReadReports<T> {
    pub(super) kept: Vec<T>,
    asked: usize,
    whole: usize,
}

struct ReadFile<T> {
    kept: Vec<T>,
    errors: Vec<String>,
    reports: usize,
}

impl<T: Send> ReadReports<T> {
    /// Memory holds only what `keep` returns. Errors go to stderr, and the readable part of a truncated report is kept.
    pub(super) fn read<'a>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        scope: Scope,
        keep: impl Fn(Named) -> T + Sync,
    ) -> Result<Self, Failure> {
        let mut all = Self { kept: Vec::new(), asked: 0, whole: 0 };
        for file in on_all_cpus(&files_of(paths)?, |path| read_file(path, scope, &keep)) {
            file.errors.iter().for_each(|error| say!("slob: {error}"));
            all.asked += file.reports;
            all.whole += file.reports - file.errors.len();
            all.kept.extend(file.kept);
        }
        Ok(all)
    }

    /// 0 if all were read, 1 if some were, 2 if none was.
    pub(super) fn exit_code(&self) -> Result<ExitCode, Failure> {
        match (self.whole, self.asked) {
            (whole, asked) if whole == asked => Ok(ExitCode::SUCCESS),
            (0, _) if self.kept.is_empty() => Err(Failure::usage("no report could be read")),
            (whole, asked) => {
                say!("slob: {whole} of {} read to the end", plural(asked as u64, "report"));
                Ok(ExitCode::from(PARTLY))
            }
        }
    }
}

fn read_file<T>(path: &Path, scope: Scope, keep: &impl Fn(Named) -> T) -> ReadFile<T> {
    let name = if path.as_os_str() == STDIN { "stdin".to_owned() } else { path.display().to_string() };
    let reports = open(path).map_err(|error| error.to_string());
    let reports = reports.and_then(|file| Reports::of(file).map_err(|error| error.to_string()));
    let reports = match reports {
        Ok(reports) => reports.within(scope),
        Err(error) => {
            return ReadFile { kept: Vec::new(), errors: vec![format!("{name}: {error}")], reports: 1 };
        }
    };
    let mut file = ReadFile { kept: Vec::new(), errors: Vec::new(), reports: 0 };
    for (nth, report) in (1..).zip(reports) {
        file.reports = nth;
        let read = report.unwrap_or_else(|error| {
            file.errors.push(format!("{}: {error}", part_of_file(&name, nth)));
            error.read
        });
        file.kept.extend(read.into_iter().map(|report| keep(Named::new(name.clone(), report).nth(nth))));
    }
    file
}

fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    if path.as_os_str() == STDIN {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    Ok(Box::new(fs::File::open(path)?))
}

pub(super) fn are_reports(path: &Path) -> bool {
    let head = |path: &PathBuf| {
        let mut bytes = Vec::new();
        fs::File::open(path).ok()?.take(HEAD_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let is_one = |path: &PathBuf| head(path).is_some_and(|bytes| is_report(&bytes));
    !path.join(RUN_FILE).exists()
        && files_of([&path.to_owned()]).is_ok_and(|files| files.iter().take(FILES_TRIED).any(is_one))
}

/// A folder means its files by name, without hidden ones.
fn files_of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(|error| usage!("{}: {error}", path.display()))?;
        let is_hidden =
            |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file() && !is_hidden(path))
            .collect();
        if inside.is_empty() {
            return Err(usage!("{}: there are no files in this folder", path.display()));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}
