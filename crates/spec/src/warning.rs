//! What is odd about a configuration, but does not stop it.

use crate::error::did_you_mean;
use crate::origin::Origin;

/// One thing that its author probably did not mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A key of the file is not known.
    #[error("{file} line {line}: {key} is not a known key and has no effect{}", did_you_mean(*nearest))]
    UnknownKey {
        /// The file's name.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<&'static str>,
    },
    /// An environment variable begins with `SLOB_` but names no parameter.
    #[error("the environment variable {variable} names no parameter and has no effect{}", did_you_mean(nearest.as_deref()))]
    UnknownVariable {
        /// The variable.
        variable: String,
        /// The variable of the known key most like it.
        nearest: Option<String>,
    },
    /// One parameter is assigned twice in a file, perhaps under two names.
    #[error(
        "{file}: {first_key} on line {first_line} is overridden by {last_key} on line {last_line}; delete one of them"
    )]
    AssignedTwice {
        /// The file's name.
        file: String,
        /// The key that lost.
        first_key: String,
        /// Its line, counted from 1.
        first_line: usize,
        /// The key that counts.
        last_key: String,
        /// Its line, counted from 1.
        last_line: usize,
    },
    /// A key is accepted for the sake of older files only.
    #[error("{key} ({origin}) is accepted without effect: {note}")]
    NoEffect {
        /// The key.
        key: &'static str,
        /// Where it was set.
        origin: Origin,
        /// Why, and what to do instead.
        note: &'static str,
    },
    /// The hot spot is asked for but never visited.
    #[error(
        "DO_HOTSPOT=TRUE has no effect, because HOTSPOT_FREQUENCY=0 means never; set HOTSPOT_FREQUENCY to 1 or more"
    )]
    HotSpotOff,
    /// There is but one schema, so none of them is hot.
    #[error("HOT_SCHEMA_FREQUENCY={every} has no effect with one schema; raise SCHEMAS or use DO_HOTSPOT")]
    HotSchemaAlone {
        /// Every how many operations.
        every: u32,
    },
    /// There is no SELECT that could be a scan.
    #[error(
        "SCAN_PCT={scan_pct} has no effect, because UPDATE_PCT=100 leaves no SELECTs of which some could be scans"
    )]
    NoSelectToScan {
        /// The share of scans in percent.
        scan_pct: u8,
    },
}
