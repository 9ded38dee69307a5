//! OpenSLOB: what the record of a run says: figures, thresholds, verdicts.
//!
//! Everything here is a function of a [`Record`](slob_record::Record): no clock, no network, no database, no page. The same record gives the
//! same facts for ever. Unknown figures are `None`, and shown as [`format::ABSENT`], never as 0.
#![forbid(unsafe_code)]

mod bottleneck;
pub mod bound;
pub mod claim;
pub mod figure;
pub mod format;
pub mod ladder;
pub mod measured;
pub mod names;
mod question;
mod run;
pub mod table;
pub mod thresholds;
pub mod verdicts;

pub use bottleneck::{Bottleneck, bottleneck};
pub use bound::{BadBound, BadLimit, Bound, LatencyLimit, figure_named};
pub use claim::{CARRIED, Claim};
pub use figure::{Figure, Figures};
pub use question::{Grade, Question};
pub use run::{Run, Standing};
pub use verdicts::{Finding, GroupVerdicts, Judged, Verdict, verdicts};
