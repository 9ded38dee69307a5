//! The search for headroom on a target: the multiple of a demand that it carries.

use std::num::NonZeroU32;

use serde::Serialize;
use slob_facts::thresholds::LOW_LOAD;

use crate::goal::{Goal, Runs, Target};
use crate::limits::HeadroomLimit;
use crate::options::Options;
use crate::profile::DemandError;
use crate::search::{HeadroomEnd, HeadroomFound, Step as SearchStep, search_headroom};
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
    /// The interruption, or the failure of a step after others: what they showed holds.
    pub ended: Option<F>,
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
        return Ok(HeadroomSearched { calibrated, result, ended: None });
    }
    let calibrated = target.calibrate(goal, runs)?;
    let search = StepSearch {
        runs,
        parameters: calibrated.planned.parameters,
        target,
        count_cached: options.count_cached,
        spoiled_repeats,
        result: HeadroomResult {
            limits: options.limits.iter().map(HeadroomLimit::from).collect(),
            ..HeadroomResult::default()
        },
        ended: None,
    };
    let (result, ended) = search.answer(options, &goal.demand.figures)?;
    Ok(HeadroomSearched { calibrated, result, ended })
}

struct StepSearch<'a, R: Runs> {
    runs: &'a R,
    parameters: Parameters,
    target: &'a Target,
    count_cached: bool,
    spoiled_repeats: usize,
    result: HeadroomResult,
    ended: Option<R::Failure>,
}

impl<R: Runs> StepSearch<'_, R> {
    fn answer(
        mut self,
        options: &Options,
        production: &Figures,
    ) -> Result<(HeadroomResult, Option<R::Failure>), R::Failure> {
        let found = self.find(options, production)?;
        let Self { result, ended, .. } = self;
        let why = match ended.as_ref().and_then(R::refusal) {
            Some(error) => format!("The search was ended by a step that failed: {error}."),
            None => found.words(options),
        };
        let HeadroomFound { carries, at_least, less_than, .. } = found;
        Ok((HeadroomResult { carries, at_least, less_than, why, ..result }, ended))
    }

    /// Runs at low load and at 1x decide the default limits.
    fn find(&mut self, options: &Options, production: &Figures) -> Result<HeadroomFound, R::Failure> {
        let rate = NonZeroU32::new(self.parameters.rate).unwrap_or(NonZeroU32::MIN);
        let mut at_one = Vec::new();
        at_one.extend(self.measure_low_load()?);
        let counts = |step: &SearchStep| matches!(step, SearchStep::Held | SearchStep::Broke);
        while at_one.len() < options.repeats as usize && at_one.last().is_none_or(counts) {
            at_one.push(self.step(1.0, |_| true)?);
        }
        if options.limits.is_empty() {
            let mut steps = std::mem::take(&mut self.result.steps);
            let counted: Vec<HeadroomStep> =
                steps.iter().filter(|step| step.not_counted.is_none()).cloned().collect();
            // A platform that can't keep even a low rate shows no latency without queues.
            let low_load = self.result.low_load.as_ref().filter(|step| step.rate_kept);
            self.result.limits = HeadroomLimit::defaults(production, low_load, &counted);
            steps.iter_mut().for_each(|step| step.judge(&self.result.limits));
            let ended = at_one.iter().rfind(|step| !counts(step)).copied();
            at_one = steps.iter().filter_map(result_of).chain(ended).collect();
            self.result.steps = steps;
        }
        search_headroom(options, rate, &at_one, |factor| self.step(factor, |step| step.broke.is_some()))
    }

    /// Nothing queues at low load. A plan whose rate can't be lowered has no such run.
    fn measure_low_load(&mut self) -> Result<Option<SearchStep>, R::Failure> {
        let factor = LOW_LOAD.value / 100.0;
        if self.parameters.times(factor, &self.target.limits).rate == self.parameters.rate {
            return Ok(None);
        }
        for nth in 1..=1 + self.spoiled_repeats {
            let mut step = match self.run(&format!("low-load-{nth}"), factor)? {
                Ok(step) => step,
                Err(ended) => return Ok(Some(SearchStep::Ended(ended))),
            };
            let is_last = step.spoiled.is_none();
            step.judge(&self.result.limits);
            self.runs.say(&format!("low load, {} operations/s: {}", step.rate, step.outcome()));
            self.result.low_load = Some(step);
            if is_last {
                break;
            }
        }
        Ok(None)
    }

    /// Repeats the step while others spoil it and that `matters`.
    fn step(&mut self, factor: f64, matters: fn(&HeadroomStep) -> bool) -> Result<SearchStep, R::Failure> {
        loop {
            let name = format!("step-{}", self.result.steps.len() + 1);
            let mut step = match self.run(&name, factor)? {
                Ok(step) => step,
                Err(ended) => return Ok(SearchStep::Ended(ended)),
            };
            step.judge(&self.result.limits);
            let repeated = |other: &&HeadroomStep| {
                other.factor == factor && other.not_counted == Some(NotCounted::Repeated)
            };
            let is_spoiled = step.spoiled.is_some() && step.not_counted.is_none() && matters(&step);
            if is_spoiled && self.result.steps.iter().filter(repeated).count() < self.spoiled_repeats {
                step.not_counted = Some(NotCounted::Repeated);
            }
            let (times, outcome) = (times(factor), step.outcome());
            self.runs.say(&format!("{times} times the demand, {} operations/s: {outcome}", step.rate));
            let result = result_of(&step);
            self.result.steps.push(step);
            if let Some(result) = result {
                return Ok(result);
            }
        }
    }

    fn run(&mut self, name: &str, factor: f64) -> Result<Result<HeadroomStep, HeadroomEnd>, R::Failure> {
        if self.runs.is_out_of_time() {
            return Ok(Err(HeadroomEnd::OutOfTime));
        }
        let pairs = self.target.pairs(&self.parameters.times(factor, &self.target.limits));
        let record = match self.runs.run(name, &pairs) {
            Err(failure) if R::refusal(&failure).is_none() || !self.result.steps.is_empty() => {
                self.ended = Some(failure);
                return Ok(Err(HeadroomEnd::Failed));
            }
            other => other?,
        };
        self.result.measured.get_or_insert_with(|| Environment::of(&record));
        let step = HeadroomStep::of(&record, factor, self.count_cached);
        Ok(Ok(step.ok_or_else(|| DemandError::measured_nothing(&record.id))?))
    }
}

fn result_of(step: &HeadroomStep) -> Option<SearchStep> {
    match (step.not_counted, &step.broke) {
        (Some(NotCounted::Repeated), _) => None,
        (Some(NotCounted::Cached), _) => Some(SearchStep::Ended(HeadroomEnd::NotCounted)),
        (None, Some(_)) => Some(SearchStep::Broke),
        (None, None) => Some(SearchStep::Held),
    }
}

#[cfg(test)]
mod tests {
    use slob_record::Record;
    use slob_testing::records;

    use super::*;
    use crate::plan::Limits;

    /// A target that does what is asked of it, up to a rate.
    struct Refusing {
        most_per_s: u32,
    }

    impl Runs for Refusing {
        type Failure = DemandError;

        fn run(&self, _: &str, pairs: &[(&str, String)]) -> Result<Record, DemandError> {
            let (_, rate) = pairs.iter().find(|(key, _)| *key == "RATE").unwrap();
            if rate.parse::<u32>().unwrap() > self.most_per_s {
                return Err(DemandError::Usage("128 sessions do not fit".into()));
            }
            let mut record = records::direct_read_run();
            record.workload.rate_per_s = Some(rate.parse().unwrap());
            Ok(record)
        }

        fn refusal(failure: &DemandError) -> Option<String> {
            Some(failure.to_string())
        }

        fn is_out_of_time(&self) -> bool {
            false
        }

        fn say(&self, _: &str) {}
    }

    fn searched(most_per_s: u32) -> Result<(HeadroomResult, Option<DemandError>), DemandError> {
        let limits = Limits { schemas: 1, scale_blocks: 8192, most_sessions: 64, ..Limits::default() };
        let target = Target { name: "x".into(), limits, block_bytes: 8192, sets_warmup: true };
        let parameters = Parameters { rate: 10, schemas: 1, threads: 4, ..Parameters::default() };
        let search = StepSearch {
            runs: &Refusing { most_per_s },
            parameters,
            target: &target,
            count_cached: true,
            spoiled_repeats: 0,
            result: HeadroomResult::default(),
            ended: None,
        };
        search.answer(&Options::default(), &Figures::default())
    }

    /// The answer of seven minutes was lost: sixteen times the demand needed more connections than the server allows.
    #[test]
    fn a_step_that_the_target_refuses_ends_the_search_and_keeps_its_answer() {
        let (result, ended) = searched(40).unwrap();
        assert_eq!((result.carries, result.less_than), (Some(4.0), None));
        assert!(result.why.contains("128 sessions do not fit"), "{}", result.why);
        assert!(ended.is_some(), "the command fails");
        assert!(searched(5).is_err(), "nothing was carried");
    }
}
