//! Carries out a campaign step by step until all steps are done or given up, or the user stops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::hook::{HookError, Moment};
use crate::schedule::{Campaign, Member, Step};
use crate::store::{Attempt, CampaignError, Ended, HookFailure, Slot, StepState, Store, WARM_UP_FOLDER};

pub trait Conductor {
    /// Makes all runs of a step at once and saves each record where its settings say. Returns an id if anything was measured.
    fn measure(&mut self, step: &Step, members: &[Member]) -> (Option<String>, Ended);

    fn on_event(&mut self, event: &Event<'_>);
}

/// An event of a campaign. [`Event::Waits`]: the next run waits for its slot.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Waits { step: &'a Step, slot: Slot },
    Hook { variant: &'a str, moment: Moment },
    WarmUp { step: &'a Step, number: u32, of: u32 },
    Begins { step: &'a Step, progress: Progress },
    Ended { step: &'a Step, attempt: &'a Attempt },
    VariantStopped { variant: &'a str, error: &'a str },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
    /// The overhead of the steps so far decides; `None` while that is unknown.
    pub left_s: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub done: usize,
    pub given_up: Vec<String>,
    pub missed: usize,
    pub stopped: BTreeMap<String, String>,
    pub interrupted: bool,
}

/// Saves the state after each run: after a kill the same call resumes with the next run. `retry_failed` gives failed steps new
/// attempts.
/// Fails if the campaign's own files can't be written; a failed run or hook is part of [`End`].
pub fn carry_out(
    campaign: &Campaign,
    store: &mut Store,
    conductor: &mut dyn Conductor,
    stop: &AtomicBool,
    retry_failed: bool,
) -> Result<End, CampaignError> {
    let state = &mut store.folder.state;
    let mut forgiven = BTreeMap::new();
    let is_failed = |attempt: &&Attempt| retry_failed && matches!(attempt.ended, Ended::Failed { .. });
    for attempt in state.attempts.iter().filter(is_failed) {
        *forgiven.entry(attempt.step.clone()).or_insert(0) += 1;
    }
    let began = Timestamp::now();
    if campaign.schedule.every_s.is_some() && state.first_slot.is_none() {
        state.first_slot = Some(began);
        store.save()?;
    }
    let mut work = Work {
        campaign,
        began,
        store,
        conductor,
        stop,
        forgiven,
        stopped: BTreeMap::new(),
        at: None,
        pace: Pace::default(),
    };
    work.all()?;
    Ok(work.end())
}

struct Work<'a> {
    campaign: &'a Campaign,
    began: Timestamp,
    store: &'a mut Store,
    conductor: &'a mut dyn Conductor,
    stop: &'a AtomicBool,
    forgiven: BTreeMap<String, u32>,
    stopped: BTreeMap<String, String>,
    at: Option<String>,
    pace: Pace,
}

#[derive(derive_more::From)]
enum Cut {
    Variant(String),
    Stopped,
    #[from]
    Files(CampaignError),
}

impl Work<'_> {
    fn all(&mut self) -> Result<(), CampaignError> {
        for step in &self.campaign.schedule.steps {
            while !self.stop.load(Ordering::Relaxed) && self.is_open(step) && self.reaches_slot(step)? {
                match self.step(step) {
                    Ok(()) => {}
                    Err(Cut::Stopped) => return Ok(()),
                    Err(Cut::Files(error)) => return Err(error),
                    Err(Cut::Variant(error)) => {
                        self.conductor
                            .on_event(&Event::VariantStopped { variant: &step.variant, error: &error });
                        self.stopped.insert(step.variant.clone(), error);
                        // The system is in no variant's state now.
                        self.at = None;
                    }
                }
            }
        }
        Ok(())
    }

    /// False if the slot has passed, which is noted, or if the user stops.
    fn reaches_slot(&mut self, step: &Step) -> Result<bool, CampaignError> {
        const POLL: Duration = Duration::from_millis(50);
        let Some(slot) = self.store.folder.slot(step) else { return Ok(true) };
        if Timestamp::now() >= slot.end {
            let state = &self.store.folder.state;
            let why = match slot.end > self.began && state.attempts_at(step).next().is_none() {
                true => "the runs before it took too long".to_owned(),
                false => state.why_missed(step),
            };
            let (ended, began, cell) = (Ended::Missed { why }, slot.begin, step.cell());
            let attempt = Attempt { step: step.key(), cell, run: None, ended, began, seconds: None };
            self.store.end(attempt.clone())?;
            self.conductor.on_event(&Event::Ended { step, attempt: &attempt });
            return Ok(false);
        }
        if Timestamp::now() < slot.begin {
            self.conductor.on_event(&Event::Waits { step, slot });
        }
        while Timestamp::now() < slot.begin && !self.stop.load(Ordering::Relaxed) {
            thread::sleep(POLL);
        }
        Ok(!self.stop.load(Ordering::Relaxed))
    }

    fn state_of(&self, step: &Step) -> StepState {
        let forgiven = self.forgiven.get(&step.key()).copied().unwrap_or(0);
        self.store.folder.state.of(step, self.campaign.plan.retries.saturating_add(forgiven))
    }

    fn is_open(&self, step: &Step) -> bool {
        self.state_of(step) == StepState::Open && !self.stopped.contains_key(&step.variant)
    }

    fn step(&mut self, step: &Step) -> Result<(), Cut> {
        let begun = Instant::now();
        self.switch(step)?;
        let progress = self.progress();
        self.conductor.on_event(&Event::Begins { step, progress });
        self.hook(step, Moment::BeforeRun)?;
        self.store.begin(step)?;
        let began = Timestamp::now();
        let (run, ended) = match self.campaign.members(step, &self.store.folder.path) {
            Ok(members) => self.conductor.measure(step, &members),
            Err(error) => (None, Ended::Failed { error: error.to_string() }),
        };
        let (seconds, cell) = (begun.elapsed().as_secs_f64(), step.cell());
        let attempt = Attempt { step: step.key(), cell, run, ended, began, seconds: Some(seconds) };
        self.store.end(attempt.clone())?;
        self.pace.add(self.campaign.planned(step).map(|planned| planned.as_secs_f64()), seconds);
        self.conductor.on_event(&Event::Ended { step, attempt: &attempt });
        self.hook(step, Moment::AfterRun)?;
        if attempt.ended == Ended::Interrupted { Err(Cut::Stopped) } else { Ok(()) }
    }

    fn switch(&mut self, step: &Step) -> Result<(), Cut> {
        if self.at.as_deref() == Some(step.variant.as_str()) {
            return Ok(());
        }
        // A twin is prepared with its original.
        let original = self.campaign.plan.variant(&step.variant).and_then(|variant| variant.twin_of.clone());
        let same_as = original.unwrap_or_else(|| step.variant.clone());
        if !self.store.folder.state.prepared.contains(&same_as) {
            self.hook(step, Moment::Prepare)?;
            self.store.folder.state.prepared.push(same_as);
            self.store.save()?;
        }
        self.hook(step, Moment::Bounce)?;
        let of = self.campaign.plan.warmup_runs;
        for number in 1..=of {
            self.conductor.on_event(&Event::WarmUp { step, number, of });
            self.warm_up(step)?;
        }
        self.at = Some(step.variant.clone());
        Ok(())
    }

    fn warm_up(&mut self, step: &Step) -> Result<(), Cut> {
        self.hook(step, Moment::BeforeRun)?;
        let members = self.campaign.members(step, &self.store.folder.path.join(WARM_UP_FOLDER));
        let members = members.map_err(|error| Cut::Variant(error.to_string()))?;
        match self.conductor.measure(step, &members).1 {
            Ended::Completed => self.hook(step, Moment::AfterRun),
            Ended::Failed { error } => Err(Cut::Variant(format!("a run to discard failed: {error}"))),
            Ended::Interrupted | Ended::Killed | Ended::Missed { .. } => Err(Cut::Stopped),
        }
    }

    fn hook(&mut self, step: &Step, moment: Moment) -> Result<(), Cut> {
        let campaign = self.campaign;
        let hook = campaign.plan.variant(&step.variant).and_then(|variant| variant.hooks.get(&moment));
        let Some(hook) = hook else { return Ok(()) };
        self.conductor.on_event(&Event::Hook { variant: &step.variant, moment });
        let sessions = step.sessions.map(|sessions| sessions.total().to_string());
        // SLOB_... would set parameters of a `slob` that the hook calls.
        let environment = [
            ("CAMPAIGN_DIRECTORY", self.store.folder.path.display().to_string()),
            ("CAMPAIGN_VARIANT", step.variant.clone()),
            ("CAMPAIGN_MODEL", step.model.clone()),
            ("CAMPAIGN_SESSIONS", sessions.unwrap_or_default()),
            ("CAMPAIGN_REPEAT", step.repeat.to_string()),
        ];
        // The hook that restores the system runs to its end or timeout even after an interruption.
        let never = AtomicBool::new(false);
        let stop = if moment == Moment::AfterRun { &never } else { self.stop };
        match hook.call(&environment, stop) {
            Ok(()) => Ok(()),
            Err(HookError::Stopped) => Err(Cut::Stopped),
            Err(error) => {
                let text = format!("its hook {moment} `{}` {error}", hook.command);
                let (hook, variant) = (moment.to_string(), step.variant.clone());
                let failure = HookFailure { variant, hook, error: error.to_string(), at: Timestamp::now() };
                self.store.folder.state.hook_failures.push(failure);
                self.store.save()?;
                Err(Cut::Variant(text))
            }
        }
    }

    fn progress(&self) -> Progress {
        let steps = &self.campaign.schedule.steps;
        let open: Vec<&Step> = steps.iter().filter(|step| self.is_open(step)).collect();
        let planned = self.campaign.planned_time(open.iter().copied()).map(|planned| planned.as_secs_f64());
        Progress {
            done: steps.iter().filter(|step| self.state_of(step) == StepState::Done).count(),
            of: steps.len(),
            left_s: match open.last().and_then(|last| self.store.folder.slot(last)) {
                Some(last) => Some(last.begin.duration_since(Timestamp::now()).as_secs_f64().max(0.0)),
                None => self.pace.left(planned, open.len()),
            },
        }
    }

    fn end(self) -> End {
        let steps = &self.campaign.schedule.steps;
        let given_up = steps.iter().filter(|step| self.state_of(step) == StepState::GivenUp);
        End {
            done: steps.iter().filter(|step| self.state_of(step) == StepState::Done).count(),
            given_up: given_up.map(Step::key).collect(),
            missed: steps.iter().filter(|step| self.state_of(step) == StepState::Missed).count(),
            interrupted: self.stop.load(Ordering::Relaxed),
            stopped: self.stopped,
        }
    }
}

#[derive(Debug, Default)]
struct Pace {
    steps: u32,
    beyond_s: f64,
    taken_s: f64,
}

impl Pace {
    fn add(&mut self, planned_s: Option<f64>, taken_s: f64) {
        self.steps += 1;
        self.taken_s += taken_s;
        self.beyond_s += (taken_s - planned_s.unwrap_or(0.0)).max(0.0);
    }

    /// Counts discarded runs in the planned time and in the overhead: the estimate errs to the long side.
    fn left(&self, planned_s: Option<f64>, steps: usize) -> Option<f64> {
        let each = |total: f64| (self.steps > 0).then(|| total / f64::from(self.steps));
        match planned_s {
            Some(planned) => Some(planned + each(self.beyond_s).unwrap_or(0.0) * steps as f64),
            None => each(self.taken_s).map(|each| each * steps as f64),
        }
    }
}
