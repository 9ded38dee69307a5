//! Which moment of a profile a test is to be like.

use std::fmt;
use std::str::FromStr;

use jiff::civil::DateTime;

use crate::figure::{Figure, Figures};

/// Which interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The one with most of what it is chosen by.
    Peak,
    /// The one that 95 % do not exceed.
    P95,
    /// The one in the middle.
    Median,
    /// The one that a moment lies in.
    Moment(DateTime),
}

/// What `--at` says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no point of a profile: say peak, p95, median, or a moment such as '2026-11-20 10:00'")]
pub struct BadAt(String);

impl FromStr for At {
    type Err = BadAt;

    fn from_str(text: &str) -> Result<Self, BadAt> {
        match text.trim().to_ascii_lowercase().as_str() {
            "peak" | "max" => Ok(Self::Peak),
            "p95" => Ok(Self::P95),
            "median" | "p50" => Ok(Self::Median),
            moment => {
                let moment = moment.replacen(' ', "T", 1).to_ascii_uppercase();
                moment.parse().map(Self::Moment).map_err(|_| BadAt(text.to_owned()))
            }
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peak => f.write_str("peak"),
            Self::P95 => f.write_str("p95"),
            Self::Median => f.write_str("median"),
            Self::Moment(moment) => write!(f, "{}", moment.strftime("%Y-%m-%d %H:%M")),
        }
    }
}

/// By what intervals are put in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Physical reads.
    #[default]
    Reads,
    /// Physical writes.
    Writes,
    /// Redo.
    Redo,
    /// Commits.
    Commits,
    /// Logical reads.
    LogicalReads,
    /// Average active sessions.
    DbTime,
    /// Each figure by itself: a moment that may never have been.
    Each,
}

impl By {
    /// All of them, by their names.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("reads", Self::Reads),
        ("writes", Self::Writes),
        ("redo", Self::Redo),
        ("commits", Self::Commits),
        ("logical-reads", Self::LogicalReads),
        ("db-time", Self::DbTime),
        ("each", Self::Each),
    ];

    /// One by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(own, _)| *own == name).map(|(_, by)| by)
    }

    /// Its name in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Redo => "redo",
            Self::Commits => "commits",
            Self::LogicalReads => "logical reads",
            Self::DbTime => "active sessions",
            Self::Each => "each figure",
        }
    }

    /// What it looks at; `None` if at each figure.
    pub(crate) fn value(self, figures: &Figures) -> Option<f64> {
        match self {
            Self::Reads => figures.reads(),
            Self::Writes => figures.writes(),
            Self::Redo => figures.get(Figure::RedoBytes),
            Self::Commits => figures.get(Figure::Commits),
            Self::LogicalReads => figures.get(Figure::LogicalReads),
            Self::DbTime => figures.get(Figure::DbTime),
            Self::Each => None,
        }
    }
}

/// A point of a profile, and how much more is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// Which interval.
    pub at: At,
    /// By what.
    pub by: By,
    /// So many times as much: 1 is what it was.
    pub grow: f64,
    /// By how much the busiest minutes of an interval exceeded its mean, where somebody knows.
    pub peak_factor: Option<f64>,
}

impl Default for Choice {
    fn default() -> Self {
        Self { at: At::Peak, by: By::Reads, grow: 1.0, peak_factor: None }
    }
}

/// Why a profile has no demand there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// There is nothing to be like.
    #[error(
        "neither physical reads nor commits are known of any interval: there is no demand to plan for; profile it from another source"
    )]
    NothingKnown,
    /// What it is to be chosen by is not known.
    #[error("no interval knows its {0}: choose by another figure with --by")]
    ByUnknown(&'static str),
    /// The database did next to nothing.
    #[error(
        "the database was idle: at most {reads} physical reads/s and {commits} commits/s in any interval; there is no demand to \
         plan for"
    )]
    Idle {
        /// At the peak.
        reads: String,
        /// At the peak.
        commits: String,
    },
    /// A peak that is a mean.
    #[error(
        "the only interval is {length} long, and its peak is averaged away: give reports of shorter intervals, or say with \
         --peak-factor by how much the busiest minutes exceeded the mean, such as --peak-factor 3; --at median plans for the mean"
    )]
    OneLong {
        /// How long.
        length: String,
    },
    /// No interval there.
    #[error("no interval is of {moment}; the nearest begins at {nearest}")]
    NoSuchMoment {
        /// What was asked for.
        moment: String,
        /// What there is.
        nearest: String,
    },
    /// A factor that is none.
    #[error("{0} must be more than 0 and at most 1000")]
    BadFactor(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_people_say_them() {
        let moment = |text: &str| At::Moment(text.parse().unwrap());
        for (text, at) in [
            ("peak", At::Peak),
            ("P95", At::P95),
            ("median", At::Median),
            ("2026-11-20 10:00", moment("2026-11-20T10:00")),
            ("2026-11-20T10:00:30", moment("2026-11-20T10:00:30")),
            ("2026-11-20", moment("2026-11-20T00:00")),
        ] {
            assert_eq!(text.parse::<At>(), Ok(at), "{text}");
        }
        for bad in ["", "p99", "10:00", "2026-13-01"] {
            let error = bad.parse::<At>().unwrap_err().to_string();
            assert!(error.contains("peak, p95, median"), "{error}");
        }
    }
}
