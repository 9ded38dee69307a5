//! OpenSLOB: what the record of a run says. Facts are functions of a [`Record`](slob_record::Record) alone. Unknown figures are
//! `None`, never 0.
#![forbid(unsafe_code)]

mod bottleneck;
pub mod bound;
pub mod ceiling;
pub mod claim;
pub mod figure;
pub mod format;
pub mod ladder;
pub mod measured;
pub mod question;
pub mod recheck;
mod run;
pub mod settings;
pub mod table;
pub mod thresholds;
pub mod verdicts;

pub use bottleneck::{Bottleneck, bottleneck};
pub use bound::{BadBound, BadLimit, Bound, LatencyLimit, figure_named};
pub use claim::{CARRIED, Claim};
pub use figure::{Figure, Figures, Lead};
pub use question::{Grade, Question};
pub use recheck::Recheck;
pub use run::{Run, Standing};
pub use verdicts::{Finding, GroupVerdicts, Judged, Verdict, verdicts};
