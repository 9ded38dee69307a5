//! Tables of runs, and how the records for them are read.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slob_campaign::read_campaign;
use slob_facts::Run;
use slob_facts::table::Table;
use slob_record::{Record, RecordError, SeriesWanted, find_runs, on_all_cpus, read_records};

use crate::failure::{Failure, PARTLY};
use crate::{judged, output};

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

pub(crate) struct Records<T> {
    pub(crate) kept: Vec<T>,
    asked: usize,
}

/// A campaign's folder may hold runs that it has set aside.
fn that_count(name: &str, mut runs: Vec<PathBuf>) -> Vec<PathBuf> {
    if let Ok(Some((_, state))) = read_campaign(Path::new(name)) {
        let is_set_aside = |run: &OsStr| state.is_set_aside(&run.to_string_lossy());
        runs.retain(|path| !path.file_name().is_some_and(is_set_aside));
    }
    runs
}

impl<T> Records<Option<T>> {
    pub(crate) fn known(self) -> Records<T> {
        Records { kept: self.kept.into_iter().flatten().collect(), asked: self.asked }
    }
}

impl<T: Send> Records<T> {
    /// What can't be read is named on stderr and does not stop the others.
    pub(crate) fn read<'a>(
        results: &Path,
        names: impl IntoIterator<Item = &'a str>,
        series: SeriesWanted,
        keep: impl Fn(Record) -> T + Sync,
    ) -> Self {
        Self::named(results, names, |paths| Self::read_paths(paths, series, keep))
    }

    pub(crate) fn read_paths(
        paths: &[PathBuf],
        series: SeriesWanted,
        keep: impl Fn(Record) -> T + Sync,
    ) -> Self {
        Self::of(read_records(paths, series, keep).into_iter().map(|(_, record)| record))
    }

    pub(crate) fn judged<'a>(
        results: &Path,
        names: impl IntoIterator<Item = &'a str>,
        keep: impl Fn(&Run<'_>) -> T + Sync,
    ) -> Self {
        Self::named(results, names, |paths| Self::judged_paths(paths, keep))
    }

    pub(crate) fn judged_paths(paths: &[PathBuf], keep: impl Fn(&Run<'_>) -> T + Sync) -> Self {
        Self::of(on_all_cpus(paths, |path| judged::read(path, &keep)))
    }

    pub(crate) fn named<'a>(
        results: &Path,
        names: impl IntoIterator<Item = &'a str>,
        read: impl FnOnce(&[PathBuf]) -> Self,
    ) -> Self {
        let mut paths = Vec::new();
        let mut unknown = 0;
        for name in names {
            match find_runs(results, name) {
                Ok(runs) => paths.extend(that_count(name, runs)),
                Err(error) => {
                    output::say(&format!("slob: {error}"));
                    unknown += 1;
                }
            }
        }
        let read = read(&paths);
        Self { asked: read.asked + unknown, ..read }
    }

    fn of(read: impl IntoIterator<Item = Result<T, RecordError>>) -> Self {
        let (mut kept, mut asked) = (Vec::new(), 0);
        for record in read {
            asked += 1;
            match record {
                Ok(record) => kept.push(record),
                Err(error) => output::say(&format!("slob: {error}")),
            }
        }
        Self { kept, asked }
    }

    /// Use it where a part makes no sense.
    pub(crate) fn all(self) -> Result<Vec<T>, Failure> {
        if self.kept.len() == self.asked {
            return Ok(self.kept);
        }
        Err(Failure::said())
    }

    /// 0 if all could be read, 1 if some, 2 if none.
    pub(crate) fn exit_code(&self) -> Result<ExitCode, Failure> {
        match (self.kept.len(), self.asked) {
            (read, asked) if read == asked => Ok(ExitCode::SUCCESS),
            (0, _) => Err(Failure::usage("no record could be read")),
            (read, asked) => {
                output::say(&format!("slob: {read} of {asked} records could be read"));
                Ok(ExitCode::from(PARTLY))
            }
        }
    }
}
