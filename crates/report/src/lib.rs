//! OpenSLOB: verdicts and reports from saved records.
//!
//! Everything here is a function of a [`Record`](slob_record::Record): no clock, no network, no database, no printing. The same
//! record gives the same text for ever. Unknown figures are `None`, and shown as [`format::ABSENT`], never as 0.
//!
//! - [`figure`]: rates, ratios, means of a record, each defined once. Every view uses these.
//! - [`mod@verdicts`]: five answers and the findings on which they rest: physical? accounted? CPU-bound? steady? complete?
//! - [`table`]: tables of typed cells in all their forms.
//! - [`text_report`], [`html::run_page`], [`compact_summary`]: a run as text, as a page, and in a few lines.
//! - [`compare_probe_text`], [`probe_text`]: the device with the database and without.
//! - [`html::index_page`], [`info`]: many runs. [`field`]: one field of a record by its path.
//! - [`diff`]: two runs, or two groups of runs, side by side.
//! - [`analysis`]: repeated runs of several variants: SLOB.R's tables, intervals, verdicts.
//! - [`ledger`]: platforms per core, per licence and per price.
//! - [`export`]: a run in the formats of other tools.
//! - [`profiles`]: a database's load, a test like it, and how much more a platform carries.
//! - [`recheck()`]: numbers that a record holds twice.
#![forbid(unsafe_code)]

pub mod analysis;
mod confidence;
pub mod diff;
pub mod export;
pub mod field;
pub mod figure;
pub mod format;
pub mod html;
pub mod info;
pub mod ledger;
mod measured;
mod page;
pub mod profiles;
mod recheck;
mod sections;
pub mod table;
#[cfg(test)]
mod tests;
pub mod verdicts;

pub use confidence::{Confidence, NoConfidence};
pub use figure::{Figure, Figures, Standing};
pub use measured::{Rate, operation_rates};
pub use recheck::{Recheck, digest_in_report, digest_of_figures, recheck, recheck_operations};
pub use sections::{NoComparison, compact_summary, compare_probe_text, probe_text, text_report};
pub use table::csv_cell;
#[cfg(test)]
use tests::fixture;
pub use verdicts::{Answer, Finding, GroupVerdicts, Judged, Question, Verdict, verdicts};
