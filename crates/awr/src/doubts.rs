//! Doubts: figures of a report that should agree, and statements that can't both be true.

mod pairs;
mod warnings;

use serde::Serialize;

use crate::figure::Figure;
use crate::info::Named;

/// Up to this difference two counters of the same thing agree: they are not read at the same moment.
pub const AGREE_PERCENT: f64 = 3.0;
/// From this difference on they contradict each other.
pub const CONTRADICT_PERCENT: f64 = 10.0;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Doubts {
    /// The file, with the period if it holds two.
    pub file: String,
    /// Figures that should agree.
    pub pairs: Vec<Pair>,
    /// What a reader must know.
    pub warnings: Vec<Warning>,
}

/// Two figures of the same thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// What they are figures of, with the unit.
    pub what: &'static str,
    /// Where the first stands.
    pub first_source: &'static str,
    /// The first.
    pub first: f64,
    /// Where the second stands.
    pub second_source: &'static str,
    /// The second.
    pub second: f64,
    /// The second relative to the first, in percent; absent if the first is 0.
    pub difference_percent: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// What to make of it.
    pub note: Option<&'static str>,
}

/// What follows from two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// They agree within 3 %, or within what their print can tell.
    Agree,
    /// They differ, by a fault of Oracle's that is known: neither is in doubt.
    Explained,
    /// They differ by up to 10 %.
    Differ,
    /// They differ by more.
    Contradict,
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Explained => "explained",
            Self::Differ => "differ",
            Self::Contradict => "contradict each other",
        }
    }
}

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Read figures with this in mind.
    Note,
    /// Figures may mislead.
    Doubt,
    /// Something in the report is not true.
    Impossible,
}

impl Weight {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Doubt => "doubt",
            Self::Impossible => "impossible",
        }
    }
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub text: String,
    /// Whether it says what words mean, rather than what is wrong with this report.
    pub is_general: bool,
}

impl Doubts {
    /// Checks a report.
    #[must_use]
    pub fn of(named: &Named) -> Self {
        Self { file: named.label(), pairs: pairs::pairs(&named.report), warnings: warnings::warnings(named) }
    }

    /// The worst of its verdicts; `None` if no two figures could be compared.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.pairs.iter().map(|pair| pair.verdict).max()
    }

    /// Whether something in it can't be true.
    #[must_use]
    pub fn is_contradictory(&self) -> bool {
        self.verdict() == Some(Verdict::Contradict)
            || self.warnings.iter().any(|warning| warning.weight == Weight::Impossible)
    }
}

/// Compares two figures, as far as their print goes.
fn verdict(first: Figure, second: Figure) -> (Option<f64>, Verdict) {
    let difference = second.value - first.value;
    let percent = (first.value != 0.0).then(|| 100.0 * difference / first.value);
    // Half a step each way is what rounding hides; a whole one is what counters that are read apart may add.
    let slack = first.resolution + second.resolution;
    let larger = first.value.abs().max(second.value.abs());
    let verdict = if difference.abs() <= slack.max(AGREE_PERCENT / 100.0 * larger) {
        Verdict::Agree
    } else if difference.abs() <= CONTRADICT_PERCENT / 100.0 * larger + slack {
        Verdict::Differ
    } else {
        Verdict::Contradict
    };
    (percent, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_no_contradiction_and_a_tenth_is() {
        let figure = |value, resolution| Figure { value, resolution };
        assert_eq!(verdict(figure(0.0, 0.1), figure(0.09, 0.001)).1, Verdict::Agree);
        assert_eq!(verdict(figure(1000.0, 0.1), figure(1010.0, 0.1)).1, Verdict::Agree);
        assert_eq!(verdict(figure(1000.0, 0.1), figure(1060.0, 0.1)).1, Verdict::Differ);
        assert_eq!(verdict(figure(1000.0, 0.1), figure(800.0, 0.1)), (Some(-20.0), Verdict::Contradict));
        assert_eq!(verdict(figure(0.0, 0.0), figure(5.0, 0.0)), (None, Verdict::Contradict));
    }
}
