//! What is asked of each run, and how an answer is graded.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Did the physical reads reach the device?
    Physical,
    /// Do independent counters agree?
    Accounted,
    /// Was CPU to spare, so that it was not the limit instead of the storage?
    #[serde(alias = "cpu_bound")]
    CpuToSpare,
    /// Was the load even over the window, and alone on the host?
    Steady,
    /// Did everything run as planned, on sound data?
    Complete,
}

impl Question {
    pub const ALL: [Self; 5] =
        [Self::Physical, Self::Accounted, Self::CpuToSpare, Self::Steady, Self::Complete];

    /// By its title in any form: `CPU to spare?`, `cpu-to-spare`, `cpu_to_spare`; also by the name that it had before.
    pub fn named(name: &str) -> Option<Self> {
        let plain = |name: &str| name.trim().trim_end_matches('?').to_lowercase().replace(['_', ' '], "-");
        match plain(name).as_str() {
            "cpu-bound" => Some(Self::CpuToSpare),
            name => Self::ALL.into_iter().find(|question| plain(question.title()) == name),
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Physical => "Physical?",
            Self::Accounted => "Accounted?",
            Self::CpuToSpare => "CPU to spare?",
            Self::Steady => "Steady?",
            Self::Complete => "Complete?",
        }
    }
}

/// The meaning of a verdict for the run's figures, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Grade {
    /// They can be relied on.
    Good,
    /// The deciding quantities were not measured.
    Unknown,
    /// They need a second look.
    Doubt,
    /// They do not show what they seem to show.
    Bad,
}

impl Grade {
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The answer to a [`Question`]: each is put so that the good answer is yes.
    pub fn opening(self) -> &'static str {
        match self {
            Self::Good => "Yes",
            Self::Unknown => "Not known",
            Self::Doubt => "Not quite",
            Self::Bad => "No",
        }
    }
}
