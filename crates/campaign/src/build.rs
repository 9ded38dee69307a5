//! From a plan to the runs it stands for, every one of them checked.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use slob_spec::{Length, RunSpec, Settings, Table, Warning};

use crate::error::{PlanError, PlanErrors};
use crate::hook::Moment;
use crate::plan::{Demand, Model, Pairs, Plan, Sessions, Variant};
use crate::rounds;
use crate::schedule::{ModelEntry, SCHEDULE_VERSION, Schedule, Step, VariantEntry};
use crate::store::WARM_UP_FOLDER;

/// Parameters that name a run or its place, and so are no part of what is measured.
const NAMING: [&str; 2] = ["RUN_NAME", "RESULTS_DIR"];

/// A campaign that can begin: every run of it could be made and is free of contradictions.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The plan.
    pub plan: Plan,
    /// What it comes to.
    pub schedule: Schedule,
    /// What is odd about it, each said once.
    pub warnings: Vec<Warning>,
    cells: BTreeMap<String, Cell>,
    table: Table,
}

/// What all repeats of a run have in common.
#[derive(Clone, Debug)]
struct Cell {
    settings: Settings,
    /// How long a run takes by itself; `None` where operations end it, or where it is a search.
    planned: Option<Duration>,
}

impl Campaign {
    /// Makes every run of a plan on top of `base`, the settings of files, environment and command line.
    ///
    /// # Errors
    /// Everything that is wrong with any of the runs, with its place in the plan.
    pub fn build(plan: Plan, base: &Settings, table: &Table) -> Result<Self, PlanErrors> {
        let mut maker = Maker { table, errors: Vec::new(), warnings: Vec::new() };
        let mut cells = BTreeMap::new();
        let common = maker.overridden(base, &plan.settings, &plan.file);
        for variant in &plan.variants {
            let place = format!("{}, variant '{}'", plan.file, variant.name);
            let of_variant =
                common.as_ref().and_then(|common| maker.overridden(common, &variant.settings, &place));
            let Some(of_variant) = of_variant else { continue };
            for model in &plan.models {
                maker.cells(&plan, &of_variant, variant, model, &mut cells);
            }
        }
        PlanErrors::check(maker.errors)?;
        let mut warnings: Vec<Warning> = Vec::new();
        for warning in maker.warnings {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        let schedule = schedule(&plan, &cells);
        Ok(Self { plan, schedule, warnings, cells, table: table.clone() })
    }

    /// The settings of a run, whose record goes into `directory`.
    ///
    /// # Errors
    /// If the step is not of this campaign, or the directory's name can't be a parameter's value.
    pub fn settings(&self, step: &Step, directory: &Path) -> Result<Settings, PlanError> {
        self.named(step, step.run_name(), directory)
    }

    /// The settings of a run to throw away before a step.
    ///
    /// # Errors
    /// As of [`Campaign::settings`].
    pub fn warm_up_settings(&self, step: &Step, directory: &Path) -> Result<Settings, PlanError> {
        self.named(step, step.run_name(), &directory.join(WARM_UP_FOLDER))
    }

    fn named(&self, step: &Step, name: String, directory: &Path) -> Result<Settings, PlanError> {
        let Some(cell) = self.cells.get(&step.cell()) else {
            let what = format!("there is no run {}", step.key());
            return Err(PlanError::Missing { place: self.plan.file.clone(), what });
        };
        let pairs = [
            ("RUN_NAME".to_owned(), name),
            ("RESULTS_DIR".to_owned(), directory.to_string_lossy().into_owned()),
        ];
        let place = format!("{}, {}", self.plan.file, step.key());
        let resolved = cell.settings.overridden(&self.table, &pairs, &place);
        resolved.map(|resolved| resolved.settings).map_err(|errors| PlanError::Run { place, errors })
    }

    /// How long a run of this step takes by itself: warm-up and window. `None` where operations end it.
    #[must_use]
    pub fn planned(&self, step: &Step) -> Option<Duration> {
        self.cells.get(&step.cell())?.planned
    }

    /// The time that these steps take by themselves, the runs to throw away included; hooks, connecting and reading back
    /// come on top. `None` if that of one is not known.
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

struct Maker<'a> {
    table: &'a Table,
    errors: Vec<PlanError>,
    warnings: Vec<Warning>,
}

impl Maker<'_> {
    fn overridden(&mut self, settings: &Settings, pairs: &Pairs, place: &str) -> Option<Settings> {
        match settings.overridden(self.table, pairs, place) {
            Ok(resolved) => {
                self.warnings.extend(resolved.warnings);
                Some(resolved.settings)
            }
            Err(errors) => {
                self.errors.push(PlanError::Run { place: place.to_owned(), errors });
                None
            }
        }
    }

    fn cells(
        &mut self,
        plan: &Plan,
        of_variant: &Settings,
        variant: &Variant,
        model: &Model,
        cells: &mut BTreeMap<String, Cell>,
    ) {
        let place = format!("{}, model '{}'", plan.file, model.name);
        let Some(of_model) = self.overridden(of_variant, &model.settings, &place) else { return };
        let sessions: Vec<Option<Sessions>> = match plan.demand {
            Some(_) => vec![None],
            None => plan.sessions.iter().copied().map(Some).collect(),
        };
        for sessions in sessions {
            let step = Step {
                variant: variant.name.clone(),
                model: model.name.clone(),
                sessions,
                repeat: plan.repeats.get(),
            };
            if let Some(cell) = self.cell(plan, &of_model, &step) {
                cells.insert(step.cell(), cell);
            }
        }
    }

    fn cell(&mut self, plan: &Plan, of_model: &Settings, step: &Step) -> Option<Cell> {
        let place = format!("{}, {}", plan.file, step.cell());
        let mut pairs = Vec::new();
        if let Some(Sessions { schemas, threads }) = step.sessions {
            pairs.push(("SCHEMAS".to_owned(), schemas.to_string()));
            pairs.push(("THREADS_PER_SCHEMA".to_owned(), threads.to_string()));
        }
        // The longest of its names must be one.
        pairs.push(("RUN_NAME".to_owned(), step.run_name()));
        let settings = self.overridden(of_model, &pairs, &place)?;
        match RunSpec::from_settings(&settings) {
            Ok(checked) => {
                self.warnings.extend(checked.warnings);
                let planned = match checked.spec.length {
                    // How many runs a search makes nobody knows.
                    Length::Time(_) if plan.demand.is_some() => None,
                    Length::Time(length) => Some(length + checked.spec.warmup),
                    Length::Operations(_) => None,
                };
                Some(Cell { settings, planned })
            }
            Err(errors) => {
                self.errors.push(PlanError::Run { place, errors });
                None
            }
        }
    }
}

fn schedule(plan: &Plan, cells: &BTreeMap<String, Cell>) -> Schedule {
    let hooks = |variant: &Variant| {
        let shown = |moment: Moment| {
            let hook = variant.hooks.of(moment)?;
            Some((moment.to_string(), format!("{} (at most {} s)", hook.command, hook.timeout.as_secs_f64())))
        };
        Moment::ALL.into_iter().filter_map(shown).collect()
    };
    let configuration = |cell: &Cell| -> BTreeMap<String, String> {
        let entries = cell.settings.entries().filter(|entry| !NAMING.contains(&entry.param().key));
        entries.filter_map(|entry| Some((entry.param().key.to_owned(), entry.displayed()?))).collect()
    };
    Schedule {
        version: SCHEDULE_VERSION,
        name: plan.name.clone(),
        order: plan.order,
        seed: plan.seed,
        warmup_runs: plan.warmup_runs,
        baseline: plan.baseline.clone(),
        demand: plan.demand.as_ref().map(Demand::shown).unwrap_or_default(),
        variants: plan
            .variants
            .iter()
            .map(|variant| VariantEntry {
                name: variant.name.clone(),
                twin_of: variant.twin_of.clone(),
                hooks: hooks(variant),
            })
            .collect(),
        models: plan
            .models
            .iter()
            .map(|model| ModelEntry { name: model.name.clone(), metric: model.metric.clone() })
            .collect(),
        cells: cells.iter().map(|(key, cell)| (key.clone(), configuration(cell))).collect(),
        steps: rounds::steps(plan),
    }
}
