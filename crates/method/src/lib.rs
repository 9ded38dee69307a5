//! The SLOB method, as pure arithmetic.
//!
//! A seed decides the block of each key ([`Scatter`]), the content of each row ([`RowContent`]), and the operations of each
//! session ([`Planner`]), on every engine. The crate knows no clock, no thread, no SQL and no engine.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod content;
mod due_times;
mod operations;
mod planner;
mod rng;
mod scatter;
mod stamp;
mod verify;

pub use content::{COLUMN_BYTES, COLUMNS, ROW_BYTES, RowContent, Table, UpdateText};
pub use operations::{Action, Batch, KeyRange, Op, SchemaNo};
pub use planner::Planner;
pub use scatter::{MAX_SCALE, Scatter};
pub use stamp::Stamp;
pub use verify::{RowFault, RowState, RowView, Verifier};
