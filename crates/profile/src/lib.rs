//! From what a database did to the test that makes the same demand.
//!
//! A source (reports, a live server, runs of this program) gives [`Sample`]s: rows of rates per second and means, with when
//! they were taken. [`collect`] looks at each before it believes it, and makes a [`Profile`] of each database: intervals in
//! order, and a list of what was left out with the reason. [`Summary`] names peak, 95th percentile and median of each figure.
//! [`Profile::demand`] chooses a point and gives its [`Demand`]; [`solve`] turns that into the [`Parameters`] of a run, with
//! the [`Costs`] of a target, which [`Costs::learn`] takes from short runs there; [`compare`] says how well they fit.
//!
//! What the source lacks is absent, and nothing is made up for it. Pure: no files, no clock, no database, nothing is printed.
#![forbid(unsafe_code)]

mod aim;
mod choice;
mod collect;
mod compare;
mod costs;
mod demand;
mod diff;
mod figure;
mod hidden;
#[cfg(test)]
mod hostile;
mod model;
mod not_modelled;
mod parameters;
mod plan;
mod sample;
mod summary;
mod together;
mod why;

pub use aim::Aim;
pub use choice::{At, By, Choice, ChoiceError};
pub use collect::collect;
pub use compare::{Fit, FitLine, TOLERANCE_PERCENT, compare};
pub use costs::{Costs, Measured};
pub use demand::{Demand, ReadsAre};
pub use diff::{Change, diff};
pub use figure::{Figure, Figures, Kind};
pub use hidden::{hidden, length};
pub use model::{
    Bucket, Gap, Histograms, Interval, LeftOut, PROFILE_VERSION, Profile, ProfileError, Source, Subject,
};
pub use not_modelled::{NotModelled, not_modelled};
pub use parameters::{Limits, Parameters};
pub use plan::{Planned, solve};
pub use sample::Sample;
pub use summary::{FigureSummary, Place, Summary};
