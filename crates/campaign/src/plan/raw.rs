//! A plan as it is written, before anything of it is believed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::order::Order;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPlan {
    pub(super) name: Option<String>,
    pub(super) directory: Option<PathBuf>,
    pub(super) baseline: Option<String>,
    pub(super) order: Option<Order>,
    pub(super) seed: Option<u64>,
    pub(super) repeats: Option<u32>,
    pub(super) warmup_runs: Option<u32>,
    pub(super) retries: Option<u32>,
    #[serde(default)]
    pub(super) noise: bool,
    pub(super) demand: Option<RawDemand>,
    pub(super) sessions: Option<Vec<Scalar>>,
    pub(super) models: Option<Vec<String>>,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub(super) variant: Vec<RawVariant>,
    #[serde(default)]
    pub(super) model: Vec<RawModel>,
}

pub(super) const PLAN_KEYS: &[&str] = &[
    "name",
    "directory",
    "baseline",
    "order",
    "seed",
    "repeats",
    "warmup_runs",
    "retries",
    "noise",
    "demand",
    "sessions",
    "models",
    "settings",
    "variant",
    "model",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVariant {
    pub(super) name: String,
    pub(super) target: Option<String>,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Scalar>,
    pub(super) prepare: Option<RawHook>,
    pub(super) bounce: Option<RawHook>,
    pub(super) before_run: Option<RawHook>,
    pub(super) after_run: Option<RawHook>,
}

pub(super) const VARIANT_KEYS: &[&str] =
    &["name", "target", "settings", "prepare", "bounce", "before_run", "after_run"];

pub(super) const HOOK_KEYS: &[&str] = &["run", "timeout"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawModel {
    pub(super) name: String,
    pub(super) metric: Option<String>,
    #[serde(default)]
    pub(super) settings: BTreeMap<String, Scalar>,
}

pub(super) const MODEL_KEYS: &[&str] = &["name", "metric", "settings"];

/// A profile, alone or with its choices.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawDemand {
    Profile(PathBuf),
    Chosen(Box<RawChosen>),
}

/// As the flags of `slob headroom` are called.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawChosen {
    pub(super) profile: PathBuf,
    pub(super) instance: Option<String>,
    pub(super) at: Option<String>,
    pub(super) by: Option<String>,
    pub(super) grow: Option<f64>,
    pub(super) peak_factor: Option<f64>,
    pub(super) calibration: Option<Scalar>,
    pub(super) max_sessions: Option<u32>,
    #[serde(default)]
    pub(super) limits: Vec<String>,
    pub(super) most: Option<f64>,
    pub(super) repeats: Option<u32>,
    #[serde(default)]
    pub(super) count_cached: bool,
}

pub(super) const DEMAND_KEYS: &[&str] = &[
    "profile",
    "instance",
    "at",
    "by",
    "grow",
    "peak_factor",
    "calibration",
    "max_sessions",
    "limits",
    "most",
    "repeats",
    "count_cached",
];

/// A command, alone or with its timeout.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawHook {
    Command(RawCommand),
    Timed { run: RawCommand, timeout: Scalar },
}

/// A line for the shell, or a program with its arguments.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawCommand {
    Line(String),
    Words(Vec<String>),
}

/// A value, which becomes the text that `slob.conf` would have.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Flag(bool),
    Whole(i64),
    Fraction(f64),
    Text(String),
}

impl Scalar {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Flag(true) => "TRUE".to_owned(),
            Self::Flag(false) => "FALSE".to_owned(),
            Self::Whole(number) => number.to_string(),
            Self::Fraction(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}
