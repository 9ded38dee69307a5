//! The runs of a campaign's folder, and the comparisons that are made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slob_campaign::{Attempt, Ended, Folder, Step};
use slob_facts::Run;
use slob_record::{SeriesWanted, read_record_with};
use slob_report::Confidence;
use slob_report::analysis::{NeighbourRun, Neighbours, Round};
use slob_report::profiles::{Headrooms, Platform, SearchResult};

use crate::failure::Failure;
use crate::tables::Records;

/// Written last: its presence means a completed search.
pub(super) const HEADROOM_FILE: &str = "headroom.json";

pub(super) fn completed_runs(folder: &Folder) -> BTreeMap<String, &Step> {
    let of_step = |step| {
        let run = folder.state.completed_run(step)?;
        let runs = match folder.schedule.has_neighbours() {
            true => company(&folder.path, run).unwrap_or_default(),
            false => vec![run.to_owned()],
        };
        Some(runs.into_iter().map(move |run| (run, step)))
    };
    folder.schedule.steps.iter().filter_map(of_step).flatten().collect()
}

/// Reads the completed runs and keeps of each what `keep` makes of it, with its step.
pub(super) fn read_runs<T: Send>(
    folder: &Folder,
    keep: impl Fn(&Run<'_>) -> T + Sync,
) -> Records<(&Step, T)> {
    let steps = completed_runs(folder);
    let paths: Vec<PathBuf> = steps.keys().map(|run| folder.path.join(run)).collect();
    let keep = |run: &Run<'_>| Some((*steps.get(&run.record.id)?, keep(run)));
    Records::judged(&paths.into(), keep).known()
}

type StepRuns<'a, T> = Vec<(&'a Step, T)>;

/// True if all could be read; missing ones are named on stderr.
pub(super) fn runs_of_campaign<T: Send>(
    folder: &Folder,
    keep: impl Fn(&Run<'_>) -> T + Sync,
) -> Result<(StepRuns<'_, T>, bool), Failure> {
    if !folder.schedule.demand.is_empty() {
        let place = folder.path.display();
        return Err(usage!(
            "{place} is a campaign of searches for headroom: `slob compare {place}` shows it alone"
        ));
    }
    let missing = &folder.state.missing;
    if !missing.is_empty() {
        say!("slob: {}", said_missing(missing));
    }
    let read = read_runs(folder, keep);
    let is_whole = read.exit_code()? == ExitCode::SUCCESS && missing.is_empty();
    Ok((read.kept, is_whole))
}

fn company(directory: &Path, run: &str) -> Option<Vec<String>> {
    let record = read_record_with(&directory.join(run), SeriesWanted::Empty).ok()?;
    let others = record.together.into_iter().flat_map(|together| together.neighbours);
    Some(others.map(|other| other.run).chain([run.to_owned()]).collect())
}

pub(super) fn said_missing(steps: &BTreeSet<String>) -> String {
    const MOST: usize = 3;
    let named: Vec<&str> = steps.iter().take(MOST).map(String::as_str).collect();
    let more = match steps.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("runs that are no longer there: {}{more}", named.join(", "))
}

pub(super) fn compare_headrooms(folder: &Folder, confidence: Confidence) -> Result<Headrooms, Failure> {
    let Folder { path, schedule, state } = folder;
    let mut platforms = Vec::new();
    for variant in schedule.variants() {
        let mut steps: Vec<_> = schedule.steps.iter().filter(|step| step.variant == variant.name).collect();
        steps.sort_by_key(|step| step.repeat);
        let done = steps.into_iter().filter_map(|step| state.completed_run(step));
        let searches = done.map(|run| search_result(path, run)).collect::<Result<Vec<_>, Failure>>()?;
        let (name, twin_of) = (variant.name.clone(), variant.twin_of.clone());
        platforms.push(Platform::new(name, twin_of, searches, confidence));
    }
    let part = |key: &str| schedule.demand.get(key).map_or("", String::as_str);
    let demand = format!("{}; {}", part("database"), part("point"));
    let compared = Headrooms::of(demand, platforms, schedule.steps.len(), confidence);
    if compared.done == 0 {
        return Err(failed!("no search of {} is done yet", path.display()));
    }
    Ok(compared)
}

pub(super) fn compare_neighbours(folder: &Folder, confidence: Confidence) -> Neighbours {
    let Folder { path, schedule, state } = folder;
    let attempt = |step: &Step| {
        let all: Vec<&Attempt> = state.attempts_at(step).collect();
        all.iter().find(|one| one.ended == Ended::Completed).or(all.last()).copied()
    };
    let attempts = schedule.steps.iter().map(|step| (step, attempt(step)));
    let attempts: Vec<(&Step, Option<&Attempt>)> =
        attempts.filter(|(step, made)| made.is_some() || state.missing.contains(&step.key())).collect();
    let with_neighbours = |(step, attempt): &(&Step, Option<&Attempt>)| {
        let runs = company(path, attempt.as_ref()?.run.as_ref()?)?;
        Some(runs.into_iter().map(|run| (run, step.key())).collect::<Vec<_>>())
    };
    let runs: BTreeMap<String, String> = attempts.iter().filter_map(with_neighbours).flatten().collect();
    // A run that failed before its sessions started has no record.
    let paths: Vec<PathBuf> = runs.keys().map(|run| path.join(run)).filter(|path| path.is_dir()).collect();
    let mut runs_of_steps: BTreeMap<&str, Vec<NeighbourRun>> = BTreeMap::new();
    for run in Records::judged(&paths.into(), NeighbourRun::of).kept.into_iter().flatten() {
        if let Some(step) = runs.get(&run.run) {
            runs_of_steps.entry(step).or_default().push(run);
        }
    }
    let members = |name: &str| {
        let model = schedule.models.iter().find(|model| model.name == name);
        model.map_or_else(Vec::new, |model| model.members.clone())
    };
    let round = |(step, attempt): &(&Step, Option<&Attempt>)| Round {
        variant: step.variant.clone(),
        repeat: step.repeat,
        company: members(&step.model),
        runs: runs_of_steps.remove(step.key().as_str()).unwrap_or_default(),
        error: match attempt.map(|attempt| &attempt.ended) {
            Some(Ended::Failed { error } | Ended::Missed { why: error }) => Some(error.clone()),
            Some(Ended::Interrupted) => Some("interrupted".to_owned()),
            Some(Ended::Killed) => Some("killed".to_owned()),
            Some(Ended::Completed) => None,
            None => Some("its run is no longer there".to_owned()),
        },
    };
    let rounds: Vec<Round> = attempts.iter().map(round).collect();
    let alone = schedule.models.iter().filter(|model| model.members.len() == 1);
    let names: Vec<String> = alone.map(|model| model.name.clone()).collect();
    let variants: Vec<String> = schedule.variants().iter().map(|variant| variant.name.clone()).collect();
    Neighbours::of(&schedule.name, &names, &variants, &rounds, schedule.steps.len(), confidence)
}

fn search_result(directory: &Path, folder: &str) -> Result<SearchResult, Failure> {
    let path = directory.join(folder).join(HEADROOM_FILE);
    let failed = |error: String| failed!("reading {}: {error}", path.display());
    let text = fs::read(&path).map_err(|error| failed(error.to_string()))?;
    SearchResult::read(folder, &text).map_err(|error| failed(error.to_string()))
}
