//! Measurements of a database: one vocabulary for engines, runs, records and reports.
//!
//! Everything here is pure and has a saved form. An unknown value is absent, never 0. Readers skip names that this release
//! does not know.
//!
//! - [`Figures`]: counters, latencies and wait events of one server, and its other clients, each a [`Peer`].
//! - [`Counters`]: cumulative figures of a server, by [`Counter`].
//! - [`Latencies`]: durations of its reads, writes and syncs, by [`LatencyKind`].
//! - [`WaitEvent`]: waits of its sessions.
//! - [`KernelTrace`]: where the time of its reads and writes went in the kernel, by [`Span`].
//! - [`Facts`]: sizes of a database, and how much of it is in use.
//! - [`OpKind`] and [`OpCounts`]: the operations of the method.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod counters;
mod facts;
mod figures;
mod latencies;
mod trace;

pub use counters::{Counter, Counters};
pub use facts::{Bound, Facts, WorkingSet};
pub use figures::{Figures, OpCounts, OpKind, Peer, Setting};
pub use latencies::{Latencies, Latency, LatencyKind, WaitEvent, WaitTotal};
pub use trace::{KernelTrace, Requests, SlowReads, Span};
