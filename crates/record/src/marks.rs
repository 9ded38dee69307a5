//! Marks: what somebody else says of a run while it is under way, such as "rebalance begins".
//!
//! A run that is under way holds a lock on a file in its temporary folder. The kernel gives the lock back when the
//! program ends, in whatever way, so a run that was killed can't be taken for one that goes on. Whoever has something to say
//! appends a line to that file; the run reads it at its end.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::course::Mark;
use crate::error::RecordError;
use crate::files::{MARKS_FILE, run_of_partial};

/// The longest text, in characters.
const LONGEST: usize = 200;
/// The most marks that a record keeps.
const MOST: usize = 1000;

/// The text of a mark: one line, not empty, at most 200 characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkText(String);

impl FromStr for MarkText {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let text = text.trim();
        let fits = !text.is_empty() && text.chars().count() <= LONGEST && !text.contains(char::is_control);
        fits.then(|| Self(text.to_owned())).ok_or(RecordError::MarkText { longest: LONGEST })
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    at: Timestamp,
    text: String,
}

/// The open file of a run that is under way; held as long as it is.
#[derive(Debug)]
pub(crate) struct MarkBox {
    /// The lock goes with it.
    _file: File,
    path: PathBuf,
}

impl MarkBox {
    pub(crate) fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(MARKS_FILE);
        let file = open(&path).map_err(RecordError::io("creating", &path))?;
        // A file system without locks only takes the marks away.
        let _ = file.lock();
        Ok(Self { _file: file, path })
    }

    /// The marks so far, relative to the start of the sessions, in order of time; and how many more there were than are
    /// kept. A line that nobody can read is left out.
    pub(crate) fn read(&self, started: Timestamp) -> (Vec<Mark>, usize) {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let mark = |line: Line| Mark { at_s: line.at.duration_since(started).as_secs_f64(), text: line.text };
        let mut marks: Vec<Mark> = lines.map(mark).collect();
        marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let more = marks.len().saturating_sub(MOST);
        marks.truncate(MOST);
        (marks, more)
    }

    /// Takes the file away: what it holds is in the record.
    pub(crate) fn remove(self) {
        // One that stays does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Marks this moment in a run that is under way, and returns the run's id. Without `run` it is the only one.
///
/// # Errors
/// If no such run is under way, if there are several and none was said, or if the file can't be written.
pub fn leave_mark(results: &Path, run: Option<&str>, text: &MarkText) -> Result<String, RecordError> {
    // Taken first: finding the run may take a while.
    let at = Timestamp::now();
    let mut under_way = boxes_under_way(results);
    let ids = |under_way: &[(String, PathBuf)]| under_way.iter().map(|(id, _)| id.clone()).collect();
    let fits = |id: &str| run.is_none_or(|run| id == run || id.ends_with(&format!("-{run}")));
    let all: Vec<String> = ids(&under_way);
    under_way.retain(|(id, _)| fits(id));
    let (id, path) = match under_way.as_slice() {
        [one] => one,
        [] => {
            let (path, run) = (results.to_path_buf(), run.map(str::to_owned));
            return Err(RecordError::NotUnderWay { run, ids: all, path });
        }
        _ => return Err(RecordError::SeveralUnderWay { ids: ids(&under_way) }),
    };
    let line = Line { at, text: text.0.clone() };
    let mut line = serde_json::to_string(&line)
        .map_err(|source| RecordError::Json { path: path.clone(), source })?
        .into_bytes();
    line.push(b'\n');
    // In one call, so that the lines of two who mark at once do not mix.
    open(path).and_then(|mut file| file.write_all(&line)).map_err(RecordError::io("writing", path))?;
    Ok(id.clone())
}

/// The ids of the runs that are under way in a results folder, oldest first; none if it can't be read.
#[must_use]
pub fn runs_under_way(results: &Path) -> Vec<String> {
    boxes_under_way(results).into_iter().map(|(id, _)| id).collect()
}

/// Runs that are under way, with their files of marks, oldest first.
fn boxes_under_way(results: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(results).into_iter().flatten().flatten();
    let run = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = run_of_partial(&name)?.to_owned();
        let path = entry.path().join(MARKS_FILE);
        is_held(&path).then_some((id, path))
    };
    let mut runs: Vec<_> = entries.filter_map(run).collect();
    runs.sort();
    runs
}

/// Whether a running program holds the file.
pub(crate) fn is_held(path: &Path) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunDirectory;

    fn text(text: &str) -> MarkText {
        text.parse().unwrap()
    }

    #[test]
    fn a_mark_reaches_the_run_that_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let started = Timestamp::now();
        let run = RunDirectory::create(folder.path(), started, "a").unwrap();
        assert_eq!(leave_mark(folder.path(), None, &text("one")).unwrap(), run.id());
        assert_eq!(leave_mark(folder.path(), Some("a"), &text("two \"quoted\"")).unwrap(), run.id());
        let (marks, more) = run.marks(started);
        let texts: Vec<&str> = marks.iter().map(|mark| mark.text.as_str()).collect();
        assert_eq!((texts, more), (vec!["one", "two \"quoted\""], 0));
        assert!(marks.iter().all(|mark| mark.at_s >= 0.0));
    }

    #[test]
    fn without_a_run_there_is_nothing_to_mark_and_of_several_one_must_be_said() {
        let folder = tempfile::tempdir().unwrap();
        let none = leave_mark(folder.path(), None, &text("x")).unwrap_err().to_string();
        assert!(none.contains("no run is under way in"), "{none}");
        let first = RunDirectory::create(folder.path(), Timestamp::now(), "a").unwrap();
        let second = RunDirectory::create(folder.path(), Timestamp::now(), "b").unwrap();
        let several = leave_mark(folder.path(), None, &text("x")).unwrap_err().to_string();
        assert!(several.contains(first.id()) && several.contains("--run"), "{several}");
        assert_eq!(leave_mark(folder.path(), Some("b"), &text("x")).unwrap(), second.id());
        let other = leave_mark(folder.path(), Some("c"), &text("x")).unwrap_err().to_string();
        assert!(other.contains("no run 'c' is under way") && other.contains(second.id()), "{other}");
    }

    #[test]
    fn what_a_killed_run_left_is_not_under_way_and_goes_with_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".20260101T000000Z-dead.partial");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(MARKS_FILE), "").unwrap();
        assert!(leave_mark(folder.path(), None, &text("x")).is_err());
        let run = RunDirectory::create(folder.path(), Timestamp::now(), "a").unwrap();
        assert!(!left.exists());
        // One that is held stays.
        let _other = RunDirectory::create(folder.path(), Timestamp::now(), "b").unwrap();
        assert!(run.path().exists());
    }

    #[test]
    fn a_mark_is_one_line() {
        for bad in ["", "  ", "a\nb", "\u{1b}[1m", &"x".repeat(201)] {
            assert!(bad.parse::<MarkText>().is_err(), "{bad:?}");
        }
        assert_eq!(" fstrim begins ".parse::<MarkText>().unwrap().0, "fstrim begins");
    }
}
