//! A run in the formats of other tools.
//!
//! - [`hlog`]: the HdrHistogram interval log.
//! - [`prometheus`]: Prometheus' text exposition format.
//! - [`metrics`]: that format by itself, for figures that are not a record's.
//!
//! The series as CSV is [`slob_record::series_csv`], which every run has beside its record.

mod hdr;
pub mod metrics;
mod prometheus;

pub use hdr::{HlogError, hlog};
pub use prometheus::prometheus;
