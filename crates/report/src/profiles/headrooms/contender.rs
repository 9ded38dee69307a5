//! A platform with what its searches for headroom found.

use serde::{Deserialize, Serialize};
use slob_stats::summary;

use super::super::headroom::times;
use crate::Confidence;

/// What a search found, from its JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Multiple {
    /// The folder of its runs and of its page, within the campaign's.
    #[serde(default)]
    pub folder: String,
    /// So many times the demand are carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carries: Option<f64>,
    /// So many times were carried in every run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// So many times were carried in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_than: Option<f64>,
    /// Its steps.
    #[serde(default, skip_serializing)]
    pub steps: Vec<MultipleStep>,
}

/// Of a step, what it proves.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct MultipleStep {
    /// How many times the demand.
    pub factor: f64,
    /// The limit that broke, in words; absent if it held.
    pub broke: Option<String>,
    /// Why it proves nothing, if so.
    pub not_counted: Option<String>,
}

impl Multiple {
    /// Why it is no number to compare; `None` if it is one.
    pub(super) fn unknown(&self) -> Option<String> {
        if let Some(why) = self.steps.iter().find_map(|step| step.not_counted.as_deref()) {
            return Some(format!("a step does not count: {}", why.trim_end_matches('.')));
        }
        match (self.carries, self.at_least, self.less_than) {
            (None, ..) => Some("not even the least part of the demand that was tried was carried".into()),
            (Some(carries), _, None) => {
                Some(format!("nothing broke up to {} times: allow more with `most`", times(carries)))
            }
            (Some(_), None, _) => Some("its runs differ too much to settle: make them longer".into()),
            (Some(_), Some(_), Some(_)) => None,
        }
    }

    /// What broke nearest above what is carried.
    pub(super) fn limit(&self) -> Option<&str> {
        let above = |step: &&MultipleStep| self.carries.is_none_or(|carries| step.factor > carries);
        let broken = self.steps.iter().filter(above).filter(|step| step.not_counted.is_none());
        let nearest = broken
            .filter(|step| step.broke.is_some())
            .min_by(|one, other| one.factor.total_cmp(&other.factor));
        nearest.and_then(|step| step.broke.as_deref())
    }

    /// By how much the true value may be below and above what is reported, as ratios of 1 or more.
    fn width(&self) -> Option<[f64; 2]> {
        let carries = self.carries?;
        Some([(carries / self.at_least?).max(1.0), (self.less_than? / carries).max(1.0)])
    }
}

/// A platform with its searches.
#[derive(Clone, Debug)]
pub struct Contender {
    /// What it is called.
    pub name: String,
    /// The one that it is the same as, in an A/A pair.
    pub twin_of: Option<String>,
    /// What its searches found, in the order of the repeats.
    pub searches: Vec<Multiple>,
}

impl Contender {
    pub(super) fn values(&self) -> Vec<f64> {
        self.searches.iter().filter_map(|search| search.carries).collect()
    }

    /// Whether every search is a number: of some of them the median would be another one's.
    pub(super) fn is_known(&self) -> bool {
        !self.searches.is_empty() && self.searches.iter().all(|search| search.unknown().is_none())
    }

    /// A figure of all searches; `None` if one of them is no number.
    pub(super) fn known(&self, of: fn(&[f64]) -> Option<f64>) -> Option<f64> {
        self.is_known().then(|| of(&self.values())).flatten()
    }

    /// The farthest that any search may be off, below and above.
    pub(super) fn width(&self) -> [f64; 2] {
        let widths = self.searches.iter().filter_map(Multiple::width);
        widths.fold([1.0, 1.0], |[down, up], width| [f64::max(down, width[0]), f64::max(up, width[1])])
    }

    /// Where its multiple lies; `None` with fewer than two searches, or if one is no number.
    pub(super) fn interval(&self, confidence: Confidence) -> Option<[f64; 2]> {
        let logarithms: Vec<f64> = self.values().into_iter().map(f64::ln).collect();
        let (low, high) =
            self.is_known().then(|| summary::mean_interval(&logarithms, confidence.ratio())).flatten()?;
        let [down, up] = self.width();
        Some([low.exp() / down, high.exp() * up])
    }

    /// `2.4 times (2.1 to 2.6)`.
    pub(super) fn words(&self, confidence: Confidence) -> Option<String> {
        let median = times(summary::median(&self.values())?);
        let interval = self.interval(confidence);
        let within = interval.map(|[low, high]| format!(" ({} to {})", times(low), times(high)));
        Some(format!("{median} times{}", within.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::contender;
    use super::*;

    #[test]
    fn repeats_that_end_at_the_same_step_are_known_no_better_than_the_steps_are_apart() {
        let interval = contender("a", &[2.0; 3]).interval(Confidence::default());
        assert_eq!(interval.map(|[low, high]| [times(low), times(high)]), Some(["2".into(), "2.16".into()]));
    }

    #[test]
    fn the_limit_is_what_broke_nearest_above() {
        let step = |factor, broke: Option<&str>| MultipleStep {
            factor,
            broke: broke.map(str::to_owned),
            not_counted: None,
        };
        let mut search = contender("a", &[2.0]).searches.remove(0);
        search.steps = vec![step(4.0, Some("far")), step(2.2, Some("near")), step(2.0, Some("once"))];
        assert_eq!(search.limit(), Some("near"));
        search.carries = None;
        assert_eq!(search.limit(), Some("once"));
    }
}
