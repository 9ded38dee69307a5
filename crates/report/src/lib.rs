//! OpenSLOB: verdicts and reports. Everything is a function of a [`Record`](slob_record::Record) or its folder. Unknown figures
//! are `None`, never 0.
#![forbid(unsafe_code)]

pub mod analysis;
mod answer;
mod change;
pub mod columns;
pub mod diff;
pub mod export;
pub mod field;
mod folder;
pub mod gate;
mod group;
pub mod html;
mod ladder;
pub mod ledger;
mod page;
pub mod profiles;
mod recheck;
pub mod rungs;
mod sections;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod trend;

pub use answer::{Answer, Outcome};
pub use change::{Confidence, NoConfidence};
pub use folder::{HTML_REPORT, TEXT_REPORT, check_run, with_digest};
pub use group::{JudgedRun, repeats_text};
pub use recheck::Recheck;
pub use sections::{NoComparison, compact_summary, compare_probe_text, text_report};
