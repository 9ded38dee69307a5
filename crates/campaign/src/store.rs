//! A campaign's directory: the schedule, its progress, and the runs. Files are written under a temporary name and renamed: after
//! a power loss each is whole.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slob_record::{
    Neighbour, Record, RecordError, SeriesWanted, Status, durable_write, list_runs, read_record_with,
};

use crate::schedule::{SCHEDULE_VERSION, Schedule, Step, changes};

pub const CAMPAIGN_FILE: &str = "campaign.json";
pub(crate) const WARM_UP_FOLDER: &str = "warm-up";
pub const STATE_FILE: &str = "state.json";

/// A campaign's folder: its schedule, and what was done of it.
#[derive(Clone, Debug)]
pub struct Folder {
    pub path: PathBuf,
    pub schedule: Schedule,
    pub state: State,
}

/// A campaign's folder, locked by this process.
#[derive(Debug)]
pub struct Store {
    pub folder: Folder,
    _lock: Lock,
}

impl Store {
    /// Creates or resumes a campaign, and notes a run that was saved only. `amend` replaces a differing schedule.
    /// Fails if the directory is locked, or holds other files or another schedule.
    pub fn open(directory: &Path, schedule: &Schedule, amend: bool) -> Result<Self, CampaignError> {
        let (lock, exists) = Lock::of_new_or_own(directory, CAMPAIGN_FILE)?;
        let mut state = read_state(directory)?;
        if exists {
            let old = read_schedule(directory)?;
            if old != *schedule {
                let (path, changes) = (directory.to_path_buf(), old.differences(schedule));
                if !amend {
                    return Err(CampaignError::Changed { path, changes });
                }
                if !old.searches_stay(schedule) {
                    return Err(CampaignError::ChangedSearches { path, changes });
                }
                state.amend(&old, schedule);
                // The state comes first: one that knows too little costs a run, one that knows too much keeps a wrong run.
                write(directory, STATE_FILE, &state)?;
                write(directory, CAMPAIGN_FILE, schedule)?;
            }
        } else {
            write(directory, CAMPAIGN_FILE, schedule)?;
        }
        let folder = Folder { path: directory.to_path_buf(), schedule: schedule.clone(), state };
        let mut store = Self { folder, _lock: lock };
        store.reconcile()?;
        store.folder.set_missing_aside();
        Ok(store)
    }

    /// Sets the attempts aside. Their runs keep their folders.
    pub fn make_again(&mut self, steps: &BTreeSet<String>) -> Result<(), CampaignError> {
        self.folder.state.set_aside(|attempt| steps.contains(&attempt.step));
        self.save()
    }

    pub(crate) fn save(&self) -> Result<(), CampaignError> {
        write(&self.folder.path, STATE_FILE, &self.folder.state)
    }

    pub(crate) fn begin(&mut self, step: &Step) -> Result<(), CampaignError> {
        let running = Running { step: step.key(), run_name: step.run_name(), since: Timestamp::now() };
        self.folder.state.running = Some(running);
        self.save()
    }

    pub(crate) fn end(&mut self, attempt: Attempt) -> Result<(), CampaignError> {
        self.folder.state.running = None;
        self.folder.state.attempts.push(attempt);
        self.save()
    }

    /// The record of the step under way at the program's end may be complete.
    fn reconcile(&mut self) -> Result<(), CampaignError> {
        let Folder { path, schedule, state } = &mut self.folder;
        let Some(Running { step, run_name, since: began }) = state.running.take() else { return Ok(()) };
        let Some(cell) = schedule.steps.iter().find(|own| own.key() == step).map(Step::cell) else {
            return self.save();
        };
        // A run cannot begin before its step; its id has a precision of seconds.
        let since = began.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(began);
        let is_of_step = |record: &Record| {
            let is_member = record.together.as_ref().is_some_and(|together| together.step == run_name);
            let id = Some(record.id.as_str());
            (record.name == run_name || is_member)
                && record.started >= since
                && state.attempts.iter().all(|attempt| attempt.run.as_deref() != id)
        };
        let is_complete = |neighbour: &Neighbour| {
            let other = read_record_with(&path.join(&neighbour.run), SeriesWanted::Empty);
            other.is_ok_and(|other| other.status == Status::Completed)
        };
        let found = records(path).map(|(_, record)| record).find(is_of_step);
        let ended = match &found {
            Some(Record { status, together, .. })
                if together.as_ref().is_none_or(|all| all.neighbours.iter().all(is_complete)) =>
            {
                Ended::from(status)
            }
            _ => Ended::Killed,
        };
        self.end(Attempt { step, cell, run: found.map(|record| record.id), ended, began, seconds: None })
    }
}

fn records(directory: &Path) -> impl Iterator<Item = (PathBuf, Record)> {
    let runs = list_runs(directory).unwrap_or_default();
    let read = |path: PathBuf| {
        let record = read_record_with(&path, SeriesWanted::Empty).ok()?;
        Some((path, record))
    };
    runs.into_iter().rev().filter_map(read)
}

impl Folder {
    pub fn read(path: &Path) -> Result<Option<Self>, CampaignError> {
        if !path.join(CAMPAIGN_FILE).is_file() {
            return Ok(None);
        }
        let (schedule, state) = (read_schedule(path)?, read_state(path)?);
        let mut folder = Self { path: path.to_path_buf(), schedule, state };
        folder.set_missing_aside();
        Ok(Some(folder))
    }

    /// `None` in a campaign without slots, or before its first.
    pub fn slot(&self, step: &Step) -> Option<Slot> {
        let every = SignedDuration::from_secs(self.schedule.every_s?.cast_signed());
        let first = self.state.first_slot?;
        let edge = |slots: u32| first.checked_add(every.checked_mul(slots.cast_signed())?).ok();
        Some(Slot { begin: edge(step.repeat - 1)?, end: edge(step.repeat)? })
    }

    pub fn missed(&self, now: Timestamp) -> Vec<MissedRun> {
        let running = self.state.running.as_ref().map(|running| running.step.as_str());
        let missed = |step: &Step| {
            let is_open = self.state.completed_run(step).is_none() && running != Some(step.key().as_str());
            let slot = self.slot(step).filter(|slot| is_open && slot.end <= now)?;
            Some(MissedRun { cell: step.cell(), slot, why: self.state.why_missed(step) })
        };
        self.schedule.steps.iter().filter_map(missed).collect()
    }

    /// Reopens completed steps whose run is no longer in the directory.
    fn set_missing_aside(&mut self) {
        let Self { path, schedule, state } = self;
        let beside = |run: &Path| Some(read_record_with(run, SeriesWanted::Empty).ok()?.together?.neighbours);
        let has_company = schedule.models.iter().any(|model| model.members.len() > 1);
        let is_there = |run: &String| {
            let run = path.join(run);
            let beside = if has_company { beside(&run).unwrap_or_default() } else { Vec::new() };
            run.is_dir() && beside.iter().all(|other| path.join(&other.run).is_dir())
        };
        let completed = state.attempts.iter().filter(|attempt| attempt.ended == Ended::Completed);
        let missing = completed.filter(|attempt| !attempt.run.as_ref().is_none_or(is_there));
        let missing: BTreeSet<String> = missing.map(|attempt| attempt.step.clone()).collect();
        state.set_aside(|attempt| missing.contains(&attempt.step));
        state.missing = missing;
    }
}

fn read_schedule(directory: &Path) -> Result<Schedule, CampaignError> {
    let path = directory.join(CAMPAIGN_FILE);
    let schedule: Schedule = read(&path)?;
    check_version(path, schedule.version, SCHEDULE_VERSION)?;
    Ok(schedule)
}

/// A campaign that has not begun has no file of its state.
fn read_state(directory: &Path) -> Result<State, CampaignError> {
    let path = directory.join(STATE_FILE);
    if !path.is_file() {
        return Ok(State { version: STATE_VERSION, ..State::default() });
    }
    let state: State = read(&path)?;
    check_version(path, state.version, STATE_VERSION)?;
    Ok(state)
}

fn check_version(path: PathBuf, found: u32, known: u32) -> Result<(), CampaignError> {
    if found > known { Err(CampaignError::Version { path, found, known }) } else { Ok(()) }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    let text = fs::read(path).map_err(RecordError::io("reading", path))?;
    serde_json::from_slice(&text).map_err(|source| CampaignError::Json { path: path.into(), source })
}

fn write<T: Serialize>(directory: &Path, name: &str, value: &T) -> Result<(), CampaignError> {
    let path = directory.join(name);
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|source| CampaignError::Json { path: path.clone(), source })?;
    text.push(b'\n');
    durable_write(&path, 0o666, |file| file.write_all(&text)).map_err(RecordError::io("writing", path))?;
    Ok(())
}

pub(crate) const STATE_VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub version: u32,
    pub prepared: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_slot: Option<Timestamp>,
    /// Saved before a step begins.
    pub running: Option<Running>,
    pub attempts: Vec<Attempt>,
    pub hook_failures: Vec<HookFailure>,
    pub superseded: Vec<Attempt>,
    /// Completed steps whose runs are no longer in the directory.
    #[serde(skip)]
    pub missing: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub step: String,
    pub run_name: String,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub step: String,
    pub cell: String,
    pub run: Option<String>,
    pub ended: Ended,
    pub began: Timestamp,
    /// Hooks are included; `None` if the program was killed meanwhile.
    pub seconds: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    Completed,
    Failed { error: String },
    Interrupted,
    Killed,
    Missed { why: String },
}

impl From<&Status> for Ended {
    fn from(status: &Status) -> Self {
        match status {
            Status::Completed => Self::Completed,
            Status::Interrupted => Self::Interrupted,
            Status::Aborted { reason } => Self::Failed { error: format!("it was aborted: {reason}") },
            Status::Failed { error } => Self::Failed { error: error.clone() },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookFailure {
    pub variant: String,
    pub hook: String,
    pub error: String,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    Open,
    Done,
    /// It failed as often as the plan allows.
    GivenUp,
    Missed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub begin: Timestamp,
    pub end: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedRun {
    pub cell: String,
    pub slot: Slot,
    pub why: String,
}

impl State {
    pub fn attempts_at<'a>(&'a self, step: &Step) -> impl Iterator<Item = &'a Attempt> + use<'a> {
        let key = step.key();
        self.attempts.iter().filter(move |attempt| attempt.step == key)
    }

    /// Every attempt of the other is among its own.
    pub fn goes_on_from(&self, other: &Self) -> bool {
        let key = |attempt: &Attempt| (attempt.step.clone(), attempt.began, attempt.run.clone());
        let own: Vec<_> = self.attempts.iter().chain(&self.superseded).map(key).collect();
        other.attempts.iter().chain(&other.superseded).map(key).all(|attempt| own.contains(&attempt))
    }

    /// Interrupted and killed attempts do not count as failures.
    pub(crate) fn of(&self, step: &Step, retries: u32) -> StepState {
        let mut failed = 0;
        for attempt in self.attempts_at(step) {
            match attempt.ended {
                Ended::Completed => return StepState::Done,
                Ended::Failed { .. } => failed += 1,
                Ended::Missed { .. } => return StepState::Missed,
                Ended::Interrupted | Ended::Killed => {}
            }
        }
        if failed > retries { StepState::GivenUp } else { StepState::Open }
    }

    pub fn completed_run(&self, step: &Step) -> Option<&str> {
        let completed = self.attempts_at(step).find(|attempt| attempt.ended == Ended::Completed)?;
        completed.run.as_deref()
    }

    pub(crate) fn why_missed(&self, step: &Step) -> String {
        match self.attempts_at(step).last().map(|attempt| &attempt.ended) {
            Some(Ended::Missed { why }) => why.clone(),
            Some(Ended::Failed { error }) => format!("its run failed: {error}"),
            Some(Ended::Killed) => "the campaign was killed in it".to_owned(),
            Some(Ended::Interrupted) => "the campaign was stopped in it".to_owned(),
            _ if self.missing.contains(&step.key()) => "its run is no longer there".to_owned(),
            Some(Ended::Completed) | None => "the campaign was not at work".to_owned(),
        }
    }

    /// True for a run made again, or with other conditions in an amended plan.
    pub fn is_set_aside(&self, run: &str) -> bool {
        let is_it = |attempt: &Attempt| attempt.run.as_deref() == Some(run);
        self.superseded.iter().any(is_it) && !self.attempts.iter().any(is_it)
    }

    fn set_aside(&mut self, is_wanted: impl Fn(&Attempt) -> bool) {
        let set_aside = self.attempts.extract_if(.., |attempt| is_wanted(attempt));
        self.superseded.extend(set_aside);
    }

    /// Keeps attempts with the same cell and preparing hooks. A changed variant is prepared again.
    pub(crate) fn amend(&mut self, old: &Schedule, new: &Schedule) {
        let keys: Vec<String> = new.steps.iter().map(Step::key).collect();
        let same = |attempt: &Attempt| {
            let cell = &attempt.cell;
            let variant = cell.split('/').next().unwrap_or_default();
            keys.contains(&attempt.step)
                && old.cells.get(cell).is_some_and(|there| new.cells.get(cell) == Some(there))
                && old.before_runs(variant) == new.before_runs(variant)
        };
        self.set_aside(|attempt| !same(attempt));
        self.prepared.retain(|variant| {
            let mut cells = old.cells.iter().filter(|(name, _)| name.split('/').next() == Some(variant));
            old.before_runs(variant) == new.before_runs(variant)
                && cells.all(|(name, cell)| new.cells.get(name).is_none_or(|now| now == cell))
        });
    }
}

const LOCK_FILE: &str = "lock";

/// The kernel holds the lock until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Returns true if `file` is there. Refuses a directory with other files.
    fn of_new_or_own(directory: &Path, file: &str) -> Result<(Self, bool), CampaignError> {
        let file = directory.join(file);
        let ours = |name: &str| name == LOCK_FILE || name.starts_with('.');
        let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
        if !file.is_file() && entries.any(|entry| !ours(&entry.file_name().to_string_lossy())) {
            return Err(CampaignError::Foreign { path: directory.to_path_buf() });
        }
        fs::create_dir_all(directory).map_err(RecordError::io("creating", directory))?;
        Ok((Self::take(directory)?, file.is_file()))
    }

    pub(crate) fn take(directory: &Path) -> Result<Self, CampaignError> {
        let path = directory.join(LOCK_FILE);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(RecordError::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CampaignError::Locked { path: directory.to_path_buf() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(RecordError::Io { step: "locking", path, source }.into());
            }
        }
        // The process id is for people; nothing depends on it.
        let _ = file.set_len(0).and_then(|()| writeln!(&file, "{}", std::process::id()));
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Unlocks explicitly: a hook that another thread is starting inherits the file until its exec.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

const TRAIL_FILE: &str = "trail.json";

/// Runs that each follow from those before. After a kill completed ones are not repeated.
#[derive(Debug)]
pub struct Trail {
    pub directory: PathBuf,
    _lock: Lock,
}

impl Trail {
    /// Creates or resumes runs about `about`. Fails if the directory is locked, or holds other files or runs about something
    /// else.
    pub fn open(directory: &Path, about: &serde_json::Value) -> Result<Self, CampaignError> {
        let (lock, exists) = Lock::of_new_or_own(directory, TRAIL_FILE)?;
        if exists {
            let was: serde_json::Value = read(&directory.join(TRAIL_FILE))?;
            if was != *about {
                return Err(CampaignError::OtherTrail {
                    path: directory.to_path_buf(),
                    changes: differences(&was, about),
                });
            }
        } else {
            write(directory, TRAIL_FILE, about)?;
        }
        Ok(Self { directory: directory.to_path_buf(), _lock: lock })
    }

    /// Only a completed run counts, and only if `is_it`.
    pub fn made(&self, name: &str, is_it: impl Fn(&Record) -> bool) -> Option<Record> {
        let is_it =
            |record: &Record| record.name == name && record.status == Status::Completed && is_it(record);
        let (path, _) = records(&self.directory).find(|(_, record)| is_it(record))?;
        read_record_with(&path, SeriesWanted::Counts).ok()
    }

    /// Includes unfinished runs, from the earliest.
    pub fn parts(&self, name: &str) -> Vec<Record> {
        let runs = list_runs(&self.directory).unwrap_or_default();
        let whole = |path: PathBuf| read_record_with(&path, SeriesWanted::Whole).ok();
        runs.into_iter().filter_map(whole).filter(|record| record.name == name).collect()
    }
}

/// Names three members and counts the others.
fn differences(was: &serde_json::Value, is: &serde_json::Value) -> Vec<String> {
    let [was, is] = [was, is].map(|value| members(String::new(), value).into_iter().collect());
    let mut said: Vec<String> = changes(&was, &is).collect();
    let more = said.len().saturating_sub(3);
    said.truncate(3);
    said.extend((more > 0).then(|| format!("and {more} more")));
    said
}

/// Names each value by its path through objects, as `demand.commits_per_s`.
fn members(path: String, value: &serde_json::Value) -> Vec<(String, String)> {
    let Some(object) = value.as_object() else { return vec![(path, value.to_string())] };
    let dot = if path.is_empty() { "" } else { "." };
    object.iter().flat_map(|(key, value)| members(format!("{path}{dot}{key}"), value)).collect()
}

#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    File(#[from] RecordError),
    #[error("{} is not a campaign's file: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{} has version {found}; this release reads versions up to {known}: use a newer one", path.display())]
    Version { path: PathBuf, found: u32, known: u32 },
    #[error("another campaign is at work in {}; wait until it ends, or name another directory", path.display())]
    Locked { path: PathBuf },
    #[error(
        "the plan is not the one that {} was begun with: {}; use --amend to continue with the new plan (runs that \
         are still part of it are kept), or name another directory",
        path.display(),
        changes.join("; ")
    )]
    Changed { path: PathBuf, changes: Vec<String> },
    #[error("{} was begun for something else: {}; name another with --directory", path.display(), changes.join("; "))]
    OtherTrail { path: PathBuf, changes: Vec<String> },
    #[error(
        "{} holds searches for headroom made in another way: {}; --amend can add or take out variants and repeats of such a \
         campaign, and nothing else. Name another directory",
        path.display(), changes.join("; ")
    )]
    ChangedSearches { path: PathBuf, changes: Vec<String> },
    #[error("{} holds files, but no campaign; use an empty directory, or one that does not exist", path.display())]
    Foreign { path: PathBuf },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lock_excludes_others_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        assert!(matches!(Lock::take(folder.path()), Err(CampaignError::Locked { .. })));
        drop(first);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_starting_hook_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        Lock::take(folder.path()).unwrap();
        drop(copy);
    }

    #[test]
    fn a_trail_refuses_runs_about_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("headroom");
        let about = json!({"demand": 7, "target": "a"});
        drop(Trail::open(&directory, &about).unwrap());
        let trail = Trail::open(&directory, &about).unwrap();
        assert!(trail.made("step-1", |_| true).is_none());
        assert!(matches!(Trail::open(&directory, &about), Err(CampaignError::Locked { .. })));
        drop(trail);
        let error = Trail::open(&directory, &json!({"demand": 8, "target": "a"})).unwrap_err();
        assert!(error.to_string().contains("demand was 7 and is 8"), "{error}");
        let was = json!({"demand": {"a": 1, "b": 2, "c": 3, "d": 4}, "target": "a"});
        let is = json!({"demand": {"a": 1, "b": 3, "c": 4, "d": 5, "e": 6}, "target": "a"});
        let said =
            ["demand.b was 2 and is 3", "demand.c was 3 and is 4", "demand.d was 4 and is 5", "and 1 more"];
        assert_eq!(differences(&was, &is), said);
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("a.txt"), "a").unwrap();
        assert!(matches!(Trail::open(&other, &about), Err(CampaignError::Foreign { .. })));
    }
}
