//! A stretch of production replayed on a platform, interval by interval.

use serde::Serialize;
use slob_facts::format::{duration_us, fixed, length};
use slob_facts::measured::{OfferedLoad, ratio, total_operations};
use slob_facts::{Grade, Judged, Question, Run, verdicts};
use slob_record::Record;

use crate::goal::{Goal, Pairs, Runs, Target};
use crate::limits::HeadroomLimit;
use crate::options::Options;
use crate::profile::DemandError;
use crate::runs::{figures, histograms, steps};
use crate::step::{Environment, HeadroomStep, latencies};
use crate::timetable::Timetable;
use crate::{Calibrated, Figure, Slot};

/// A mean that exceeds production's by this share is slower.
const SLOWER: f64 = 1.05;

const COMPARED: [(Figure, &str); 2] = [(Figure::ReadUs, "reads take"), (Figure::CommitUs, "commits wait")];

#[derive(Clone, Debug, Serialize)]
pub struct ReplayResult {
    pub measured: Option<Environment>,
    /// Times production's work.
    pub multiply: f64,
    /// Seconds of production in one of the replay.
    pub compress: f64,
    pub count_cached: bool,
    pub intervals: Vec<ReplayInterval>,
    pub runs: Vec<ReplayRun>,
    pub notes: Vec<String>,
    /// The reason why the profile is no demand; then nothing is replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReplayRun {
    pub run: String,
    pub verdicts: Vec<Judged>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReplayInterval {
    #[serde(flatten)]
    pub slot: Slot,
    pub rate: u32,
    /// `None` if it was not replayed to its end.
    pub step: Option<HeadroomStep>,
    /// Latencies that exceed production's, within the limits or not.
    pub slower: Vec<String>,
    pub outcome: String,
}

impl ReplayResult {
    /// The run's schedule has a step for each interval from `first` on. Returns the number of intervals up to its last whole
    /// step.
    fn add(&mut self, record: &Record, first: usize) -> usize {
        let mut done = 0;
        self.measured.get_or_insert_with(|| Environment::of(record));
        let verdicts = verdicts(record).iter().map(Judged::from).collect();
        self.runs.push(ReplayRun { run: record.id.clone(), verdicts });
        let Some(schedule) = &record.workload.rate_per_s else { return done };
        let loads = OfferedLoad::steps(record);
        for (from_s, step) in steps(record) {
            let Some(nth) = schedule.spans().position(|(begin_s, ..)| begin_s == from_s) else { continue };
            let (Some(interval), Some(Some(load))) = (self.intervals.get_mut(first + nth), loads.get(nth))
            else {
                continue;
            };
            interval.step = Some(step_of(&step, interval.slot.share * self.multiply, load));
            done = first + nth + 1;
        }
        done
    }

    /// Default limits come from the interval's own production and the quietest interval here.
    fn judge(&mut self, asked: &[HeadroomLimit]) {
        let worked = self.intervals.iter().filter(|interval| interval.rate > 0);
        let quietest = worked.filter(|interval| interval.step.is_some()).min_by_key(|interval| interval.rate);
        let quietest = quietest.and_then(|interval| interval.step.clone());
        for ReplayInterval { slot, rate, step, slower, outcome } in &mut self.intervals {
            let (Some(production), Some(step)) = (&slot.production, step.as_mut()) else {
                *outcome =
                    if slot.production.is_none() { "nothing is known" } else { "not replayed" }.to_owned();
                continue;
            };
            let defaults = || HeadroomLimit::defaults(&production.figures, quietest.as_ref(), &[]);
            step.judge(&if asked.is_empty() { defaults() } else { asked.to_vec() });
            let compare = |(figure, verb): (Figure, &str)| {
                let [here, there] = [step.figures.get(figure)?, production.figures.get(figure)?];
                let is_cached = figure == Figure::ReadUs && slot.has_cached_reads();
                let is_slower = there > 0.0 && !is_cached && here > SLOWER * there;
                is_slower.then(|| format!("{verb} {} instead of {}", duration_us(here), duration_us(there)))
            };
            *slower = COMPARED.into_iter().filter_map(compare).collect();
            *outcome = match &step.broke {
                Some(broke) => broke.words(),
                None if *rate == 0 => "at rest".to_owned(),
                None if slower.is_empty() => "held".to_owned(),
                None => "held, slower".to_owned(),
            };
        }
    }

    pub fn replayed(&self) -> impl Iterator<Item = (&ReplayInterval, &HeadroomStep)> {
        let known = self.intervals.iter().filter(|interval| interval.slot.production.is_some());
        known.filter_map(|interval| Some((interval, interval.step.as_ref()?)))
    }

    /// BAD verdicts on the production that was to be replayed.
    pub fn bad(&self) -> impl Iterator<Item = &Judged> {
        self.intervals
            .iter()
            .filter_map(|interval| interval.slot.production.as_ref())
            .flat_map(|own| &own.bad)
    }

    pub fn broken(&self) -> impl Iterator<Item = &ReplayInterval> {
        self.replayed().filter(|(_, step)| step.broke.is_some()).map(|(interval, _)| interval)
    }

    pub fn of_production(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.slot.production.is_some()).count()
    }

    pub fn is_carried(&self) -> bool {
        self.replayed().count() == self.of_production()
            && self.broken().next().is_none()
            && self.unsound().is_none()
    }

    /// A run that missed its rate or was interrupted is part of the answer.
    pub fn unsound(&self) -> Option<String> {
        let counts = |verdict: &&Judged| match verdict.question {
            Question::Physical => !self.count_cached,
            question => question == Question::Accounted,
        };
        let refused = self.refused.as_ref().map(|why| format!("The demand is not known, because {why}."));
        refused.or_else(|| {
            self.runs.iter().find_map(|run| {
                let bad = run.verdicts.iter().filter(counts).find(|verdict| verdict.answer == Grade::Bad)?;
                let hint = if bad.question == Question::Physical {
                    " --count-cached counts them nevertheless."
                } else {
                    ""
                };
                Some(format!("{} is BAD in {}: {}{hint}", bad.question.title(), run.run, bad.sentence))
            })
        })
    }
}

fn step_of(step: &Record, factor: f64, load: &OfferedLoad) -> HeadroomStep {
    let of = Run::of(step);
    let (rate, done) = load.per_second();
    let mut own = figures(step);
    let seconds = step.window.map_or(0.0, |window| window.seconds);
    let busy: f64 = step.operations.values().map(|kind| kind.latency.sum() as f64 / 1e9).sum();
    own.set_known(Figure::DbTime, ratio(busy, seconds).filter(|_| total_operations(step) > 0));
    HeadroomStep {
        factor,
        run: step.id.clone(),
        rate: rate.round() as u32,
        sessions: step.workload.sessions(),
        kept_percent: 100.0 * load.share().unwrap_or(1.0),
        rate_kept: !load.is_missed(),
        figures: own,
        latencies: latencies(&of),
        leads: of.lead(),
        histograms: histograms(step),
        reason: format!("{} of {} operations/s were done", fixed(done, 1), fixed(rate, 1)),
        ..HeadroomStep::default()
    }
}

const RUN: &str = "replay";

pub trait Parts: Runs {
    fn parts(&self, name: &str) -> Vec<Record>;

    fn make(&self, name: &str, pairs: &[(&str, String)]) -> Result<Record, Self::Failure>;
}

pub struct Replayed<F> {
    pub calibrated: Calibrated,
    pub result: ReplayResult,
    pub ended: Result<(), F>,
}

/// Resumes where the runs so far end.
pub fn replay<R: Parts>(
    goal: &Goal,
    target: &Target,
    timetable: &Timetable,
    multiply: f64,
    options: &Options,
    runs: &R,
) -> Result<Replayed<R::Failure>, R::Failure> {
    let refused = goal.refusal(options);
    let calibrated = match refused {
        Some(_) => goal.uncalibrated(&target.limits),
        None => target.calibrate(goal, runs)?,
    };
    let parameters = calibrated.planned.parameters;
    let most = timetable.slots.iter().map(|slot| slot.share).fold(1.0, f64::max);
    let mix = parameters.times(most * multiply, &target.limits);
    let rates = timetable.rates(parameters.rate, multiply);
    let interval = |(slot, rate): (&Slot, &u32)| {
        let (slot, slower, outcome) = (slot.clone(), Vec::new(), String::new());
        ReplayInterval { slot, rate: *rate, step: None, slower, outcome }
    };
    let mut result = ReplayResult {
        measured: None,
        multiply,
        compress: timetable.compress,
        count_cached: options.count_cached,
        intervals: timetable.slots.iter().zip(&rates).map(interval).collect(),
        runs: Vec::new(),
        notes: timetable.notes.clone(),
        refused: refused.clone(),
    };
    let pairs = |first| timetable.pairs(target, &mix, &rates, first);
    let ended = if refused.is_none() { result.make_parts(runs, pairs) } else { Ok(()) };
    result.judge(&options.limits.iter().map(HeadroomLimit::from).collect::<Vec<_>>());
    Ok(Replayed { calibrated, result, ended })
}

impl ReplayResult {
    /// A part begins with the first interval that earlier parts did not finish.
    fn make_parts<R: Parts>(
        &mut self,
        runs: &R,
        pairs_from: impl Fn(usize) -> Result<(Pairs, u64), DemandError>,
    ) -> Result<(), R::Failure> {
        let all = self.intervals.len();
        // A schedule has two steps at least.
        let begin_after = |done: usize| done.min(all - 2);
        let mut done = 0;
        for part in runs.parts(RUN) {
            done = self.add(&part, begin_after(done)).max(done);
        }
        if done > 0 {
            runs.say(&format!("{done} of {all} intervals are taken from runs that were made before"));
        }
        if done == all {
            return Ok(());
        }
        let first = begin_after(done);
        let (pairs, seconds) = pairs_from(first)?;
        runs.say(&format!("{} of {all} intervals to replay, in {}", all - first, length(seconds as f64)));
        let made = runs.make(RUN, &pairs);
        let is_new = |part: &&Record| self.runs.iter().all(|run| run.run != part.id);
        if let Some(part) = runs.parts(RUN).last().filter(is_new) {
            self.add(part, first);
        }
        made.map(|_| ())
    }
}
