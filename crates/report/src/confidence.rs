//! How sure a statement about noise is.

use std::str::FromStr;

use serde::Serialize;

/// A ratio such as 0.95, from one half to one; read and shown in percent.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, derive_more::Display)]
// Omits the digits that binary fractions add: `95 %`, `99.9 %`.
#[display("{} %", (_0 * 1e10).round() / 1e8)]
#[serde(transparent)]
pub struct Confidence(f64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be more than 50 and less than 100, such as 95")]
pub struct NoConfidence;

impl Confidence {
    pub fn ratio(self) -> f64 {
        self.0
    }

    /// Bonferroni: each of so many statements that hold together.
    pub(crate) fn of_each(self, statements: usize) -> Self {
        Self(1.0 - (1.0 - self.0) / statements.max(1) as f64)
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self(0.95)
    }
}

impl FromStr for Confidence {
    type Err = NoConfidence;

    fn from_str(percent: &str) -> Result<Self, NoConfidence> {
        let ratio = percent.parse::<f64>().map_err(|_| NoConfidence)? / 100.0;
        if ratio > 0.5 && ratio < 1.0 { Ok(Self(ratio)) } else { Err(NoConfidence) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_are_shown_as_they_were_typed() {
        for percent in ["95", "97.5", "99", "99.9", "99.999", "60"] {
            let confidence: Confidence = percent.parse().unwrap();
            assert_eq!(confidence.to_string(), format!("{percent} %"));
        }
        assert_eq!(serde_json::to_string(&Confidence::default()).unwrap(), "0.95");
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for percent in ["100", "50", "0.95", "-95", "NaN", "inf", "high", ""] {
            assert_eq!(percent.parse::<Confidence>(), Err(NoConfidence), "{percent}");
        }
    }
}
