//! Carrying out a campaign: one step after the other, until all are done, given up, or the user stops.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jiff::Timestamp;
use slob_record::Status;
use slob_spec::Settings;

use crate::build::Campaign;
use crate::error::CampaignError;
use crate::hook::{HookError, Moment};
use crate::schedule::Step;
use crate::state::{Attempt, Ended, HookFailure, Standing};
use crate::store::{Store, ended_of};

/// Who knows how to measure, and hears what happens.
pub trait Conductor {
    /// Makes a run and keeps its record where the settings say.
    ///
    /// # Errors
    /// If there is no record: nothing was measured.
    fn measure(&mut self, settings: &Settings) -> Result<Kept, RunFailure>;

    /// Something happened.
    fn on_event(&mut self, event: &Event<'_>);
}

/// A run that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id: the name of its folder.
    pub id: String,
    /// How it ended.
    pub status: Status,
}

/// Why there is no record of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// It failed or was refused before it began.
    Failed(String),
    /// The user stopped it before it began.
    Interrupted,
}

/// What happens in a campaign.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A hook is called.
    Hook {
        /// The variant.
        variant: &'a str,
        /// Which.
        moment: Moment,
    },
    /// A run to throw away begins.
    WarmUp {
        /// The step it comes before.
        step: &'a Step,
        /// Which of them, from 1.
        number: u32,
        /// Of how many.
        of: u32,
    },
    /// A step begins.
    Begins {
        /// The step.
        step: &'a Step,
        /// How far the campaign is.
        progress: Progress,
    },
    /// A step has ended.
    Ended {
        /// The step.
        step: &'a Step,
        /// How.
        attempt: &'a Attempt,
    },
    /// A variant is left out from here on, until the campaign is started again.
    VariantStopped {
        /// The variant.
        variant: &'a str,
        /// Why.
        error: &'a str,
    },
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps that are done.
    pub done: usize,
    /// All of them.
    pub of: usize,
    /// Seconds until the end, from what the steps until now took beyond their own time; absent where operations end a
    /// run, and no run has been made yet.
    pub left_s: Option<f64>,
}

/// How a campaign ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// Steps that are done.
    pub done: usize,
    /// Keys of those that failed as often as the plan allows.
    pub given_up: Vec<String>,
    /// Variants that were stopped, with what was wrong.
    pub stopped: BTreeMap<String, String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

impl End {
    /// Whether every step is done.
    #[must_use]
    pub fn is_complete(&self, campaign: &Campaign) -> bool {
        self.done == campaign.schedule.steps.len()
    }
}

/// Makes every run that is not done yet. What is done is on disk after each of them: whenever this ends, by whatever
/// cause, the same call goes on with the next run. With `retry_failed`, steps that were given up get new attempts.
///
/// # Errors
/// If the campaign's own files can't be written. A run or hook that fails is no error here, but part of [`End`].
pub fn carry_out(
    campaign: &Campaign,
    store: &mut Store,
    conductor: &mut dyn Conductor,
    stop: &AtomicBool,
    retry_failed: bool,
) -> Result<End, CampaignError> {
    let forgiven = if retry_failed { failures(store) } else { BTreeMap::new() };
    let mut work = Work {
        campaign,
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

/// How often each step has failed until now.
fn failures(store: &Store) -> BTreeMap<String, u32> {
    let mut failures = BTreeMap::new();
    for attempt in store.state.attempts.iter().filter(|one| matches!(one.ended, Ended::Failed { .. })) {
        *failures.entry(attempt.step.clone()).or_insert(0) += 1;
    }
    failures
}

struct Work<'a> {
    campaign: &'a Campaign,
    store: &'a mut Store,
    conductor: &'a mut dyn Conductor,
    stop: &'a AtomicBool,
    forgiven: BTreeMap<String, u32>,
    stopped: BTreeMap<String, String>,
    /// The variant that the system is switched to.
    at: Option<String>,
    pace: Pace,
}

/// Why work on a step ends early.
enum Cut {
    /// The variant can't go on.
    Variant(String),
    /// The user stopped.
    Stopped,
    /// The campaign's files can't be written.
    Files(CampaignError),
}

impl From<CampaignError> for Cut {
    fn from(error: CampaignError) -> Self {
        Self::Files(error)
    }
}

impl Work<'_> {
    fn all(&mut self) -> Result<(), CampaignError> {
        for step in &self.campaign.schedule.steps {
            while !self.stop.load(Ordering::Relaxed)
                && self.standing(step) == Standing::Open
                && !self.stopped.contains_key(&step.variant)
            {
                match self.step(step) {
                    Ok(()) => {}
                    Err(Cut::Stopped) => return Ok(()),
                    Err(Cut::Files(error)) => return Err(error),
                    Err(Cut::Variant(error)) => {
                        self.conductor
                            .on_event(&Event::VariantStopped { variant: &step.variant, error: &error });
                        self.stopped.insert(step.variant.clone(), error);
                        // Whatever state it is in, it is not that of a variant that was switched to.
                        self.at = None;
                    }
                }
            }
        }
        Ok(())
    }

    fn standing(&self, step: &Step) -> Standing {
        let forgiven = self.forgiven.get(&step.key()).copied().unwrap_or(0);
        self.store.state.standing(step, self.campaign.plan.retries.saturating_add(forgiven))
    }

    /// One attempt at a step.
    fn step(&mut self, step: &Step) -> Result<(), Cut> {
        let begun = Instant::now();
        self.switch(step)?;
        let progress = self.progress();
        self.conductor.on_event(&Event::Begins { step, progress });
        self.hook(step, Moment::BeforeRun)?;
        self.store.begin(step)?;
        let began = Timestamp::now();
        let settings = self.campaign.settings(step, self.store.directory());
        let (run, ended) = match settings.map_err(|error| RunFailure::Failed(error.to_string())) {
            Ok(settings) => outcome(self.conductor.measure(&settings)),
            Err(failure) => outcome(Err(failure)),
        };
        let seconds = begun.elapsed().as_secs_f64();
        let attempt =
            Attempt { step: step.key(), cell: step.cell(), run, ended, began, seconds: Some(seconds) };
        self.store.end(attempt.clone())?;
        self.pace.add(self.campaign.planned(step).map(|planned| planned.as_secs_f64()), seconds);
        self.conductor.on_event(&Event::Ended { step, attempt: &attempt });
        self.hook(step, Moment::AfterRun)?;
        if attempt.ended == Ended::Interrupted { Err(Cut::Stopped) } else { Ok(()) }
    }

    /// Brings the system to the step's variant.
    fn switch(&mut self, step: &Step) -> Result<(), Cut> {
        if self.at.as_deref() == Some(step.variant.as_str()) {
            return Ok(());
        }
        let variant = self.campaign.plan.variant(&step.variant);
        // A twin is the same thing as its original, and so prepared with it.
        let same_as =
            variant.and_then(|variant| variant.twin_of.clone()).unwrap_or_else(|| step.variant.clone());
        if !self.store.state.prepared.contains(&same_as) {
            self.hook(step, Moment::Prepare)?;
            self.store.state.prepared.push(same_as);
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
        let settings = self.campaign.warm_up_settings(step, self.store.directory());
        let settings = settings.map_err(|error| Cut::Variant(error.to_string()))?;
        match outcome(self.conductor.measure(&settings)).1 {
            Ended::Completed => self.hook(step, Moment::AfterRun),
            Ended::Failed { error } => Err(Cut::Variant(format!("a run to discard failed: {error}"))),
            Ended::Interrupted | Ended::Killed => Err(Cut::Stopped),
        }
    }

    fn hook(&mut self, step: &Step, moment: Moment) -> Result<(), Cut> {
        let campaign = self.campaign;
        let hook = campaign.plan.variant(&step.variant).and_then(|variant| variant.hooks.of(moment));
        let Some(hook) = hook else { return Ok(()) };
        self.conductor.on_event(&Event::Hook { variant: &step.variant, moment });
        // Not SLOB_..., which would name parameters to a program of ours that the hook calls.
        let environment = [
            ("CAMPAIGN_DIRECTORY", self.store.directory().display().to_string()),
            ("CAMPAIGN_VARIANT", step.variant.clone()),
            ("CAMPAIGN_MODEL", step.model.clone()),
            (
                "CAMPAIGN_SESSIONS",
                step.sessions.map(|sessions| sessions.total().to_string()).unwrap_or_default(),
            ),
            ("CAMPAIGN_REPEAT", step.repeat.to_string()),
        ];
        // What puts the system back as it was is needed most where a run was stopped: it ends by itself, or by its timeout.
        let never = AtomicBool::new(false);
        let stop = if moment == Moment::AfterRun { &never } else { self.stop };
        match hook.call(&environment, stop) {
            Ok(()) => Ok(()),
            Err(HookError::Stopped) => Err(Cut::Stopped),
            Err(error) => {
                let text = format!("its hook {moment} `{}` {error}", hook.command);
                let failure = HookFailure {
                    variant: step.variant.clone(),
                    hook: moment.to_string(),
                    error: error.to_string(),
                    at: Timestamp::now(),
                };
                self.store.state.hook_failures.push(failure);
                self.store.save()?;
                Err(Cut::Variant(text))
            }
        }
    }

    fn progress(&self) -> Progress {
        let steps = &self.campaign.schedule.steps;
        let open: Vec<&Step> = steps
            .iter()
            .filter(|step| self.standing(step) == Standing::Open && !self.stopped.contains_key(&step.variant))
            .collect();
        let planned = self.campaign.planned_time(open.iter().copied()).map(|planned| planned.as_secs_f64());
        Progress {
            done: steps.iter().filter(|step| self.standing(step) == Standing::Done).count(),
            of: steps.len(),
            left_s: self.pace.left(planned, open.len()),
        }
    }

    fn end(self) -> End {
        let steps = &self.campaign.schedule.steps;
        let given_up = steps.iter().filter(|step| self.standing(step) == Standing::GivenUp);
        End {
            done: steps.iter().filter(|step| self.standing(step) == Standing::Done).count(),
            given_up: given_up.map(Step::key).collect(),
            interrupted: self.stop.load(Ordering::Relaxed),
            stopped: self.stopped,
        }
    }
}

fn outcome(measured: Result<Kept, RunFailure>) -> (Option<String>, Ended) {
    match measured {
        Ok(kept) => (Some(kept.id), ended_of(&kept.status)),
        Err(RunFailure::Failed(error)) => (None, Ended::Failed { error }),
        Err(RunFailure::Interrupted) => (None, Ended::Interrupted),
    }
}

/// What steps take beyond their planned time, from those made by this call.
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

    /// Seconds left. Runs to throw away are part of the planned time and of what steps took: those of the steps made
    /// so far count as 'beyond', so an estimate errs to the long side.
    fn left(&self, planned_s: Option<f64>, steps: usize) -> Option<f64> {
        let each = |total: f64| (self.steps > 0).then(|| total / f64::from(self.steps));
        match planned_s {
            Some(planned) => Some(planned + each(self.beyond_s).unwrap_or(0.0) * steps as f64),
            None => each(self.taken_s).map(|each| each * steps as f64),
        }
    }
}
