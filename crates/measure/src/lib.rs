//! One vocabulary for engines, runs, records and reports.
//!
//! Everything is pure and has a saved form. An unknown value is absent, never 0. Readers skip unknown names.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod counters;
mod facts;
mod figures;
mod latencies;
mod trace;

pub use counters::{Counter, Counters};
pub use facts::{Bound, Facts, WorkingSet};
pub use figures::{Debt, Figures, OpCounts, OpKind, Peer, Setting};
pub use latencies::{Latencies, Latency, LatencyKind, WaitEvent, WaitTotal};
pub use trace::{KernelTrace, Requests, SlowReads, Span};
