//! OpenSLOB: verdicts and reports. Everything is a function of a [`Record`](slob_record::Record) or its folder. Unknown figures
//! are `None`, never 0.
#![forbid(unsafe_code)]

pub mod analysis;
mod change;
pub mod columns;
pub mod diff;
pub mod field;
mod folder;
pub mod gate;
mod group;
mod hlog;
pub mod html;
mod ladder;
pub mod ledger;
pub mod profiles;
pub mod rungs;
mod sections;
#[cfg(test)]
mod tests;
pub mod trend;

pub use change::{Confidence, NoConfidence};
pub use folder::{HTML_REPORT, TEXT_REPORT, check_run, with_digest};
pub use group::{JudgedRun, repeats_text};
pub use hlog::{HlogError, hlog};
pub use sections::{NoComparison, ProbeAnswer, compact_summary, compare_probe_text, text_report};
