//! The runs of a campaign, and their order.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slob_demand::{AbortWatch, Options};
use slob_spec::{Entry, Length, RunSpec, Settings, SpecErrors, Table, Target};
use slob_stats::Shuffler;

use crate::hook::{Hook, Moment};
use crate::plan::{Model, Order, Pairs, Plan, PlanError, PlanErrors, Sessions, Staff, Variant};

pub(crate) const SCHEDULE_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub variant: String,
    pub model: String,
    #[serde(flatten)]
    pub sessions: Option<Sessions>,
    pub repeat: u32,
}

impl Step {
    pub fn cell(&self) -> String {
        let sessions = self.sessions.map(|sessions| format!("/{sessions}")).unwrap_or_default();
        format!("{}/{}{sessions}", self.variant, self.model)
    }

    pub fn key(&self) -> String {
        format!("{}/{}", self.cell(), self.repeat)
    }

    /// RUN_NAME of its run, or the folder of its search.
    pub fn run_name(&self) -> String {
        let sessions = self.sessions.map(|sessions| format!("-{sessions}")).unwrap_or_default();
        format!("{}-{}{sessions}-r{}", self.variant, self.model, self.repeat)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantEntry {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEntry {
    pub name: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub version: u32,
    pub name: String,
    pub order: Order,
    pub seed: u64,
    pub warmup_runs: u32,
    pub baseline: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub demand: BTreeMap<String, String>,
    /// Seconds from slot to slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u64>,
    pub variants: Vec<VariantEntry>,
    pub models: Vec<ModelEntry>,
    /// Keys are cells; RUN_NAME and RESULTS_DIR are left out.
    pub cells: BTreeMap<String, BTreeMap<String, String>>,
    pub steps: Vec<Step>,
}

impl Schedule {
    /// True if the runs of its steps are those of neighbours.
    pub fn has_neighbours(&self) -> bool {
        self.models.iter().any(|model| !model.members.is_empty())
    }

    /// The variants; the baseline comes first.
    pub fn variants(&self) -> Vec<&VariantEntry> {
        let mut variants: Vec<&VariantEntry> = self.variants.iter().collect();
        variants.sort_by_key(|variant| variant.name != self.baseline);
        variants
    }
    /// The original's hooks prepare a twin too.
    pub(crate) fn before_runs(&self, variant: &str) -> BTreeMap<&str, &str> {
        let named = |name: &str| self.variants.iter().find(|entry| entry.name == name);
        let entry = named(variant);
        let original = entry.and_then(|entry| named(entry.twin_of.as_ref()?));
        let hooks = original.into_iter().chain(entry).flat_map(|entry| &entry.hooks);
        let before = hooks.filter(|(moment, _)| **moment != Moment::AfterRun.to_string());
        before.map(|(moment, command)| (moment.as_str(), command.as_str())).collect()
    }

    /// False if conditions of searches changed: these resume from own runs, so they can be neither kept nor begun again.
    pub(crate) fn searches_stay(&self, new: &Self) -> bool {
        let same_cells =
            || self.cells.iter().all(|(name, cell)| new.cells.get(name).is_none_or(|other| other == cell));
        let same_variant = |variant: &VariantEntry| {
            let other = new.variants.iter().find(|other| other.name == variant.name);
            other.is_none_or(|other| other == variant)
        };
        let has_searches = !self.demand.is_empty() || !new.demand.is_empty();
        !has_searches || (same_cells() && self.variants.iter().all(same_variant) && self.demand == new.demand)
    }

    /// Phrases, at most five.
    pub fn differences(&self, new: &Self) -> Vec<String> {
        const MOST: usize = 5;
        let mut said = Vec::new();
        for (cell, configuration) in &self.cells {
            let Some(other) = new.cells.get(cell) else {
                said.push(format!("{cell} is no longer in it"));
                continue;
            };
            said.extend(changes(configuration, other).map(|change| format!("{cell}: {change}")));
        }
        said.extend(changes(&self.demand, &new.demand).map(|change| format!("demand: {change}")));
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
        let parts = [
            ("the name", self.name != new.name),
            ("the baseline", self.baseline != new.baseline),
            ("the number of runs to discard", self.warmup_runs != new.warmup_runs),
            ("a hook or a variant's place", self.variants != new.variants),
            ("a model's metric or place", self.models != new.models),
            ("the time between slots", self.every_s != new.every_s),
            ("the number of repeats", self.steps.len() != new.steps.len()),
            ("the order", (self.order, self.seed) != (new.order, new.seed)),
        ];
        let differ = parts.iter().filter(|(_, differs)| *differs).map(|(what, _)| format!("{what} changed"));
        let said: Vec<String> = differ.collect();
        if said.is_empty() { vec!["the order of the runs changed".to_owned()] } else { said }
    }
}

pub(crate) fn changes<'a>(
    was: &'a BTreeMap<String, String>,
    is: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = String> + 'a {
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    keys.filter(|key| was.get(*key) != is.get(*key)).map(move |key| {
        let [was, is] = [was, is].map(|values| values.get(key).map_or("unset", String::as_str));
        format!("{key} was {was} and is {is}")
    })
}

const NAMING: [&str; 2] = ["RUN_NAME", "RESULTS_DIR"];

#[derive(Clone, Debug)]
pub struct Campaign {
    pub plan: Plan,
    pub schedule: Schedule,
    pub warnings: Vec<String>,
    cells: BTreeMap<String, Cell>,
    table: Table,
}

#[derive(Clone, Debug)]
struct Cell {
    members: Vec<Member>,
    planned: Option<Duration>,
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: Option<String>,
    pub settings: Settings,
}

impl Campaign {
    /// `base` holds the settings of files, environment and command line. Fails with all errors of all runs.
    pub fn build(plan: Plan, base: &Settings, table: &Table) -> Result<Self, PlanErrors> {
        let (cells, errors, warnings) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut maker = Maker { plan: &plan, table, cells, errors, warnings };
        if let Some(common) = maker.overridden(base, &plan.settings, &plan.file) {
            plan.variants.iter().for_each(|variant| maker.variant(&common, variant));
        }
        let Maker { cells, errors, warnings: all, .. } = maker;
        PlanErrors::check(errors)?;
        let mut warnings: Vec<String> = Vec::new();
        for warning in all {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let schedule = schedule(&plan, &cells);
        let campaign = Self { plan, schedule, warnings, cells, table: table.clone() };
        campaign.check_slots()?;
        Ok(campaign)
    }

    fn check_slots(&self) -> Result<(), PlanError> {
        let Some(every) = self.plan.every else { return Ok(()) };
        let round = self.schedule.steps.iter().filter(|step| step.repeat == 1);
        match self.planned_time(round).filter(|planned| *planned > every) {
            None => Ok(()),
            Some(planned) => Err(PlanError::Value {
                place: self.plan.file.clone(),
                key: "--every",
                value: format!("{} s", every.as_secs()),
                permitted: format!("more than the {} s that the runs of a slot take", planned.as_secs()),
            }),
        }
    }

    /// Records go into `directory`. Fails if its name can't be a parameter's value.
    pub fn members(&self, step: &Step, directory: &Path) -> Result<Vec<Member>, PlanError> {
        let Some(cell) = self.cells.get(&step.cell()) else {
            let what = format!("there is no run {}", step.key());
            return Err(PlanError::Missing { place: self.plan.file.clone(), what });
        };
        let place = format!("{}, {}", self.plan.file, step.key());
        let member = |member: &Member| {
            let pairs = [
                ("RUN_NAME".to_owned(), run_name(step, member.name.as_deref())),
                ("RESULTS_DIR".to_owned(), directory.to_string_lossy().into_owned()),
            ];
            let resolved = member.settings.overridden(&self.table, &pairs, &place);
            resolved
                .map(|resolved| Member { name: member.name.clone(), settings: resolved.settings })
                .map_err(|errors| PlanError::Run { place: place.clone(), errors })
        };
        cell.members.iter().map(member).collect()
    }

    /// `None` if operations end the step.
    pub fn planned(&self, step: &Step) -> Option<Duration> {
        self.cells.get(&step.cell())?.planned
    }

    /// Discarded runs included, without hooks, connecting and verifying; `None` if a time is unknown.
    pub fn planned_time<'a>(&self, steps: impl IntoIterator<Item = &'a Step>) -> Option<Duration> {
        let mut total = Duration::ZERO;
        let mut last: Option<&str> = None;
        for step in steps {
            let one = self.planned(step)?;
            let warm_ups = if last == Some(step.variant.as_str()) { 0 } else { self.plan.warmup_runs };
            total += one * (1 + warm_ups);
            last = Some(&step.variant);
        }
        Some(total)
    }
}

fn run_name(step: &Step, member: Option<&str>) -> String {
    member.map_or_else(|| step.run_name(), |member| format!("{}-{member}", step.run_name()))
}

struct Maker<'a> {
    plan: &'a Plan,
    table: &'a Table,
    cells: BTreeMap<String, Cell>,
    errors: Vec<PlanError>,
    warnings: Vec<String>,
}

impl Maker<'_> {
    fn overridden(&mut self, settings: &Settings, pairs: &Pairs, place: &str) -> Option<Settings> {
        let resolved = self.sound(settings.overridden(self.table, pairs, place), place)?;
        self.warnings.extend(resolved.warnings);
        Some(resolved.settings)
    }

    /// Notes errors; `None` if there are any.
    fn sound<T>(&mut self, result: Result<T, SpecErrors>, place: &str) -> Option<T> {
        result.map_err(|errors| self.errors.push(PlanError::Run { place: place.to_owned(), errors })).ok()
    }

    fn variant(&mut self, common: &Settings, variant: &Variant) {
        let plan = self.plan;
        let place = format!("{}, variant '{}'", plan.file, variant.name);
        let Some(of_variant) = self.overridden(common, &variant.settings, &place) else { return };
        for model in &plan.models {
            let place = format!("{}, model '{}'", plan.file, model.name);
            let Some(of_model) = self.overridden(&of_variant, &model.settings, &place) else { continue };
            for sessions in plan.sessions_of_steps() {
                let (variant, of_plan) = (variant.name.clone(), model.name.clone());
                let step = Step { variant, model: of_plan, sessions, repeat: plan.repeats.get() };
                let cell = match model.members.is_empty() {
                    true => self.cell(&of_model, model.staff, &step),
                    false => self.company(&of_model, &model.members, &step),
                };
                self.cells.extend(cell.map(|cell| (step.cell(), cell)));
            }
        }
    }

    fn cell(&mut self, of_model: &Settings, staff: Staff, step: &Step) -> Option<Cell> {
        let place = format!("{}, {}", self.plan.file, step.cell());
        let mut pairs = Vec::new();
        if let Some(sessions) = step.sessions {
            let half = (sessions.total() / 2).to_string();
            pairs.push(("SCHEMAS".to_owned(), sessions.schemas.to_string()));
            match staff {
                Staff::Alike => pairs.push(("THREADS_PER_SCHEMA".to_owned(), sessions.threads.to_string())),
                Staff::HalfWrites => {
                    pairs.extend(["WRITERS", "READERS"].map(|key| (key.to_owned(), half.clone())));
                }
            }
        }
        if staff == Staff::Alike {
            let roles = ["WRITERS", "READERS"].into_iter().filter(|key| of_model.value(key).is_some());
            pairs.extend(roles.map(|key| (key.to_owned(), String::new())));
        }
        // The longest name must be valid too.
        pairs.push(("RUN_NAME".to_owned(), step.run_name()));
        let (settings, spec) = self.checked(of_model, &pairs, &place)?;
        // The number of runs of a search is unknown.
        let planned = planned(&spec).filter(|_| self.plan.demand.is_none());
        Some(Cell { members: vec![Member { name: None, settings }], planned })
    }

    /// Runs that start together must have the same length and their own data.
    fn company(&mut self, common: &Settings, members: &[String], step: &Step) -> Option<Cell> {
        let plan = self.plan;
        let mut cell = Cell { members: Vec::new(), planned: None };
        let mut specs: Vec<(&str, RunSpec)> = Vec::new();
        for neighbour in plan.neighbours.iter().filter(|neighbour| members.contains(&neighbour.name)) {
            let place = format!("{}, neighbour '{}'", plan.file, neighbour.name);
            let mut pairs = neighbour.settings.clone();
            pairs.push(("RUN_NAME".to_owned(), run_name(step, Some(&neighbour.name))));
            let (settings, spec) = self.checked(common, &pairs, &place)?;
            cell.members.push(Member { name: Some(neighbour.name.clone()), settings });
            specs.push((&neighbour.name, spec));
        }
        for (at, (name, spec)) in specs.iter().enumerate() {
            let clashes = specs[..at].iter().filter_map(|(other, earlier)| {
                Some(format!("neighbours '{other}' and '{name}' {}", clash(earlier, spec)?))
            });
            let early = ends_early(spec).map(|key| {
                format!("neighbour '{name}' has {key}, but all must be at work for the same time; unset it")
            });
            let place = || plan.file.clone();
            self.errors.extend(clashes.chain(early).map(|what| PlanError::Missing { place: place(), what }));
        }
        cell.planned = planned(&specs.first()?.1);
        Some(cell)
    }

    fn checked(&mut self, settings: &Settings, pairs: &Pairs, place: &str) -> Option<(Settings, RunSpec)> {
        let settings = self.overridden(settings, pairs, place)?;
        let checked = self.sound(RunSpec::from_settings(&settings), place)?;
        self.warnings.extend(checked.warnings);
        let rules = checked.spec.abort_on.as_deref().unwrap_or_default();
        if let Err(error) = rules.parse::<AbortWatch>() {
            self.errors.push(PlanError::Missing { place: place.to_owned(), what: error.to_string() });
            return None;
        }
        Some((settings, checked.spec))
    }
}

/// Warm-up and window; `None` if operations end a run.
fn planned(spec: &RunSpec) -> Option<Duration> {
    match spec.length {
        Length::Time(length) => Some(length + spec.warmup.at_most()),
        Length::Operations(_) => None,
    }
}
pub fn clash(one: &RunSpec, other: &RunSpec) -> Option<String> {
    let (first, second) = (&one.target, &other.target);
    let place = |target: &Target| {
        let path = Path::new(target.path());
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    if first.scheme() == second.scheme()
        && first.endpoints() == second.endpoints()
        && place(first) == place(second)
    {
        return Some(format!("have the same schemas, {first}: give each its own data"));
    }
    if one.warmup.is_auto() || other.warmup.is_auto() {
        let why = "could not agree on the begin of their windows with WARMUP=auto: set WARMUP to the same time for all of them";
        return Some(why.to_owned());
    }
    let times = |spec: &RunSpec| (spec.length, spec.warmup);
    (times(one) != times(other)).then(|| {
        "differ in RUN_TIME or WARMUP: set both for all of them, so that their windows are the same"
            .to_owned()
    })
}

fn ends_early(spec: &RunSpec) -> Option<&'static str> {
    match spec.length {
        Length::Operations(_) => Some("WORK_LOOP"),
        Length::Time(_) if spec.abort_on.is_some() => Some("ABORT_ON"),
        Length::Time(_) => spec.until_steady.map(|_| "UNTIL_STEADY"),
    }
}

fn schedule(plan: &Plan, cells: &BTreeMap<String, Cell>) -> Schedule {
    let shown = |(moment, hook): (&Moment, &Hook)| {
        (moment.to_string(), format!("{} (at most {} s)", hook.command, hook.timeout.as_secs_f64()))
    };
    let variant = |variant: &Variant| VariantEntry {
        name: variant.name.clone(),
        twin_of: variant.twin_of.clone(),
        hooks: variant.hooks.iter().map(shown).collect(),
    };
    let model = |model: &Model| ModelEntry {
        name: model.name.clone(),
        metric: model.metric.clone(),
        members: model.members.clone(),
    };
    let configuration = |cell: &Cell| -> BTreeMap<String, String> {
        let of_member = |member: &Member| -> Vec<(String, String)> {
            let prefix = member.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
            let entries = member.settings.entries().filter(|entry| !NAMING.contains(&entry.param().key));
            let shown = |entry: &Entry| Some((format!("{prefix}{}", entry.param().key), entry.displayed()?));
            entries.filter_map(shown).collect()
        };
        cell.members.iter().flat_map(of_member).collect()
    };
    Schedule {
        version: SCHEDULE_VERSION,
        name: plan.name.clone(),
        order: plan.order,
        seed: plan.seed,
        warmup_runs: plan.warmup_runs,
        baseline: plan.baseline.clone(),
        every_s: plan.every.map(|every| every.as_secs()),
        demand: plan.demand.as_ref().map(Options::shown).unwrap_or_default(),
        variants: plan.variants.iter().map(variant).collect(),
        models: plan.models.iter().map(model).collect(),
        cells: cells.iter().map(|(key, cell)| (key.clone(), configuration(cell))).collect(),
        steps: steps(plan),
    }
}

pub(crate) fn steps(plan: &Plan) -> Vec<Step> {
    match plan.order {
        Order::Interleaved => interleaved(plan),
        Order::Blocked => blocked(plan),
    }
}

/// If a switch costs time, a round takes one variant after the other; otherwise the variants of a cell follow each other.
fn interleaved(plan: &Plan) -> Vec<Step> {
    let mut chance = Shuffler::new(plan.seed);
    let switching_costs = plan.warmup_runs > 0
        || plan.variants.iter().any(|variant| variant.hooks.contains_key(&Moment::Bounce));
    let mut steps = Vec::new();
    for repeat in 1..=plan.repeats.get() {
        let mut cells = cells(plan);
        let mut variants: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        chance.shuffle(&mut variants);
        let step = |variant: &str, cell: &Step| Step { variant: variant.into(), repeat, ..cell.clone() };
        if switching_costs {
            for variant in variants {
                chance.shuffle(&mut cells);
                steps.extend(cells.iter().map(|cell| step(variant, cell)));
            }
        } else {
            chance.shuffle(&mut cells);
            for cell in cells {
                chance.shuffle(&mut variants);
                steps.extend(variants.iter().map(|variant| step(variant, &cell)));
            }
        }
    }
    steps
}

fn blocked(plan: &Plan) -> Vec<Step> {
    let mut steps = Vec::new();
    for variant in &plan.variants {
        for cell in cells(plan) {
            let step = |repeat| Step { variant: variant.name.clone(), repeat, ..cell.clone() };
            steps.extend((1..=plan.repeats.get()).map(step));
        }
    }
    steps
}

fn cells(plan: &Plan) -> Vec<Step> {
    let of = |model: &Model| {
        let model = model.name.clone();
        let cell = move |sessions| Step { variant: String::new(), model: model.clone(), sessions, repeat: 0 };
        plan.sessions_of_steps().into_iter().map(cell)
    };
    plan.models.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plan(more: &str) -> Plan {
        let text = format!(
            "sessions = [1, 2, 4]\nmodels = [\"read\", \"redo\"]\nrepeats = 5\n{more}\n[[variant]]\nname = \"a\"\n\
             [[variant]]\nname = \"b\"\n[[variant]]\nname = \"c\"\n"
        );
        Plan::parse("plan.toml", &text).unwrap()
    }

    #[test]
    fn a_round_holds_every_cell_of_every_variant_once() {
        for more in ["", "warmup_runs = 1"] {
            let plan = plan(more);
            let steps = steps(&plan);
            assert_eq!(steps.len(), 3 * 2 * 3 * 5);
            for (round, steps) in steps.chunks(18).enumerate() {
                assert!(steps.iter().all(|step| step.repeat as usize == round + 1));
                assert_eq!(steps.iter().map(Step::key).collect::<BTreeSet<_>>().len(), 18);
            }
        }
    }

    #[test]
    fn variants_alternate_unless_switching_costs_time() {
        let switches =
            |steps: &[Step]| steps.windows(2).filter(|pair| pair[0].variant != pair[1].variant).count();
        let side_by_side = steps(&plan(""));
        for cell in side_by_side.chunks(3) {
            assert_eq!(cell.iter().map(|step| &step.variant).collect::<BTreeSet<_>>().len(), 3);
            assert!(cell.iter().all(|step| step.model == cell[0].model && step.sessions == cell[0].sessions));
        }
        // Five rounds of three variants: at most fourteen switches, since two rounds may meet in the same variant.
        assert!(switches(&steps(&plan("warmup_runs = 1"))) <= 14);
        assert_eq!(switches(&steps(&plan("order = \"blocked\""))), 2);
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(steps(&plan("seed = 5")), steps(&plan("seed = 5")));
        assert_ne!(steps(&plan("seed = 5")), steps(&plan("seed = 6")));
    }
}
