//! A plan whose steps are searches for headroom.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Model;
use super::check::Checks;
use super::raw::{RawChosen, RawDemand, RawPlan};
use crate::error::PlanError;
use crate::headroom::HeadroomRules;
use crate::saturation::Limit;

/// Parameters that a search decides itself: the demand and the step say what they are.
const DECIDED: [(&str, &str); 12] = [
    ("THREADS_PER_SCHEMA", "`demand`"),
    ("NUM_THREADS", "`demand`"),
    ("RATE", "`demand`"),
    ("ARRIVALS", "`demand`"),
    ("UPDATE_PCT", "`demand`"),
    ("SCAN_PCT", "`demand`"),
    ("WORK_UNIT", "`demand`"),
    ("UPDATE_WORK_UNIT", "`demand`"),
    ("REDO_STRESS", "`demand`"),
    ("WORK_LOOP", "`demand`"),
    ("RUN_NAME", "the search"),
    ("RESULTS_DIR", "`directory`"),
];
/// What cells are called.
const NAME: &str = "headroom";

/// What is searched for: the choices of `slob headroom`, by the names of its flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// What `slob profile` wrote.
    pub profile: PathBuf,
    /// Of a cluster, only this instance.
    pub instance: Option<String>,
    /// Which point of the profile.
    pub at: String,
    /// What that point is by.
    pub by: Option<String>,
    /// So many times as much.
    pub grow: f64,
    /// By how much the busiest minutes exceeded an interval's mean.
    pub peak_factor: Option<f64>,
    /// How long a calibration is.
    pub calibration: String,
    /// The most sessions.
    pub max_sessions: u32,
    /// Latencies not to be passed; those of production if there are none.
    pub limits: Vec<Limit>,
    /// What each search keeps to.
    pub rules: HeadroomRules,
    /// Whether steps count whose reads the page cache served.
    pub count_cached: bool,
}

impl Demand {
    /// Every choice with its value, to tell one campaign from another.
    pub(crate) fn shown(&self) -> BTreeMap<String, String> {
        let limits: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
        let all = [
            ("instance", self.instance.clone()),
            ("at", Some(self.at.clone())),
            ("by", self.by.clone()),
            ("grow", Some(self.grow.to_string())),
            ("peak_factor", self.peak_factor.map(|factor| factor.to_string())),
            ("calibration", Some(self.calibration.clone())),
            ("max_sessions", Some(self.max_sessions.to_string())),
            ("limits", (!limits.is_empty()).then(|| limits.join(", "))),
            ("most", Some(self.rules.most.to_string())),
            ("repeats", Some(self.rules.repeats.to_string())),
            ("count_cached", Some(self.count_cached.to_string())),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// What stands in the place of a model: its settings are the search's matter.
pub(super) fn model() -> Model {
    Model { name: NAME.to_owned(), metric: NAME.to_owned(), settings: Vec::new() }
}

impl Checks<'_> {
    /// What is said of the demand, and that nothing is said that can't be together with it.
    pub(super) fn demand(&mut self, raw: &RawDemand, plan: &RawPlan) -> Option<Demand> {
        self.decided = &DECIDED;
        let decides = "each search finds its own sessions and load from the profile";
        let contradictions = [
            ("sessions", plan.sessions.is_some(), decides),
            ("models", plan.models.is_some(), decides),
            ("[[model]]", !plan.model.is_empty(), decides),
            (
                "warmup_runs",
                plan.warmup_runs.is_some_and(|runs| runs > 0),
                "each search begins with its calibration",
            ),
        ];
        for (key, _, why) in contradictions.into_iter().filter(|(_, is_there, _)| *is_there) {
            self.errors.push(PlanError::Contradiction { place: self.file.to_owned(), key, why });
        }
        match raw {
            RawDemand::Profile(profile) => self.chosen(&RawChosen {
                profile: profile.clone(),
                instance: None,
                at: None,
                by: None,
                grow: None,
                peak_factor: None,
                calibration: None,
                max_sessions: None,
                limits: Vec::new(),
                most: None,
                repeats: None,
                count_cached: false,
            }),
            RawDemand::Chosen(chosen) => self.chosen(chosen),
        }
    }

    fn chosen(&mut self, raw: &RawChosen) -> Option<Demand> {
        let place = format!("{}, demand", self.file);
        let errors = self.errors.len();
        let mut limits = Vec::new();
        for text in &raw.limits {
            match text.parse::<Limit>() {
                Ok(limit) => limits.push(limit),
                Err(error) => self.bad(&place, "limits", text, &error.to_string()),
            }
        }
        let rules = HeadroomRules { most: raw.most.unwrap_or(64.0), repeats: raw.repeats.unwrap_or(3) };
        if !(1.0..=1e6).contains(&rules.most) {
            self.bad(&place, "most", &rules.most.to_string(), "1 to 1000000");
        }
        if !(1..=20).contains(&rules.repeats) {
            self.bad(&place, "repeats", &rules.repeats.to_string(), "1 to 20");
        }
        let max_sessions = raw.max_sessions.unwrap_or(256);
        if !(1..=65_535).contains(&max_sessions) {
            self.bad(&place, "max_sessions", &max_sessions.to_string(), "1 to 65535");
        }
        (self.errors.len() == errors).then(|| Demand {
            profile: raw.profile.clone(),
            instance: raw.instance.clone(),
            at: raw.at.clone().unwrap_or_else(|| "peak".to_owned()),
            by: raw.by.clone(),
            grow: raw.grow.unwrap_or(1.0),
            peak_factor: raw.peak_factor,
            calibration: raw.calibration.as_ref().map_or_else(|| "15s".to_owned(), super::raw::Scalar::text),
            max_sessions,
            limits,
            rules,
            count_cached: raw.count_cached,
        })
    }
}
