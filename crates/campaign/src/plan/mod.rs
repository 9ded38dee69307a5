//! What a campaign is asked to do.

mod check;
mod demand;
mod keys;
mod raw;
#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::demand::Demand;
use crate::error::{PlanError, PlanErrors};
use crate::hook::{Hook, Moment};
use crate::order::Order;

/// Parameters and their texts.
pub(crate) type Pairs = Vec<(String, String)>;

/// A plan whose parts are each sound, and whose names lead somewhere. Whether every run of it can be made is for
/// [`Campaign::build`](crate::Campaign::build) to see.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The file it was read from.
    pub file: String,
    /// The campaign's name.
    pub name: String,
    /// The directory that receives it, if the plan names one.
    pub directory: Option<PathBuf>,
    /// In which order the runs are made.
    pub order: Order,
    /// What decides that order.
    pub seed: u64,
    /// Runs of each cell: variant, model, sessions.
    pub repeats: NonZeroU32,
    /// Runs to throw away after each switch to a variant.
    pub warmup_runs: u32,
    /// How often a run that failed is made again.
    pub retries: u32,
    /// The variant that others are compared with.
    pub baseline: String,
    /// Parameters of all runs.
    pub(crate) settings: Pairs,
    /// What is compared; the twin of an A/A pair is among them.
    pub variants: Vec<Variant>,
    /// What is searched for in each step, where steps are searches for headroom and no runs.
    pub demand: Option<Demand>,
    /// What is done to each.
    pub models: Vec<Model>,
    /// With how many sessions; empty where searches decide them.
    pub sessions: Vec<Sessions>,
}

/// One of the things that are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The variant that this one is the same as, under another name: together they are an A/A pair.
    pub twin_of: Option<String>,
    pub(crate) settings: Pairs,
    /// How to switch to it.
    pub hooks: Hooks,
}

/// The user's own commands around a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hooks {
    /// Once in the campaign, before the variant's first run.
    pub prepare: Option<Hook>,
    /// At each switch to the variant.
    pub bounce: Option<Hook>,
    /// Before each run.
    pub before_run: Option<Hook>,
    /// After each run, even one that failed.
    pub after_run: Option<Hook>,
}

impl Hooks {
    /// The hook of a moment.
    #[must_use]
    pub fn of(&self, moment: Moment) -> Option<&Hook> {
        match moment {
            Moment::Prepare => self.prepare.as_ref(),
            Moment::Bounce => self.bounce.as_ref(),
            Moment::BeforeRun => self.before_run.as_ref(),
            Moment::AfterRun => self.after_run.as_ref(),
        }
    }
}

/// A kind of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The figure that its tables show: `reads`, `redo`, `writes`, `read-write`, or a column of `slob info`.
    pub metric: String,
    pub(crate) settings: Pairs,
}

/// A number of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sessions {
    /// Schemas.
    pub schemas: NonZeroU32,
    /// Sessions of each.
    pub threads: NonZeroU32,
}

impl Sessions {
    /// Sessions altogether.
    #[must_use]
    pub fn total(self) -> u32 {
        self.schemas.get().saturating_mul(self.threads.get())
    }
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.schemas, self.threads)
    }
}

impl Plan {
    /// Reads a plan. `file` is its name in messages.
    ///
    /// # Errors
    /// All that is wrong, at once: no TOML, unknown keys (with the likely one), bad values, names that lead nowhere.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlanErrors> {
        let toml = |error: toml::de::Error| PlanError::Toml { file: file.into(), message: error.to_string() };
        let table: toml::Table = text.parse().map_err(toml)?;
        PlanErrors::check(keys::unknown(&table, file))?;
        let raw: raw::RawPlan = toml::from_str(text).map_err(toml)?;
        check::checked(file, raw)
    }

    /// A variant by its name.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }
}
