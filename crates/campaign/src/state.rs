//! How far a campaign is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::schedule::{Schedule, Step};

/// The version of the file.
pub(crate) const STATE_VERSION: u32 = 1;

/// What was done, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Version of this file.
    pub version: u32,
    /// Variants whose `prepare` is done.
    pub prepared: Vec<String>,
    /// The step that is being made, written before it begins.
    pub running: Option<Running>,
    /// Every attempt at a step.
    pub attempts: Vec<Attempt>,
    /// Hooks that failed.
    pub hook_failures: Vec<HookFailure>,
    /// Attempts at steps that an amended plan no longer has.
    pub superseded: Vec<Attempt>,
}

/// A step that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Its key.
    pub step: String,
    /// RUN_NAME.
    pub run_name: String,
    /// Since when.
    pub since: Timestamp,
}

/// One attempt at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The step's key.
    pub step: String,
    /// The step's cell.
    pub cell: String,
    /// The id of its run, which is the name of its folder; absent where nothing was measured.
    pub run: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// When it began.
    pub began: Timestamp,
    /// How long it took, hooks included; absent where the program was not there to see its end.
    pub seconds: Option<f64>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    /// As planned.
    Completed,
    /// By an error.
    Failed {
        /// Which.
        error: String,
    },
    /// By the user.
    Interrupted,
    /// By the end of the program or of the machine, without a record.
    Killed,
}

/// A hook that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookFailure {
    /// The variant.
    pub variant: String,
    /// Which hook.
    pub hook: String,
    /// What was wrong.
    pub error: String,
    /// When.
    pub at: Timestamp,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    Done,
    /// It failed as often as the plan allows.
    GivenUp,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            version: STATE_VERSION,
            prepared: Vec::new(),
            running: None,
            attempts: Vec::new(),
            hook_failures: Vec::new(),
            superseded: Vec::new(),
        }
    }

    /// Attempts at a step.
    pub fn attempts_at<'a>(&'a self, step: &Step) -> impl Iterator<Item = &'a Attempt> + use<'a> {
        let key = step.key();
        self.attempts.iter().filter(move |attempt| attempt.step == key)
    }

    /// What the user stopped, and what was killed, does not count against a step.
    pub(crate) fn standing(&self, step: &Step, retries: u32) -> Standing {
        let mut failed = 0;
        for attempt in self.attempts_at(step) {
            match attempt.ended {
                Ended::Completed => return Standing::Done,
                Ended::Failed { .. } => failed += 1,
                Ended::Interrupted | Ended::Killed => {}
            }
        }
        if failed > retries { Standing::GivenUp } else { Standing::Open }
    }

    /// The run that stands for a step, by its id.
    #[must_use]
    pub fn completed_run(&self, step: &Step) -> Option<&str> {
        let completed = self.attempts_at(step).find(|attempt| attempt.ended == Ended::Completed)?;
        completed.run.as_deref()
    }

    /// Keeps the attempts at steps whose cell, and what their variant does before a run, is as it was; the others are set
    /// aside, and a variant of which any of that changed is to be prepared again.
    pub(crate) fn amend(&mut self, old: &Schedule, new: &Schedule) {
        let keys: Vec<String> = new.steps.iter().map(Step::key).collect();
        let same = |attempt: &Attempt| {
            let cell = &attempt.cell;
            let variant = cell.split('/').next().unwrap_or_default();
            keys.contains(&attempt.step)
                && old.cells.get(cell).is_some_and(|there| new.cells.get(cell) == Some(there))
                && old.before_runs(variant) == new.before_runs(variant)
        };
        let (kept, set_aside) = self.attempts.drain(..).partition(same);
        self.attempts = kept;
        self.superseded.extend::<Vec<Attempt>>(set_aside);
        self.prepared.retain(|variant| {
            old.before_runs(variant) == new.before_runs(variant)
                && old.cells_of(variant).all(|(name, cell)| new.cells.get(name).is_none_or(|now| now == cell))
        });
    }
}
