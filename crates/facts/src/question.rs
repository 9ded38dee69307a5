//! Questions to each run, and grades of their answers.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    Physical,
    Accounted,
    #[serde(alias = "cpu_bound")]
    CpuToSpare,
    Steady,
    Complete,
}

impl Question {
    pub const ALL: [Self; 5] =
        [Self::Physical, Self::Accounted, Self::CpuToSpare, Self::Steady, Self::Complete];

    /// In any form: `CPU to spare?`, `cpu-to-spare`; also by its former name.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum Grade {
    Good,
    Unknown,
    Doubt,
    Bad,
}

impl Grade {
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Each question is put so that the good answer is yes.
    pub fn opening(self) -> &'static str {
        match self {
            Self::Good => "Yes",
            Self::Unknown => "Not known",
            Self::Doubt => "Not quite",
            Self::Bad => "No",
        }
    }
}
