//! The SLOB method, as pure arithmetic.
//!
//! This crate makes every decision of a test from a seed: the block of each key ([`Scatter`]), the content of each row
//! ([`RowContent`]), and the operations of each session ([`Planner`]). Engines execute plain numbers, so the same seed
//! gives the same work on every engine.
//!
//! It knows no clock, no thread, no SQL and no engine.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod content;
mod due_times;
mod operations;
mod planner;
mod rng;
mod scatter;
mod verify;

pub use content::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Stamp, Table, UpdateText};
pub use operations::{Action, Batch, KeyRange, Op, SchemaNo};
pub use planner::Planner;
pub use scatter::{MAX_SCALE, Scatter};
pub use verify::{RowFault, RowState, RowView, Verifier};
