//! Statistics of OpenSLOB: the latency histogram, the time series of a run, summaries, trends and comparisons.
//!
//! Everything here is pure: no clock, no files, no threads of its own. Times are nanoseconds unless a
//! name says otherwise. A figure that is undefined for its input is `None`, never 0.
//!
//! - [`Histogram`]: latencies in fixed memory, percentiles within 1/128 of the true value.
//! - [`SharedHistogram`]: the same buckets, written by one thread while others read.
//! - [`Series`]: values per interval of a run, bounded in length by coarsening.
//! - [`summary`]: mean, deviation and quantiles of a slice.
//! - [`RobustTrend`]: does a series rise or fall, and is that more than noise?
//! - [`change_points`]: when did repeated runs change?
//! - [`Steadiness`] and [`SteadyWatch`]: is a rate steady, and since when?
//! - [`Comparison`]: do two groups of runs differ, by how much, and is that more than noise?
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod bucket;
mod changes;
mod comparison;
mod histogram;
mod series;
mod shared;
mod shuffler;
mod steadiness;
mod student;
pub mod summary;
mod trend;

pub use bucket::{BUCKETS, RANGE_NS, bucket_high, bucket_index, bucket_low, bucket_midpoint};
pub use changes::{LEAST_FOR_CHANGES, MOST_FOR_CHANGES, change_points};
pub use comparison::{Comparison, PercentInterval, mean_over};
pub use histogram::{Histogram, nanoseconds, nearest_rank};
pub use series::{Merge, Point, Series, SeriesError};
pub use shared::SharedHistogram;
pub use shuffler::Shuffler;
pub use steadiness::{
    LastWindows, STALL_SHARE, STEADY_VARIATION, Steadiness, SteadyRule, SteadyWatch, TREND_PERCENT,
    WILD_VARIATION,
};
pub use trend::{Drift, RobustTrend};
