//! A campaign whose steps are searches for headroom: each is made here, and the variants are compared by what was found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use slob_campaign::{Demand, Kept, Plan, Schedule, State, read_campaign};
use slob_profile::{At, By, Choice};
use slob_record::Status;
use slob_report::Confidence;
use slob_report::profiles::{Headrooms, Platform, SearchResult, headroom_page};
use slob_spec::{Entry, Settings};

use super::headroom::{self, Asked};
use super::plan::wanted::{Chosen, Wanted};
use crate::failure::Failure;
use crate::output;

/// What a search found, beside its runs. It is written last: who finds it knows that the search came to its end.
const FOUND: &str = "headroom.json";

/// The searches of a campaign: for what, and how.
pub(super) struct Searches {
    wanted: Wanted,
    asked: Asked,
}

impl Searches {
    /// Those of a plan, if it has any. Its profile is read here, before anything is touched.
    pub(super) fn of(plan: &Plan) -> Result<Option<Self>, Failure> {
        let Some(demand) = &plan.demand else { return Ok(None) };
        let wanted = Wanted::chosen(&Chosen {
            profile: &demand.profile,
            instance: demand.instance.as_deref(),
            choice: choice(demand, &plan.file)?,
            calibration: &demand.calibration,
            most_sessions: demand.max_sessions,
        })
        .map_err(|failure| Failure::usage(format!("{}, demand: {}", plan.file, failure.text())))?;
        let (limits, rules) = (demand.limits.clone(), demand.rules);
        Ok(Some(Self { wanted, asked: Asked { limits, rules, count_cached: demand.count_cached } }))
    }

    /// What tells these searches from those for another demand. A profile of another name may hold the same one.
    pub(super) fn tell(&self, schedule: &mut Schedule) {
        let demand = &self.wanted.demand;
        schedule.demand.insert("database".to_owned(), self.wanted.database.clone());
        schedule.demand.insert("point".to_owned(), demand.point.clone());
        schedule.demand.insert("figures".to_owned(), json!(demand.figures).to_string());
    }

    /// Makes the search that settings name, or goes on with it.
    pub(super) fn make(&self, settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Kept, Failure> {
        let shown = |entry: &Entry| Some((entry.param().key, entry.displayed()?));
        let mut under: BTreeMap<&str, String> = settings.entries().filter_map(shown).collect();
        let place = under.remove("RESULTS_DIR").unwrap_or_default();
        let name = under.remove("RUN_NAME").unwrap_or_default();
        let directory = Path::new(&place).join(&name);
        let kept = headroom::Kept { directory: &directory, under: Some(json!(under)) };
        let headroom = headroom::search(settings.clone(), &self.wanted, &self.asked, kept, Arc::clone(stop))?;
        let pages =
            [("headroom.html", headroom_page(&headroom)), (FOUND, output::json("the headroom", &headroom)?)];
        for (file, text) in pages {
            let path = directory.join(file);
            output::write_whole(&path, &text)
                .map_err(|error| Failure::failed(format!("writing {}: {error}", path.display())))?;
        }
        Ok(Kept { id: name, status: Status::Completed })
    }
}

fn choice(demand: &Demand, file: &str) -> Result<Choice, Failure> {
    let bad = |error: String| Failure::usage(format!("{file}, demand: {error}"));
    let by = demand.by.as_deref().map(|name| {
        let names = By::NAMES.map(|(name, _)| name).join(", ");
        By::named(name).ok_or_else(|| bad(format!("by is '{name}'; it must be one of {names}")))
    });
    Ok(Choice {
        at: demand.at.parse::<At>().map_err(|error| bad(error.to_string()))?,
        by: by.transpose()?.unwrap_or_default(),
        grow: demand.grow,
        peak_factor: demand.peak_factor,
    })
}

/// Searches go on from their own runs: those of a cell that was changed can't be kept, nor begun anew in their place.
pub(super) fn refuse_changed(directory: &Path, schedule: &Schedule) -> Result<(), Failure> {
    let Some((old, _)) = read_campaign(directory)? else { return Ok(()) };
    let same_cells =
        old.cells.iter().all(|(name, cell)| schedule.cells.get(name).is_none_or(|other| other == cell));
    let same_variants = old.variants.iter().all(|variant| {
        schedule.variants.iter().find(|other| other.name == variant.name).is_none_or(|other| other == variant)
    });
    if same_cells && same_variants && old.demand == schedule.demand {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} holds searches for headroom made in another way: {}; --amend can add or take out variants and repeats of such a \
         campaign, and nothing else. Name another directory",
        directory.display(),
        old.differences(schedule).join("; ")
    )))
}

/// The variants of a campaign compared, from what its searches found until now.
pub(super) fn compared(
    directory: &Path,
    schedule: &Schedule,
    state: &State,
    confidence: Confidence,
) -> Result<Headrooms, Failure> {
    let mut platforms = Vec::new();
    let mut variants = schedule.variants.clone();
    // Others are compared with the baseline, so it comes first.
    variants.sort_by_key(|variant| variant.name != schedule.baseline);
    for variant in variants {
        let mut steps: Vec<_> = schedule.steps.iter().filter(|step| step.variant == variant.name).collect();
        steps.sort_by_key(|step| step.repeat);
        let folders = steps.into_iter().filter_map(|step| state.completed_run(step));
        let searches = folders.map(|folder| found(directory, folder));
        let searches = searches.collect::<Result<Vec<_>, Failure>>()?;
        platforms.push(Platform::new(variant.name, variant.twin_of, searches, confidence));
    }
    let said = |key: &str| schedule.demand.get(key).map_or("", String::as_str);
    let demand = format!("{}; {}", said("database"), said("point"));
    let compared = Headrooms::of(demand, platforms, schedule.steps.len(), confidence);
    if compared.done == 0 {
        return Err(Failure::failed(format!("no search of {} is done yet", directory.display())));
    }
    Ok(compared)
}

/// What the search in a folder of the campaign found.
fn found(directory: &Path, folder: &str) -> Result<SearchResult, Failure> {
    let path = directory.join(folder).join(FOUND);
    let failed = |error: String| Failure::failed(format!("reading {}: {error}", path.display()));
    let text = fs::read(&path).map_err(|error| failed(error.to_string()))?;
    SearchResult::read(folder, &text).map_err(|error| failed(error.to_string()))
}
