//! Tables of runs, and how the records for them are read.

use crate::output;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use slob_campaign::Folder;
use slob_facts::Run;
use slob_facts::table::Table;
use slob_record::{Record, RecordError, SeriesWanted, on_all_cpus, read_records};

use crate::failure::{Failure, PARTLY};
use crate::saved::Results;
use crate::verdict_cache;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Pipes,
    Csv,
    Json,
}

impl Form {
    pub(crate) fn of<const N: usize>(asked: [(bool, Self); N], piped: Self) -> Self {
        let form = asked.into_iter().find(|(is_asked, _)| *is_asked).map(|(_, form)| form);
        form.unwrap_or(if io::stdout().is_terminal() { Self::Table } else { piped })
    }

    /// A terminal shows no heads without rows.
    pub(crate) fn text(self, table: &Table) -> String {
        match self {
            Self::Table if table.is_empty() => String::new(),
            Self::Table => table.terminal(output::width()),
            Self::Pipes => table.pipes(),
            Self::Csv => table.csv(),
            Self::Json => table.json(),
        }
    }
}

/// Runs to read, and the number of names that stand for none.
#[derive(Default)]
pub(crate) struct Runs {
    paths: Vec<PathBuf>,
    unknown: usize,
}

impl From<Vec<PathBuf>> for Runs {
    fn from(paths: Vec<PathBuf>) -> Self {
        Self { paths, unknown: 0 }
    }
}

impl Runs {
    /// The runs that names stand for; of a campaign's folder those that are not set aside. Unknown names are said on stderr.
    pub(crate) fn named<'a>(results: &Results, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for name in names {
            match results.find_runs(name) {
                Ok(mut runs) => {
                    if let Ok(Some(Folder { state, .. })) = Folder::read(&results.path(name)) {
                        let is_set_aside = |run: &OsStr| state.is_set_aside(&run.to_string_lossy());
                        runs.retain(|path| !path.file_name().is_some_and(is_set_aside));
                    }
                    all.paths.extend(runs);
                }
                Err(error) => {
                    say!("slob: {error}");
                    all.unknown += 1;
                }
            }
        }
        // Repeats of one run would show less noise than there is.
        let mut seen = BTreeSet::new();
        all.paths.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        all
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    pub(crate) fn are_all_known(&self) -> bool {
        self.unknown == 0
    }
}

pub(crate) fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

pub(crate) struct Records<T> {
    pub(crate) kept: Vec<T>,
    asked: usize,
}

impl<T> Records<Option<T>> {
    pub(crate) fn known(self) -> Records<T> {
        Records { kept: self.kept.into_iter().flatten().collect(), asked: self.asked }
    }
}

impl<T: Send> Records<T> {
    /// Reads runs and keeps the results of `keep`. Errors are said on stderr and do not stop the others.
    pub(crate) fn read(runs: &Runs, series: SeriesWanted, keep: impl Fn(Record) -> T + Sync) -> Self {
        Self::of(runs, read_records(&runs.paths, series, keep).into_iter().map(|(_, record)| record))
    }

    /// The same with figures and verdicts.
    pub(crate) fn judged(runs: &Runs, keep: impl Fn(&Run<'_>) -> T + Sync) -> Self {
        Self::of(runs, on_all_cpus(&runs.paths, |path| verdict_cache::read(path, &keep)))
    }

    fn of(runs: &Runs, read: impl IntoIterator<Item = Result<T, RecordError>>) -> Self {
        let known = |record: Result<T, _>| record.inspect_err(|error| say!("slob: {error}")).ok();
        Self { kept: read.into_iter().filter_map(known).collect(), asked: runs.paths.len() + runs.unknown }
    }

    /// Use it where a part makes no sense.
    pub(crate) fn all(self) -> Result<Vec<T>, Failure> {
        if self.kept.len() == self.asked { Ok(self.kept) } else { Err(Failure::said()) }
    }

    /// 0 if all could be read, 1 if some, 2 if none.
    pub(crate) fn exit_code(&self) -> Result<ExitCode, Failure> {
        match (self.kept.len(), self.asked) {
            (read, asked) if read == asked => Ok(ExitCode::SUCCESS),
            (0, _) => Err(Failure::usage("no record could be read")),
            (read, asked) => {
                say!("slob: {read} of {asked} records could be read");
                Ok(ExitCode::from(PARTLY))
            }
        }
    }
}
