//! What a campaign does, as it is kept in its directory: the order of its runs, and what each of them is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hook::Moment;
use crate::order::Order;
use crate::plan::Sessions;

/// The version of the file.
pub(crate) const SCHEDULE_VERSION: u32 = 1;

/// One run of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The variant.
    pub variant: String,
    /// The model.
    pub model: String,
    /// The sessions; none where a search for headroom decides them.
    #[serde(flatten)]
    pub sessions: Option<Sessions>,
    /// Which of the repeats it is, from 1.
    pub repeat: u32,
}

impl Step {
    /// What all repeats have in common.
    #[must_use]
    pub fn cell(&self) -> String {
        let sessions = self.sessions.map(|sessions| format!("/{sessions}")).unwrap_or_default();
        format!("{}/{}{sessions}", self.variant, self.model)
    }

    /// What names the step.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.cell(), self.repeat)
    }

    /// RUN_NAME of its run, or the folder of its search.
    #[must_use]
    pub fn run_name(&self) -> String {
        let sessions = self.sessions.map(|sessions| format!("-{sessions}")).unwrap_or_default();
        format!("{}-{}{sessions}-r{}", self.variant, self.model, self.repeat)
    }
}

/// A variant of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantEntry {
    /// Its name.
    pub name: String,
    /// The variant it is the same as, in an A/A pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    /// Its hooks, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, String>,
}

/// A model of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    /// Its name.
    pub name: String,
    /// The figure that its tables show.
    pub metric: String,
}

/// The whole of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Version of this file.
    pub version: u32,
    /// The campaign's name.
    pub name: String,
    /// In which order.
    pub order: Order,
    /// What decided the order.
    pub seed: u64,
    /// Runs to throw away after each switch.
    pub warmup_runs: u32,
    /// The variant that others are compared with.
    pub baseline: String,
    /// What is searched for in each step, by the names of a plan's `demand`; empty where steps are runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub demand: BTreeMap<String, String>,
    /// The variants, in the order of the plan.
    pub variants: Vec<VariantEntry>,
    /// The models, in the order of the plan.
    pub models: Vec<ModelEntry>,
    /// The effective configuration of each cell, without what names the run.
    pub cells: BTreeMap<String, BTreeMap<String, String>>,
    /// Every run, in order.
    pub steps: Vec<Step>,
}

impl Schedule {
    /// What a variant does to the system before it is measured: its hooks, and those of what it is the same as, but for the
    /// one after a run.
    pub(crate) fn before_runs(&self, variant: &str) -> BTreeMap<&str, &str> {
        let named = |name: &str| self.variants.iter().find(|entry| entry.name == name);
        let entry = named(variant);
        let original = entry.and_then(|entry| named(entry.twin_of.as_ref()?));
        let hooks = original.into_iter().chain(entry).flat_map(|entry| &entry.hooks);
        let before = hooks.filter(|(moment, _)| **moment != Moment::AfterRun.to_string());
        before.map(|(moment, command)| (moment.as_str(), command.as_str())).collect()
    }

    /// The cells of a variant.
    pub(crate) fn cells_of(
        &self,
        variant: &str,
    ) -> impl Iterator<Item = (&String, &BTreeMap<String, String>)> {
        self.cells.iter().filter(move |(name, _)| name.split('/').next() == Some(variant))
    }

    /// What differs from another schedule, a phrase each; the first few.
    #[must_use]
    pub fn differences(&self, new: &Self) -> Vec<String> {
        const MOST: usize = 5;
        let mut said = Vec::new();
        for (cell, configuration) in &self.cells {
            let Some(other) = new.cells.get(cell) else {
                said.push(format!("{cell} is no longer in it"));
                continue;
            };
            let keys =
                configuration.keys().chain(other.keys().filter(|key| !configuration.contains_key(*key)));
            for key in keys.filter(|key| configuration.get(*key) != other.get(*key)) {
                let show = |value: Option<&String>| value.map_or_else(|| "unset".to_owned(), Clone::clone);
                said.push(format!(
                    "{cell}: {key} was {} and is {}",
                    show(configuration.get(key)),
                    show(other.get(key))
                ));
            }
        }
        let keys = self.demand.keys().chain(new.demand.keys().filter(|key| !self.demand.contains_key(*key)));
        for key in keys.filter(|key| self.demand.get(*key) != new.demand.get(*key)) {
            let show =
                |demand: &BTreeMap<String, String>| demand.get(key).map_or("unset".into(), Clone::clone);
            said.push(format!("demand: {key} was {} and is {}", show(&self.demand), show(&new.demand)));
        }
        let added = new.cells.keys().filter(|cell| !self.cells.contains_key(*cell));
        said.extend(added.map(|cell| format!("{cell} is new")));
        if said.is_empty() {
            said.extend(self.other_differences(new));
        }
        let more = said.len().saturating_sub(MOST);
        said.truncate(MOST);
        if more > 0 {
            said.push(format!("and {more} more"));
        }
        said
    }

    fn other_differences(&self, new: &Self) -> Vec<String> {
        let mut said = Vec::new();
        let mut differ = |what: &str, differ: bool| {
            if differ {
                said.push(format!("{what} changed"));
            }
        };
        differ("the name", self.name != new.name);
        differ("the baseline", self.baseline != new.baseline);
        differ("the number of runs to discard", self.warmup_runs != new.warmup_runs);
        differ("a hook or a variant's place", self.variants != new.variants);
        differ("a model's metric or place", self.models != new.models);
        differ("the number of repeats", self.steps.len() != new.steps.len());
        differ("the order", (self.order, self.seed) != (new.order, new.seed));
        if said.is_empty() {
            said.push("the order of the runs changed".to_owned());
        }
        said
    }
}
