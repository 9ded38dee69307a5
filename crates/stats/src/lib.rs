//! Statistics of OpenSLOB.
//!
//! Everything is pure: no clock, files or threads. Times are nanoseconds unless a name says otherwise. A figure that is undefined
//! for its input is `None`, never 0.
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
mod token_bucket;
mod trend;

pub use bucket::{BUCKETS, RANGE_NS, bucket_high, bucket_index, bucket_low, bucket_midpoint};
pub use changes::{LEAST_FOR_CHANGES, MOST_FOR_CHANGES, change_points};
pub use comparison::{Comparison, PercentInterval, confidence_of_look, mean_over};
pub use histogram::{Histogram, nanoseconds, nearest_rank};
pub use series::{Merge, Point, Series, SeriesError};
pub use shared::SharedHistogram;
pub use shuffler::Shuffler;
pub use steadiness::{
    LastWindows, STALL_SHARE, STEADY_VARIATION, SettleWatch, SettleWindows, Steadiness, SteadyRule,
    SteadyWatch, TREND_PERCENT, WILD_VARIATION,
};
pub use token_bucket::TokenBucket;
pub use trend::{Drift, RobustTrend};
