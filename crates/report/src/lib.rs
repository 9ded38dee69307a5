//! OpenSLOB: verdicts and reports from saved records.
//!
//! Everything here is a function of a [`Record`](slob_record::Record): no clock, no network, no database, and
//! nothing is printed. The same record gives the same text for ever.
//!
//! - [`Figures`]: what follows from a record's counts: rates, ratios, means. Every view uses these.
//! - [`verdicts`]: five answers in plain words: physical? accounted? CPU-bound? steady? complete?
//! - [`text_report`]: the whole run as text, laid out like the reports that DBAs know.
//! - [`probe_text`]: a probe of a device by itself.
//! - [`compact_summary`]: the few lines that end a run on a terminal.
//!
//! A figure that is not known is `None`, and shown as [`format::ABSENT`], never as 0.
#![forbid(unsafe_code)]

mod counters;
mod figures;
#[cfg(test)]
mod fixture;
pub mod format;
mod summary;
mod text;
mod verdicts;
mod window;

pub use figures::{CpuFigures, DeviceFigures, Figures, LatencyFigures, LoadFigures, ProbeFigures};
pub use summary::compact_summary;
pub use text::{probe_text, text_report};
pub use verdicts::{Answer, Question, Verdict, verdicts};
pub use window::{Rate, operation_rates};
