//! Folders of runs: `RESULTS_DIR/<UTC timestamp>-<name>/`, hidden until the run ends; and marks of a run that is under way.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::csv::series_csv;
use crate::digest::{digest_of, hex};
use crate::durable::{folder_of, sync_folder};
use crate::error::RecordError;
use crate::record::{Mark, Record};
use crate::sign::SigningKey;
use crate::{OPERATIONS_FILE, RUN_FILE};

/// The effective configuration.
pub const CONF_FILE: &str = "slob.conf";
/// The signature of the record.
pub const SIGNATURE_FILE: &str = "run.json.sig";
const SERIES_FILE: &str = "series.csv";
const MARKS_FILE: &str = "marks";
/// Files of an unpublished folder.
const OWN_FILES: [&str; 6] = [MARKS_FILE, RUN_FILE, SIGNATURE_FILE, CONF_FILE, SERIES_FILE, OPERATIONS_FILE];
const PARTIAL: &str = ".partial";
/// A file without it was cut off.
const END: &[u8] = b"\n";

/// A run's folder, which [`list_runs`](crate::list_runs) sees after [`RunDirectory::publish`].
#[derive(Debug)]
pub struct RunDirectory {
    id: String,
    temporary: PathBuf,
    published: PathBuf,
    marks: MarksFile,
}

impl RunDirectory {
    /// Creates the folder before the run, when a failure loses nothing. A number makes a taken name unique.
    pub fn create(results: &Path, started: Timestamp, name: &str) -> Result<Self, RecordError> {
        fs::create_dir_all(results).map_err(RecordError::io("creating the results folder", results))?;
        remove_abandoned(results);
        let stamp = started.strftime("%Y%m%dT%H%M%SZ");
        for attempt in 1.. {
            let id = match attempt {
                1 => format!("{stamp}-{name}"),
                n => format!("{stamp}-{name}-{n}"),
            };
            let (temporary, published) = (results.join(format!(".{id}{PARTIAL}")), results.join(&id));
            if published.exists() {
                continue;
            }
            match create_with_marks(&temporary) {
                // It was published since the check above.
                Ok(_) if published.exists() => {
                    let _ = fs::remove_dir_all(&temporary);
                }
                Ok(marks) => return Ok(Self { id, temporary, published, marks }),
                Err(error)
                    if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {}
                Err(error) => return Err(RecordError::io("creating the run's folder", published)(error)),
            }
        }
        unreachable!("an endless range ended")
    }

    /// The name of the published folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Marks in order, with times from `started`, and the number of marks beyond the limit.
    pub fn marks(&self, started: Timestamp) -> (Vec<Mark>, usize) {
        self.marks.read(started)
    }

    /// The unpublished folder.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Writes a file of the run.
    pub fn write(&self, name: &str, content: &str) -> Result<(), RecordError> {
        // Messages name the file as it will be found.
        let written = fs::write(self.temporary.join(name), content);
        written.map_err(RecordError::io("writing", self.published.join(name)))
    }

    /// Seals and signs the record, writes it, and renames the folder, which it returns. A failed write removes the folder; a
    /// failed rename leaves it.
    pub fn publish(self, record: &mut Record, key: Option<&SigningKey>) -> Result<PathBuf, RecordError> {
        if let Err(error) = self.write_all(record, key) {
            self.discard();
            return Err(error);
        }
        // A file of marks that stays does no harm.
        let _ = fs::remove_file(&self.marks.path);
        fs::rename(&self.temporary, &self.published)
            .map_err(RecordError::io("renaming the run's folder to", &self.published))?;
        sync_folder(folder_of(&self.published));
        Ok(self.published)
    }

    fn write_all(&self, record: &mut Record, key: Option<&SigningKey>) -> Result<(), RecordError> {
        self.write(SERIES_FILE, &series_csv(record))?;
        record.files = self.files(record)?;
        let (file, path) = (self.temporary.join(RUN_FILE), self.published.join(RUN_FILE));
        let mut json = || {
            record.digest = Some(digest_of(record)?);
            serde_json::to_vec(record)
        };
        let json = json().map_err(|error| RecordError::io("writing", &path)(error.into()))?;
        let text = [&json, END].concat();
        let mut file = File::create(file).map_err(RecordError::io("creating", &path))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(RecordError::io("writing", &path))?;
        let sign = |key: &SigningKey| {
            let error = |error: ssh_key::Error| {
                RecordError::io("signing", &path)(std::io::Error::other(error.to_string()))
            };
            self.write(SIGNATURE_FILE, &key.sign(&text).map_err(error)?)
        };
        key.map_or(Ok(()), sign)
    }

    fn files(&self, record: &Record) -> Result<BTreeMap<String, String>, RecordError> {
        let of_server = record.server_report.iter().flat_map(|report| &report.files).map(String::as_str);
        let own = [SERIES_FILE, CONF_FILE, OPERATIONS_FILE].into_iter().chain(of_server);
        let present = own.filter(|name| self.temporary.join(name).is_file());
        present.map(|name| Ok((name.to_owned(), file_digest(&self.temporary.join(name))?))).collect()
    }

    /// Removes the folder of a run that measured nothing.
    pub fn discard(self) {
        // A hidden folder does no harm.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

/// The SHA-256 of a file, as `sha256sum` shows it.
pub fn file_digest(path: &Path) -> Result<String, RecordError> {
    let read = || {
        let (mut file, mut hash, mut bytes) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(hex(&hash.finalize())),
                length => hash.update(&bytes[..length]),
            }
        }
    };
    read().map_err(RecordError::io("reading", path))
}

/// A folder without its lock looks abandoned. slob waits for no lock, since the user may lock the folder of results.
fn create_with_marks(folder: &Path) -> std::io::Result<MarksFile> {
    let new = folder.with_extension("new");
    fs::create_dir(&new)?;
    let created = MarksFile::create(&new, folder).and_then(|marks| fs::rename(&new, folder).map(|()| marks));
    created.inspect_err(|_| drop(fs::remove_dir_all(&new)))
}

fn run_of_partial(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(PARTIAL)
}

/// A killed run wrote no record. A folder with a whole record stays for the user to find.
fn remove_abandoned(results: &Path) {
    let entries = fs::read_dir(results).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| run_of_partial(&entry.file_name().to_string_lossy()).is_some()) {
        // A link may lead to a folder of others.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = entry.path();
        if !holds_nothing_whole(&folder) || is_locked(&folder.join(MARKS_FILE)) {
            continue;
        }
        for name in OWN_FILES {
            let _ = fs::remove_file(folder.join(name));
        }
        // Fails for a folder that is not empty.
        let _ = fs::remove_dir(folder);
    }
}

/// Opening a pipe takes until another program does, so only files are opened.
fn holds_nothing_whole(folder: &Path) -> bool {
    let is_own = |file: fs::DirEntry| {
        file.file_type().is_ok_and(|kind| kind.is_file())
            && OWN_FILES.iter().any(|name| file.file_name() == *name)
    };
    let all_own = fs::read_dir(folder).is_ok_and(|files| files.flatten().all(is_own));
    all_own && !fs::read(folder.join(RUN_FILE)).is_ok_and(|record| record.ends_with(END))
}

/// Control codes and invisible characters may change the display of others.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'
                ..='\u{202e}'
        )
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign names must not control a terminal, so they are escaped as in JSON.
pub fn with_hidden_shown(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_hidden(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown += &format!("\\u{unit:04x}")),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

const MARK_CHARACTERS: usize = 200;
const MOST_MARKS: usize = 1000;

#[derive(Serialize, Deserialize)]
struct MarkLine {
    at: Timestamp,
    text: String,
}

/// The kernel releases the lock of a killed run. Others append lines.
#[derive(Debug)]
struct MarksFile {
    /// Keeps the lock.
    _file: File,
    path: PathBuf,
}

impl MarksFile {
    /// `new` will be renamed to `folder`.
    fn create(new: &Path, folder: &Path) -> std::io::Result<Self> {
        let file = open_marks(&new.join(MARKS_FILE))?;
        // A file system without locks takes no marks.
        let _ = file.try_lock();
        Ok(Self { _file: file, path: folder.join(MARKS_FILE) })
    }

    /// Leaves out unreadable lines. Returns the number of marks beyond the limit too.
    fn read(&self, started: Timestamp) -> (Vec<Mark>, usize) {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<MarkLine>(line).ok());
        let mark =
            |line: MarkLine| Mark { at_s: line.at.duration_since(started).as_secs_f64(), text: line.text };
        let mut marks: Vec<Mark> = lines.map(mark).collect();
        marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        let more = marks.len().saturating_sub(MOST_MARKS);
        marks.truncate(MOST_MARKS);
        (marks, more)
    }
}

/// Returns the id of the run under way, which `run` names if there are several. Fails unless the text is one line of 1 to 200
/// characters.
pub fn leave_mark(results: &Path, run: Option<&str>, text: &str) -> Result<String, RecordError> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MARK_CHARACTERS || text.contains(is_hidden) {
        return Err(RecordError::MarkText { longest: MARK_CHARACTERS });
    }
    let at = Timestamp::now();
    let mut under_way = marks_under_way(results);
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
    let line = serde_json::to_string(&MarkLine { at, text: text.to_owned() })
        .map_err(|source| RecordError::Json { path: path.clone(), source })?;
    // A single write keeps the lines of concurrent marks apart.
    open_marks(path)
        .and_then(|mut file| file.write_all((line + "\n").as_bytes()))
        .map_err(RecordError::io("writing", path))?;
    Ok(id.clone())
}

/// Ids of runs under way, oldest first; empty if the folder can't be read.
pub fn runs_under_way(results: &Path) -> Vec<String> {
    marks_under_way(results).into_iter().map(|(id, _)| id).collect()
}

/// Oldest first.
fn marks_under_way(results: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(results).into_iter().flatten().flatten();
    let run = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = run_of_partial(&name)?.to_owned();
        let path = entry.path().join(MARKS_FILE);
        is_locked(&path).then_some((id, path))
    };
    let mut runs: Vec<_> = entries.filter_map(run).collect();
    runs.sort();
    runs
}

fn is_locked(path: &Path) -> bool {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn open_marks(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reaches_the_run_that_is_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let started = Timestamp::now();
        let run = RunDirectory::create(folder.path(), started, "a").unwrap();
        assert_eq!(leave_mark(folder.path(), None, "one").unwrap(), run.id());
        assert_eq!(leave_mark(folder.path(), Some("a"), "two \"quoted\"").unwrap(), run.id());
        let (marks, more) = run.marks(started);
        let texts: Vec<&str> = marks.iter().map(|mark| mark.text.as_str()).collect();
        assert_eq!((texts, more), (vec!["one", "two \"quoted\""], 0));
        assert!(marks.iter().all(|mark| mark.at_s >= 0.0));
    }

    #[test]
    fn a_mark_needs_a_run_and_its_name_if_there_are_several() {
        let folder = tempfile::tempdir().unwrap();
        let none = leave_mark(folder.path(), None, "x").unwrap_err().to_string();
        assert!(none.contains("no run is under way in"), "{none}");
        let first = RunDirectory::create(folder.path(), Timestamp::now(), "a").unwrap();
        let second = RunDirectory::create(folder.path(), Timestamp::now(), "b").unwrap();
        let several = leave_mark(folder.path(), None, "x").unwrap_err().to_string();
        assert!(several.contains(first.id()) && several.contains("--run"), "{several}");
        assert_eq!(leave_mark(folder.path(), Some("b"), "x").unwrap(), second.id());
        let other = leave_mark(folder.path(), Some("c"), "x").unwrap_err().to_string();
        assert!(other.contains("no run 'c' is under way") && other.contains(second.id()), "{other}");
    }

    #[test]
    fn the_folder_of_a_killed_run_takes_no_marks_and_is_removed_by_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".20260101T000000Z-dead.partial");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(MARKS_FILE), "").unwrap();
        assert!(leave_mark(folder.path(), None, "x").is_err());
        let run = RunDirectory::create(folder.path(), Timestamp::now(), "a").unwrap();
        assert!(!left.exists());
        // A locked folder stays.
        let _other = RunDirectory::create(folder.path(), Timestamp::now(), "b").unwrap();
        assert!(run.path().exists());
    }

    /// Opening a pipe that has no other end takes for ever.
    #[test]
    fn a_pipe_in_a_folder_that_looks_abandoned_is_not_opened() {
        let results = tempfile::tempdir().unwrap();
        let left = results.path().join(".20260101T000000Z-dead.partial");
        fs::create_dir(&left).unwrap();
        let pipe = left.join(RUN_FILE);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        RunDirectory::create(results.path(), Timestamp::now(), "a").unwrap();
        assert!(pipe.exists());
    }

    #[test]
    fn a_lock_of_the_results_folder_is_the_users() {
        let results = tempfile::tempdir().unwrap();
        let users = File::open(results.path()).unwrap();
        users.lock().unwrap();
        RunDirectory::create(results.path(), Timestamp::now(), "a").unwrap();
    }

    #[test]
    fn runs_that_begin_at_once_have_a_folder_each_and_no_other() {
        let (results, started) = (tempfile::tempdir().unwrap(), Timestamp::now());
        let create = || RunDirectory::create(results.path(), started, "a").unwrap();
        let runs: Vec<_> = std::thread::scope(|scope| {
            let begun: Vec<_> = (0..16).map(|_| scope.spawn(create)).collect();
            begun.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut under_way = runs_under_way(results.path());
        under_way.sort();
        let mut ids: Vec<_> = runs.iter().map(|run| run.id().to_owned()).collect();
        ids.sort();
        assert_eq!(under_way, ids);
        assert_eq!(fs::read_dir(results.path()).unwrap().count(), 16, "no other folder stays");
    }

    #[test]
    fn a_link_to_a_folder_is_not_an_abandoned_run() {
        let (results, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join(CONF_FILE), "SCALE=80M\n").unwrap();
        let link = results.path().join(".20260101T000000Z-dead.partial");
        std::os::unix::fs::symlink(other.path(), &link).unwrap();
        RunDirectory::create(results.path(), Timestamp::now(), "a").unwrap();
        assert!(other.path().join(CONF_FILE).exists() && link.is_symlink());
    }

    #[test]
    fn a_mark_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDirectory::create(folder.path(), Timestamp::now(), "a").unwrap();
        for bad in ["", "  ", "a\nb", "\u{1b}[1m", "a\u{202e}b", "\u{200b}", "\u{feff}", &"x".repeat(201)] {
            let refused = leave_mark(folder.path(), None, bad);
            assert!(matches!(refused, Err(RecordError::MarkText { .. })), "{bad:?}");
        }
        leave_mark(folder.path(), None, " fstrim begins ").unwrap();
        assert_eq!(run.marks(Timestamp::now()).0[0].text, "fstrim begins");
    }
}
