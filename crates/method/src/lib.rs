//! The SLOB method, as pure arithmetic.
//!
//! Every decision of a test is made here, from a seed: which block holds which key ([`Scatter`]), what a row
//! contains ([`RowContent`]), and which operations a session executes ([`Planner`]). Engines only carry the
//! numbers out, so the same seed gives the same work on every engine.
//!
//! This room knows no clock, no thread, no SQL and no engine.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arrivals;
mod batch;
mod content;
mod deck;
mod op;
mod planner;
mod rng;
mod scatter;
mod schema_no;
mod stamp;
mod verify;
mod workload;

pub use arrivals::Arrivals;
pub use batch::Batch;
pub use content::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Table, UpdateText};
pub use op::{Action, KeyRange, Op};
pub use planner::{PlanSeed, Planner};
pub use scatter::{MAX_SCALE, Scatter};
pub use schema_no::SchemaNo;
pub use stamp::Stamp;
pub use verify::{RowFault, RowState, RowView, Verifier};
pub use workload::{HotRange, ThinkPause, Workload, WorkloadError};
