//! OpenSLOB: verdicts and reports from saved records.
//!
//! Everything here is a function of a [`Record`](slob_record::Record): no clock, no network, no database, and
//! nothing is printed. The same record gives the same text for ever.
//!
//! - [`figure`]: what follows from a record's counts: rates, ratios, means, each defined once. Every view uses these.
//! - [`verdicts`]: five answers in plain words: physical? accounted? CPU-bound? steady? complete?
//! - [`text_report`]: the whole run as text, laid out like the reports that DBAs know.
//! - [`html::run_page`]: the same with charts, as one HTML file.
//! - [`compare_probe_text`]: the device with a database and without.
//! - [`html::index_page`]: all runs of a folder on one page.
//! - [`probe_text`]: a probe of a device by itself.
//! - [`info`]: one row per run. [`diff`]: two runs, or two groups of runs, side by side. [`field`]: one field by its path.
//! - [`analysis`]: repeated runs of several variants: SLOB.R's tables, intervals, verdicts.
//! - [`export`]: a run in the formats of other tools.
//! - [`profiles`]: what a database does, a test that is like it, and how much more a platform carries.
//! - [`recheck()`]: whatever a record holds twice, held against each other.
//! - [`compact_summary`]: the few lines that end a run on a terminal.
//!
//! A figure that is not known is `None`, and shown as [`format::ABSENT`], never as 0.
#![forbid(unsafe_code)]

pub mod analysis;
mod cells;
mod confidence;
mod counters;
pub mod diff;
mod digest;
mod due;
pub mod export;
pub mod field;
pub mod figure;
#[cfg(test)]
mod fixture;
pub mod format;
pub mod html;
pub mod info;
mod latencies;
mod near;
mod page;
pub mod profiles;
mod recheck;
mod sections;
mod server_cpu;
mod summary;
mod sums;
mod timed;
mod verdicts;
mod window;

pub use cells::{csv_cell, pipe_cell};
pub use confidence::{Confidence, NoConfidence};
pub use digest::{digest_in_report, digest_of_figures};
pub use figure::{Figure, Figures};
pub use recheck::{Recheck, recheck, recheck_operations};
pub use sections::{NoComparison, compare_probe_text, probe_text, text_report};
pub use summary::compact_summary;
pub use verdicts::{Answer, Question, Verdict, verdicts};
pub use window::{Rate, operation_rates};
