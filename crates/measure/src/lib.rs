//! What is measured of a database: one vocabulary for engines, runs, records and reports.
//!
//! Everything here is pure and has a saved form. What can't be known is absent, never 0; a name that this release does not
//! know, written by another one, is passed over when it is read.
//!
//! - [`Counters`]: what a server counts, by [`Counter`].
//! - [`Latencies`]: how long its reads, writes and syncs took, by [`LatencyKind`].
//! - [`WaitEvent`]: what its sessions waited for.
//! - [`Figures`]: all three of one server, since it counts or between two moments.
//! - [`OpKind`] and [`OpCounts`]: the operations of the method.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod counters;
mod figures;
mod latencies;
mod named;
mod operations;
mod waits;

pub use counters::{Counter, Counters};
pub use figures::Figures;
pub use latencies::{Latencies, Latency, LatencyKind};
pub use operations::{OpCounts, OpKind};
pub use waits::{WaitEvent, WaitTotal};
