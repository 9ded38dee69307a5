//! What sessions did: statements, segments, samples of ASH, and what other sizes of memory would do for it.

use serde::Serialize;

use crate::figure::Figure;

/// A SQL statement: totals of the interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct SqlStatement {
    pub id: String,
    pub module: Option<String>,
    /// The pluggable database.
    pub container: Option<String>,
    pub elapsed_s: Option<Figure>,
    pub cpu_s: Option<Figure>,
    pub io_wait_s: Option<Figure>,
    /// Blocks.
    pub gets: Option<Figure>,
    /// Blocks.
    pub reads: Option<Figure>,
    pub executions: Option<Figure>,
    pub rows: Option<Figure>,
    /// Hashes of the plans that samples of ASH saw.
    pub plans: Vec<String>,
    /// Its text, as far as the report prints it.
    pub text: String,
}

/// A segment and what was done to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Segment {
    pub statistic: String,
    pub owner: Option<String>,
    pub tablespace: Option<String>,
    pub object: String,
    pub subobject: Option<String>,
    pub kind: Option<String>,
    pub value: Option<Figure>,
    pub percent: Option<Figure>,
}

/// A size of a buffer pool and its reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct BufferPoolAdvice {
    pub pool: String,
    pub size_mb: Figure,
    pub size_factor: Option<Figure>,
    pub read_factor: Option<Figure>,
    pub thousand_reads: Option<Figure>,
}

/// A target of the PGA and what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct PgaAdvice {
    pub target_mb: Figure,
    pub size_factor: Option<Figure>,
    pub extra_mb: Option<Figure>,
    pub cache_hit_percent: Option<Figure>,
    pub overallocations: Option<Figure>,
}

/// An event by the samples of ASH.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct AshEvent {
    pub event: String,
    pub class: Option<String>,
    pub session_type: Option<String>,
    /// Share of DB time.
    pub percent: Option<Figure>,
    pub average_active_sessions: Option<Figure>,
}
