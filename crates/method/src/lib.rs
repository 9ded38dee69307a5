//! The SLOB method, as pure arithmetic.
//!
//! Every decision of a test is made here, from a seed: which block holds which key ([`Scatter`]), what a row
//! contains ([`RowContent`]), and which operations a session executes ([`Planner`]). Engines only carry the
//! numbers out, so the same seed gives the same work on every engine.
//!
//! This room knows no clock, no thread, no SQL and no engine.
#![forbid(unsafe_code)]

mod arrivals;
mod batch;
mod content;
mod deck;
mod plan;
mod rng;
mod scatter;
mod stamp;
mod verify;
mod workload;

pub use arrivals::Arrivals;
pub use batch::Batch;
pub use content::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Table, UpdateText};
pub use plan::{Action, KeyRange, Op, PlanSeed, Planner, SchemaNo};
pub use scatter::{MAX_SCALE, Scatter};
pub use stamp::Stamp;
pub use verify::{RowFault, RowState, RowView, Verifier};
pub use workload::{HotRange, ThinkPause, Workload, WorkloadError};
