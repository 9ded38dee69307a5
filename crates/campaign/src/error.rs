//! What can be wrong with a plan, and with a campaign that is carried out.

use std::fmt;
use std::io;
use std::path::PathBuf;

use slob_spec::SpecErrors;

/// One thing that is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is no TOML, or a value has the wrong type.
    #[error("{file}: {message}")]
    Toml {
        /// The plan's file.
        file: String,
        /// What the parser says, with line and column.
        message: String,
    },
    /// A key that means nothing.
    #[error("{place}: there is no key '{key}'{}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        /// Where it stands.
        place: String,
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// A value is not permitted.
    #[error("{place}: {key} is {value}; it must be {permitted}")]
    Value {
        /// Where it stands.
        place: String,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What is permitted.
        permitted: String,
    },
    /// Something that must be there is not.
    #[error("{place}: {what}")]
    Missing {
        /// Where.
        place: String,
        /// What is missing, and how to say it.
        what: String,
    },
    /// Two of a kind have the same name.
    #[error("the plan has two {kind}s called '{name}'; give one of them another name")]
    Twice {
        /// What they are.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name that leads nowhere.
    #[error("{place}: there is no {kind} '{name}'; there are {known}")]
    UnknownName {
        /// Where it stands.
        place: String,
        /// What was meant.
        kind: &'static str,
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// It comes to more runs than anybody makes.
    #[error(
        "{place}: variants x models x sessions x repeats come to {runs} runs; at most {most} are possible. Lower `repeats`, or make \
         several plans."
    )]
    TooMany {
        /// The plan's file.
        place: String,
        /// Its runs.
        runs: u64,
        /// The most.
        most: u64,
    },
    /// A parameter that the campaign itself decides.
    #[error("{place}: {key} is decided by the campaign ({instead}); take it out of the settings")]
    Decided {
        /// Where it stands.
        place: String,
        /// The parameter.
        key: String,
        /// By what.
        instead: &'static str,
    },
    /// A key of runs, where each step is a search for headroom.
    #[error("{place}: `{key}` and `demand` contradict each other: {why}; take one of them out")]
    Contradiction {
        /// The plan's file.
        place: String,
        /// The key.
        key: &'static str,
        /// Why they do.
        why: &'static str,
    },
    /// Two parts of the plan claim the same parameter.
    #[error("{key} is set by variant '{variant}' and by model '{model}'; take it out of one of them")]
    Contested {
        /// The parameter.
        key: String,
        /// The variant.
        variant: String,
        /// The model.
        model: String,
    },
    /// A run of the plan would be refused.
    #[error("{place}: {errors}")]
    Run {
        /// Which part of the plan.
        place: String,
        /// What is wrong.
        errors: SpecErrors,
    },
}

/// Everything that is wrong with a plan, one or more.
#[derive(Debug)]
pub struct PlanErrors(Vec<PlanError>);

impl PlanErrors {
    pub(crate) fn check(errors: Vec<PlanError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// All of them, in the order of the plan.
    #[must_use]
    pub fn errors(&self) -> &[PlanError] {
        &self.0
    }
}

impl From<PlanError> for PlanErrors {
    fn from(error: PlanError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for PlanErrors {
    /// One error a line; the same message only once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said: Vec<String> = Vec::new();
        for text in self.0.iter().map(ToString::to_string) {
            if !said.contains(&text) {
                said.push(text);
            }
        }
        f.write_str(&said.join("\n"))
    }
}

impl std::error::Error for PlanErrors {}

/// Why a campaign can't be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The file system said no.
    #[error("{step} {}: {source}", path.display())]
    Io {
        /// What was being done.
        step: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the campaign can't be understood.
    #[error("{} is not a campaign's file: {source}", path.display())]
    Json {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Written by a later release.
    #[error("{} has version {found}; this release reads versions up to {known}: use a newer one", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// The version found.
        found: u32,
        /// The latest version known here.
        known: u32,
    },
    /// Another process works in the directory.
    #[error("another campaign is at work in {}; wait until it ends, or name another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The plan is not the one that the directory was made for.
    #[error(
        "the plan is not the one that {} was begun with: {}; use --amend to continue with the new plan (runs that \
         are still part of it are kept), or name another directory",
        path.display(),
        changes.join("; ")
    )]
    Changed {
        /// The directory.
        path: PathBuf,
        /// What differs.
        changes: Vec<String>,
    },
    /// The runs of the directory are for something else.
    #[error("{} was begun for something else: {}; say another directory", path.display(), changes.join("; "))]
    OtherTrail {
        /// The directory.
        path: PathBuf,
        /// What differs.
        changes: Vec<String>,
    },
    /// The directory holds something else.
    #[error("{} holds files, but no campaign; use an empty directory, or one that does not exist", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
}

impl CampaignError {
    pub(crate) fn io(step: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { step, path, source }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}
