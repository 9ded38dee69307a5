//! Where a value came from.

use std::fmt;

use serde::Serialize;

/// Where the value of a parameter came from, from the weakest to the strongest source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The default that is shipped.
    ShippedDefault,
    /// The default for a file that lacks the key, where the original kit has one of its own for that.
    DeletedDefault,
    /// What a load decided, which is there.
    Loaded,
    /// A line of a file.
    File {
        /// The file's name.
        name: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its full name.
        variable: String,
    },
    /// The command line.
    Flag,
    /// A plan that makes many runs.
    Plan {
        /// Its file, and the part of it that speaks.
        place: String,
    },
}

impl Origin {
    /// Whether somebody set the value.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        !matches!(self, Self::ShippedDefault | Self::DeletedDefault | Self::Loaded)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShippedDefault => f.write_str("default"),
            Self::DeletedDefault => f.write_str("default for a file without the key"),
            Self::Loaded => f.write_str("as loaded"),
            Self::File { name, line } => write!(f, "{name} line {line}"),
            Self::Environment { variable } => write!(f, "environment variable {variable}"),
            Self::Flag => f.write_str("command line"),
            Self::Plan { place } => f.write_str(place),
        }
    }
}
