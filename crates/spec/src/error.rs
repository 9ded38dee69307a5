//! What can be wrong with a configuration.

use std::fmt;

use crate::line_fault::LineFault;
use crate::origin::Origin;
use crate::types::BadTarget;

/// One thing that is wrong. Every message says what, where, and what to do; none shows a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A line of the file can't be read.
    #[error("{file} line {line}: {fault}")]
    Line {
        /// The file's name.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// A value is not permitted.
    #[error("{key} is {shown} ({origin}); it must be {permitted}. {remedy}")]
    Value {
        /// The parameter.
        key: &'static str,
        /// Where the value came from.
        origin: Origin,
        /// The value in quotes, or what stands for it where it could be a password.
        shown: String,
        /// What is permitted.
        permitted: String,
        /// What to do.
        remedy: String,
    },
    /// A key that the caller passed as a flag is not in the table.
    #[error("there is no parameter {key}{}", did_you_mean(*nearest))]
    UnknownParameter {
        /// The key.
        key: String,
        /// The known key most like it.
        nearest: Option<&'static str>,
    },
    /// The hosts can't be used.
    #[error("ENDPOINTS={list} can't replace the hosts of TARGET={target}: {fault}")]
    Endpoints {
        /// The hosts.
        list: String,
        /// The target, without its password.
        target: String,
        /// What is wrong.
        fault: BadTarget,
    },
    /// A parameter that can't be left out has no value of the type expected.
    #[error("{key} has no value; set it in slob.conf")]
    Missing {
        /// The parameter.
        key: &'static str,
    },
    /// Too many sessions.
    #[error(
        "SCHEMAS={schemas} with THREADS_PER_SCHEMA={threads} makes {} sessions, but at most {max} are possible. Lower one of them.",
        u64::from(*schemas) * u64::from(*threads)
    )]
    TooManySessions {
        /// The schemas.
        schemas: u32,
        /// The threads of each.
        threads: u32,
        /// The most sessions.
        max: u64,
    },
    /// An operation would touch more blocks than there are.
    #[error(
        "{key}={unit} is more blocks than SCALE={scale} has, which is {blocks} blocks of {block_bytes} bytes. Lower {key} or raise SCALE."
    )]
    WorkUnitBeyondScale {
        /// The key of the work unit.
        key: &'static str,
        /// The work unit in blocks.
        unit: u16,
        /// The scale as written.
        scale: String,
        /// The scale in blocks.
        blocks: u64,
        /// The block size.
        block_bytes: u32,
    },
    /// The hot spot has no size.
    #[error(
        "DO_HOTSPOT=TRUE asks for a hot spot, but HOTSPOT_MB=0 leaves it no room. Raise HOTSPOT_MB or set DO_HOTSPOT=FALSE."
    )]
    EmptyHotSpot,
    /// The hot spot ends beyond the data.
    #[error(
        "the hot spot ends at block {end} (HOTSPOT_OFFSET_MB={offset_mb}, HOTSPOT_MB={size_mb}), but SCALE={scale} has {blocks} blocks of {block_bytes} bytes. Lower HOTSPOT_OFFSET_MB or HOTSPOT_MB, or raise SCALE."
    )]
    HotSpotBeyondScale {
        /// Its last block, counted from 1.
        end: u64,
        /// Where it begins, in MiB.
        offset_mb: u64,
        /// Its size in MiB.
        size_mb: u64,
        /// The scale as written.
        scale: String,
        /// The scale in blocks.
        blocks: u64,
        /// The block size.
        block_bytes: u32,
    },
    /// One operation does not fit into the hot spot.
    #[error(
        "{key}={unit} is more blocks than HOTSPOT_MB={size_mb} has, which is {blocks} blocks of {block_bytes} bytes. Lower {key} or raise HOTSPOT_MB."
    )]
    WorkUnitBeyondHotSpot {
        /// The key of the work unit.
        key: &'static str,
        /// The work unit in blocks.
        unit: u16,
        /// Its size in MiB.
        size_mb: u64,
        /// Its size in blocks.
        blocks: u64,
        /// The block size.
        block_bytes: u32,
    },
    /// Short scans are asked for, but there is no table for them.
    #[error(
        "SCAN_PCT={scan_pct} asks for short scans, but SCAN_TABLE_SZ={scan_table} makes no table of at least one block. Set SCAN_TABLE_SZ (and load again) or SCAN_PCT=0."
    )]
    ScanWithoutTable {
        /// The share of scans in percent.
        scan_pct: u8,
        /// The size of the table as written.
        scan_table: String,
    },
    /// The shortest pause is longer than the longest.
    #[error(
        "THINK_TM_MIN={min_s} is more than THINK_TM_MAX={max_s} (seconds). Lower THINK_TM_MIN or raise THINK_TM_MAX."
    )]
    ThinkTimeRange {
        /// The shortest, in seconds.
        min_s: String,
        /// The longest, in seconds.
        max_s: String,
    },
    /// Two ways to space operations out.
    #[error(
        "RATE={rate} and think time are both set, but one starts operations on schedule and the other pauses after \
         them. Set RATE=0 or THINK_TM_FREQUENCY=0."
    )]
    RateWithThinkTime {
        /// Operations per second.
        rate: u32,
    },
    /// A run that ends after so many operations can't end when it is steady.
    #[error(
        "UNTIL_STEADY=TRUE ends a run by its rate, but WORK_LOOP={operations} by its operations. Set WORK_LOOP=0, or leave out UNTIL_STEADY."
    )]
    SteadyWithWorkLoop {
        /// Operations of each session.
        operations: u64,
    },
    /// The run may not last as long as it takes to see that it is steady.
    #[error(
        "UNTIL_STEADY=TRUE compares three windows of STEADY_WINDOW={window_s} s, which takes {least_s} s, but RUN_TIME={run_time_s} is the longest that the run may take. Raise RUN_TIME or lower STEADY_WINDOW."
    )]
    SteadyBeyondRunTime {
        /// The longest that the run may take, in seconds.
        run_time_s: String,
        /// Seconds of a window.
        window_s: u64,
        /// Seconds of all of them.
        least_s: u64,
    },
    /// Services are to be numbered, but have no name.
    #[error(
        "SQLNET_SERVICE_MAX={max} numbers services, but SQLNET_SERVICE_BASE is not set. Set it, or leave out SQLNET_SERVICE_MAX."
    )]
    ServiceWithoutBase {
        /// The number of services.
        max: u32,
    },
}

/// Everything that is wrong, one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecErrors(Vec<SpecError>);

impl SpecErrors {
    /// `Ok` if there is no error.
    pub(crate) fn check(errors: Vec<SpecError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// All errors, in the order of file or table.
    #[must_use]
    pub fn errors(&self) -> &[SpecError] {
        &self.0
    }
}

impl From<SpecError> for SpecErrors {
    fn from(error: SpecError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for SpecErrors {
    /// One error a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecErrors {}

/// The question that ends a message about an unknown key.
pub(crate) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean {key}?")).unwrap_or_default()
}
