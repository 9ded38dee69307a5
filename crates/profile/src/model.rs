//! A profile, as it is saved.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use crate::figure::Figures;

/// The version of the file. Readers accept this and every older one.
pub const PROFILE_VERSION: u32 = 1;

/// A rate above this, per second, is no rate: a counter of 64 bits that wrapped, or one that was read wrongly.
pub(crate) const IMPOSSIBLE_PER_S: f64 = 1e14;
/// An interval of more than a century, in seconds.
const MOST_SECONDS: f64 = 4e9;

/// What a database did, interval by interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`PROFILE_VERSION`] of the release that wrote it.
    pub profile_version: u32,
    /// What it was made from.
    pub source: Source,
    /// The database.
    pub subject: Subject,
    /// In the order of their begins; those of several instances stand side by side.
    pub intervals: Vec<Interval>,
    /// What there was and is not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// What a profile was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// AWR and Statspack reports.
    #[default]
    Reports,
    /// A server's counters, as it went on.
    Live,
    /// Runs of this program.
    Runs,
    /// Profiles of several of these.
    Mixed,
}

/// A database.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// Its number, where it has one: names come again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The container, of a database within a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Product and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Bytes of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u32>,
    /// CPUs of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
}

impl Subject {
    /// Whether both are of the same database, whatever else is known of it.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.id, &self.container) == (&other.name, &other.id, &other.container)
    }

    /// Name and container in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.container {
            Some(container) => format!("{} ({container})", self.name),
            None => self.name.clone(),
        }
    }
}

/// What was done in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Where it comes from: a file, a run, a target.
    pub source: String,
    /// The instance, where it is of one among several; absent if it is of the whole database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// When it began, by the source's clock.
    pub begin: DateTime,
    /// How long it was.
    pub seconds: f64,
    /// What is known of it.
    pub figures: Figures,
    /// How long waits took, where the source says.
    #[serde(default, skip_serializing_if = "Histograms::is_empty")]
    pub histograms: Histograms,
}

impl Interval {
    /// When it ended.
    #[must_use]
    pub fn end(&self) -> DateTime {
        let length = SignedDuration::try_from_secs_f64(self.seconds).unwrap_or_default();
        self.begin.saturating_add(length)
    }

    /// Whether it could come from a source: what is saved was looked at when it was made.
    fn sound(&self) -> Result<(), String> {
        let place = format!("the interval of {} from {}", self.begin, self.source);
        if !(self.seconds > 0.0 && self.seconds <= MOST_SECONDS) {
            return Err(format!("{place} is {} s long", self.seconds));
        }
        let is_possible = |value: f64| (0.0..IMPOSSIBLE_PER_S).contains(&value);
        if let Some((figure, value)) = self.figures.iter().find(|(_, value)| !is_possible(*value)) {
            return Err(format!("{place} has {value} as {}", figure.name()));
        }
        let is_bucket = |bucket: &Bucket| {
            let ends = bucket.to_us.is_none_or(|to_us| is_possible(to_us) && to_us >= bucket.from_us);
            ends && is_possible(bucket.from_us) && is_possible(bucket.waits)
        };
        match self.histograms.iter().find(|(_, buckets)| !buckets.iter().all(is_bucket)) {
            Some((name, _)) => Err(format!("{place} has a histogram of '{name}' with impossible buckets")),
            None => Ok(()),
        }
    }

    /// The moment in its middle: what hour and day it counts for.
    #[must_use]
    pub fn middle(&self) -> DateTime {
        let half = SignedDuration::try_from_secs_f64(self.seconds / 2.0).unwrap_or_default();
        self.begin.saturating_add(half)
    }
}

/// Waits by their duration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// From so many microseconds.
    pub from_us: f64,
    /// Up to so many; absent where it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_us: Option<f64>,
    /// How many, or what share in percent: only their proportion counts.
    pub waits: f64,
}

/// Histograms by what they are of: `read` of one block, `commit` of waits for the log.
pub type Histograms = BTreeMap<String, Vec<Bucket>>;

/// Something that is not among the intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Where it came from.
    pub source: String,
    /// When it began, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<DateTime>,
    /// Why.
    pub why: String,
}

/// A time that no interval is of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// From here.
    pub from: DateTime,
    /// To here.
    pub to: DateTime,
}

/// Why a file is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// It is no JSON of this kind.
    #[error("this is no profile: {0}; `slob profile` writes them")]
    Json(#[from] serde_json::Error),
    /// It is of a later release.
    #[error(
        "this profile has version {found}, this release knows up to {PROFILE_VERSION}: use a later release"
    )]
    Version {
        /// What it says.
        found: u32,
    },
    /// Somebody changed it.
    #[error("this profile holds what no source tells: {0}; make it again with `slob profile`")]
    Unsound(String),
    /// It holds nothing.
    #[error("this profile holds no interval")]
    Empty,
}

impl Profile {
    /// Reads a saved profile. Intervals that overlap, which nobody but an editor put there, are left out as they are when one is
    /// made.
    ///
    /// # Errors
    /// If it is none, is of a later version, holds no interval, or one that no source could tell.
    pub fn read(text: &[u8]) -> Result<Self, ProfileError> {
        #[derive(Deserialize)]
        struct Head {
            profile_version: u32,
        }
        let head: Head = serde_json::from_slice(text)?;
        if head.profile_version > PROFILE_VERSION {
            return Err(ProfileError::Version { found: head.profile_version });
        }
        let mut profile: Self = serde_json::from_slice(text)?;
        if profile.intervals.is_empty() {
            return Err(ProfileError::Empty);
        }
        profile.intervals.iter().try_for_each(Interval::sound).map_err(ProfileError::Unsound)?;
        profile.order();
        Ok(profile)
    }

    /// The instances that its intervals are of, by name; none where all are of the whole database.
    #[must_use]
    pub fn instances(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.intervals.iter().filter_map(|interval| interval.instance.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The same of one instance alone; of all that is not told apart if there is none of that name.
    #[must_use]
    pub fn of_instance(&self, instance: &str) -> Self {
        let own = |interval: &&Interval| interval.instance.as_deref() == Some(instance);
        Self { intervals: self.intervals.iter().filter(own).cloned().collect(), ..self.clone() }
    }
}
