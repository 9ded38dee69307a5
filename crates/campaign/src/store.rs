//! A campaign's directory: the schedule, how far it is, and the runs.
//!
//! Files are written under another name, made durable and renamed: whenever the program or the machine stops, each of
//! them is either as it was or as it should be.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slob_record::{Record, SeriesWanted, Status, list_runs, read_record_with};

use crate::error::CampaignError;
use crate::lock::Lock;
use crate::schedule::{SCHEDULE_VERSION, Schedule, Step};
use crate::state::{Attempt, Ended, Running, STATE_VERSION, State};

/// The file that makes a directory a campaign's.
pub const CAMPAIGN_FILE: &str = "campaign.json";
/// Where runs to throw away are kept, for whoever wants to see them.
pub const WARM_UP_FOLDER: &str = "warm-up";
const STATE_FILE: &str = "state.json";

/// A campaign's directory, held for this process.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// How far the campaign is.
    pub(crate) state: State,
    _lock: Lock,
}

impl Store {
    /// Takes a directory for a schedule: makes it, or goes on with what is there. A run that was published but not noted
    /// any more is found again. With `amend`, a schedule that differs from the one there takes its place.
    ///
    /// # Errors
    /// If another process holds the directory, if it holds something else, or if its schedule is another one.
    pub fn open(directory: &Path, schedule: &Schedule, amend: bool) -> Result<Self, CampaignError> {
        let exists = directory.join(CAMPAIGN_FILE).is_file();
        if !exists && holds_other_files(directory) {
            return Err(CampaignError::Foreign { path: directory.to_path_buf() });
        }
        fs::create_dir_all(directory).map_err(CampaignError::io("creating", directory))?;
        let lock = Lock::take(directory)?;
        let path = directory.join(STATE_FILE);
        let mut state = if path.is_file() { read_state(&path)? } else { State::new() };
        if directory.join(CAMPAIGN_FILE).is_file() {
            let old = read_schedule(directory)?;
            if old != *schedule {
                if !amend {
                    let changes = old.differences(schedule);
                    return Err(CampaignError::Changed { path: directory.to_path_buf(), changes });
                }
                state.amend(&old, schedule);
                // In this order: a state that knows too little costs a run, one that knows too much would keep a wrong one.
                write(directory, STATE_FILE, &state)?;
                write(directory, CAMPAIGN_FILE, schedule)?;
            }
        } else {
            write(directory, CAMPAIGN_FILE, schedule)?;
        }
        let mut store = Self { directory: directory.to_path_buf(), state, _lock: lock };
        store.reconcile(schedule)?;
        Ok(store)
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How far the campaign is.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn save(&self) -> Result<(), CampaignError> {
        write(&self.directory, STATE_FILE, &self.state)
    }

    pub(crate) fn begin(&mut self, step: &Step) -> Result<(), CampaignError> {
        let running = Running { step: step.key(), run_name: step.run_name(), since: Timestamp::now() };
        self.state.running = Some(running);
        self.save()
    }

    pub(crate) fn end(&mut self, attempt: Attempt) -> Result<(), CampaignError> {
        self.state.running = None;
        self.state.attempts.push(attempt);
        self.save()
    }

    /// What became of a step that had begun when the program ended? Its record may be there, whole: records are.
    fn reconcile(&mut self, schedule: &Schedule) -> Result<(), CampaignError> {
        let Some(running) = self.state.running.take() else { return Ok(()) };
        let Some(step) = schedule.steps.iter().find(|step| step.key() == running.step) else {
            return self.save();
        };
        let found = self.unnoted_run(&running);
        let (run, ended) = match &found {
            Some(record) => (Some(record.id.clone()), ended_of(&record.status)),
            None => (None, Ended::Killed),
        };
        let attempt = Attempt {
            step: running.step,
            cell: step.cell(),
            run,
            ended,
            began: running.since,
            seconds: None,
        };
        self.end(attempt)
    }

    fn unnoted_run(&self, running: &Running) -> Option<Record> {
        let noted = |id: &str| self.state.attempts.iter().any(|attempt| attempt.run.as_deref() == Some(id));
        let runs = list_runs(&self.directory).ok()?;
        let records = runs.iter().rev().filter_map(|path| read_record_with(path, SeriesWanted::Empty).ok());
        // Seconds are what an id knows; a run can't have begun before its step.
        let second = jiff::SignedDuration::from_secs(1);
        let since = running.since.saturating_sub(second).unwrap_or(running.since);
        let mut fitting = records
            .filter(|record| record.name == running.run_name && record.started >= since)
            .filter(|record| !noted(&record.id));
        fitting.next()
    }
}

/// How a run ended, for the campaign.
pub(crate) fn ended_of(status: &Status) -> Ended {
    match status {
        Status::Completed => Ended::Completed,
        Status::Interrupted => Ended::Interrupted,
        Status::Failed { error } => Ended::Failed { error: error.clone() },
    }
}

/// Reads what a directory says of its campaign; `None` if it is none.
///
/// # Errors
/// If its files can't be read or understood.
pub fn read_campaign(directory: &Path) -> Result<Option<(Schedule, State)>, CampaignError> {
    if !directory.join(CAMPAIGN_FILE).is_file() {
        return Ok(None);
    }
    let path = directory.join(STATE_FILE);
    let state = if path.is_file() { read_state(&path)? } else { State::new() };
    Ok(Some((read_schedule(directory)?, state)))
}

fn read_schedule(directory: &Path) -> Result<Schedule, CampaignError> {
    let path = directory.join(CAMPAIGN_FILE);
    let schedule: Schedule = read(&path)?;
    if schedule.version > SCHEDULE_VERSION {
        return Err(CampaignError::Version { path, found: schedule.version, known: SCHEDULE_VERSION });
    }
    Ok(schedule)
}

fn read_state(path: &Path) -> Result<State, CampaignError> {
    let state: State = read(path)?;
    if state.version > STATE_VERSION {
        return Err(CampaignError::Version { path: path.into(), found: state.version, known: STATE_VERSION });
    }
    Ok(state)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    let text = fs::read(path).map_err(CampaignError::io("reading", path))?;
    serde_json::from_slice(&text).map_err(|source| CampaignError::Json { path: path.into(), source })
}

fn write<T: Serialize>(directory: &Path, name: &str, value: &T) -> Result<(), CampaignError> {
    let (path, temporary) = (directory.join(name), directory.join(format!(".{name}.new")));
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|source| CampaignError::Json { path: path.clone(), source })?;
    text.push(b'\n');
    let mut file = File::create(&temporary).map_err(CampaignError::io("creating", &temporary))?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(CampaignError::io("writing", &temporary))?;
    fs::rename(&temporary, &path).map_err(CampaignError::io("renaming to", &path))?;
    // Not every file system lets a directory be synced; then nothing more can be done.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// A lock that was left behind is no other file: its campaign ended before it began.
fn holds_other_files(directory: &Path) -> bool {
    let ours = |name: &str| name == "lock" || name.starts_with('.');
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| !ours(&entry.file_name().to_string_lossy()))
}
