//! The search for headroom on a target: the multiple of a demand that it carries.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::Serialize;
use slob_facts::thresholds::LOW_LOAD;

use crate::goal::{DemandError, Goal, Runs, Target};
use crate::limits::HeadroomLimit;
use crate::options::Options;
use crate::search::{HeadroomFound, Step as SearchStep, search_headroom};
use crate::step::{Environment, HeadroomStep, NotCounted, times};
use crate::{Calibrated, Figures, Parameters};

#[derive(Clone, Debug, Default, Serialize)]
pub struct HeadroomResult {
    pub measured: Option<Environment>,
    /// The reason why the profile is no demand; then no run is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub limits: Vec<HeadroomLimit>,
    /// Shows the platform's own latencies; absent if no rate lower than that of 1x is possible.
    pub low_load: Option<HeadroomStep>,
    pub steps: Vec<HeadroomStep>,
    pub carries: Option<f64>,
    /// Carried in every run.
    pub at_least: Option<f64>,
    /// Carried in no run; absent if nothing broke.
    pub less_than: Option<f64>,
    pub why: String,
}

pub struct HeadroomSearched<F> {
    pub calibrated: Calibrated,
    pub result: HeadroomResult,
    pub interruption: Option<F>,
}

/// Resumes an earlier search. Without a demand to rely on no run is made.
pub fn find_headroom<R: Runs>(
    goal: &Goal,
    target: &Target,
    options: &Options,
    spoiled_repeats: usize,
    runs: &R,
) -> Result<HeadroomSearched<R::Failure>, R::Failure> {
    if let refused @ Some(_) = goal.refusal(options) {
        let calibrated = goal.uncalibrated(&target.limits);
        let why = "No run was made.".to_owned();
        let result = HeadroomResult { refused, why, ..HeadroomResult::default() };
        return Ok(HeadroomSearched { calibrated, result, interruption: None });
    }
    let calibrated = target.calibrate(goal, runs)?;
    let asked = options.limits.iter().map(|limit| limit.figure.name);
    let mut search = StepSearch {
        runs,
        parameters: calibrated.planned.parameters,
        target,
        columns: asked.chain(HeadroomLimit::default_columns()).collect(),
        limits: options.limits.iter().map(HeadroomLimit::from).collect(),
        count_cached: options.count_cached,
        spoiled_repeats,
        measured: None,
        low_load: None,
        steps: Vec::new(),
        interruption: None,
    };
    let found = search.find(options, &goal.demand.figures)?;
    let StepSearch { measured, limits, low_load, steps, interruption, .. } = search;
    let HeadroomFound { carries, at_least, less_than, .. } = found;
    let (refused, why) = (None, found.words(options.rules()));
    let result =
        HeadroomResult { measured, refused, limits, low_load, steps, carries, at_least, less_than, why };
    Ok(HeadroomSearched { calibrated, result, interruption })
}

struct StepSearch<'a, R: Runs> {
    runs: &'a R,
    parameters: Parameters,
    target: &'a Target,
    columns: BTreeSet<&'static str>,
    limits: Vec<HeadroomLimit>,
    count_cached: bool,
    spoiled_repeats: usize,
    measured: Option<Environment>,
    low_load: Option<HeadroomStep>,
    steps: Vec<HeadroomStep>,
    interruption: Option<R::Failure>,
}

impl<R: Runs> StepSearch<'_, R> {
    /// Runs at low load and at 1x decide the default limits.
    fn find(&mut self, options: &Options, production: &Figures) -> Result<HeadroomFound, R::Failure> {
        let rules = options.rules();
        let rate = NonZeroU32::new(self.parameters.rate).unwrap_or(NonZeroU32::MIN);
        let mut at_one = Vec::new();
        at_one.extend(self.measure_low_load()?);
        while at_one.len() < rules.repeats as usize && at_one.last().is_none_or(SearchStep::counts) {
            at_one.push(self.step(1.0, |_| true)?);
        }
        if options.limits.is_empty() {
            let counted: Vec<HeadroomStep> =
                self.steps.iter().filter(|step| step.not_counted.is_none()).cloned().collect();
            self.limits = HeadroomLimit::defaults(production, self.low_load.as_ref(), &counted);
            self.steps.iter_mut().for_each(|step| step.judge(&self.limits));
            let ended = at_one.iter().rfind(|step| !step.counts()).copied();
            at_one = self.steps.iter().filter_map(result_of).chain(ended).collect();
        }
        search_headroom(rules, rate, &at_one, |factor| self.step(factor, |step| step.broke.is_some()))
    }

    /// Nothing queues at low load. A plan whose rate can't be lowered has no such run.
    fn measure_low_load(&mut self) -> Result<Option<SearchStep>, R::Failure> {
        let factor = LOW_LOAD.value / 100.0;
        if self.parameters.times(factor, &self.target.limits).rate == self.parameters.rate {
            return Ok(None);
        }
        for nth in 1..=1 + self.spoiled_repeats {
            let step = match self.run(&format!("low-load-{nth}"), factor)? {
                Ok(step) => step,
                Err(ended) => return Ok(Some(ended)),
            };
            let is_last = step.spoiled.is_none();
            self.runs.say(&format!("low load, {} operations/s: {}", step.rate, step.outcome()));
            self.low_load = Some(step);
            if is_last {
                break;
            }
        }
        Ok(None)
    }

    /// Repeats the step while others spoil it and that `matters`.
    fn step(&mut self, factor: f64, matters: fn(&HeadroomStep) -> bool) -> Result<SearchStep, R::Failure> {
        loop {
            let name = format!("step-{}", self.steps.len() + 1);
            let mut step = match self.run(&name, factor)? {
                Ok(step) => step,
                Err(ended) => return Ok(ended),
            };
            step.judge(&self.limits);
            let repeated = |other: &&HeadroomStep| {
                other.factor == factor && other.not_counted == Some(NotCounted::Repeated)
            };
            let is_spoiled = step.spoiled.is_some() && step.not_counted.is_none() && matters(&step);
            if is_spoiled && self.steps.iter().filter(repeated).count() < self.spoiled_repeats {
                step.not_counted = Some(NotCounted::Repeated);
            }
            self.runs.say(&format!(
                "{} times the demand, {} operations/s: {}",
                times(factor),
                step.rate,
                step.outcome()
            ));
            let result = result_of(&step);
            self.steps.push(step);
            if let Some(result) = result {
                return Ok(result);
            }
        }
    }

    fn run(&mut self, name: &str, factor: f64) -> Result<Result<HeadroomStep, SearchStep>, R::Failure> {
        if self.runs.is_out_of_time() {
            return Ok(Err(SearchStep::OutOfTime));
        }
        let pairs = self.target.pairs(&self.parameters.times(factor, &self.target.limits));
        let record = match self.runs.run(name, &pairs) {
            Err(failure) if R::is_interruption(&failure) => {
                self.interruption = Some(failure);
                return Ok(Err(SearchStep::Interrupted));
            }
            other => other?,
        };
        self.measured.get_or_insert_with(|| Environment::of(&record));
        let columns = self.columns.iter().copied();
        let step = HeadroomStep::of(&record, factor, columns, self.count_cached);
        Ok(Ok(step.ok_or_else(|| DemandError::measured_nothing(&record))?))
    }
}

fn result_of(step: &HeadroomStep) -> Option<SearchStep> {
    match (step.not_counted, &step.broke) {
        (Some(NotCounted::Repeated), _) => None,
        (Some(NotCounted::Cached), _) => Some(SearchStep::NotCounted),
        (None, Some(_)) => Some(SearchStep::Broke),
        (None, None) => Some(SearchStep::Held),
    }
}
