//! From what a database did to the test that makes the same demand.
//!
//! A source (reports, a live server, runs of this program) gives [`Sample`]s of rates and means. [`collect`] checks them and makes
//! a [`Profile`] of each database. [`Summary`] names peak, 95th percentile and median of each figure. [`Profile::demand`] gives the
//! [`Demand`] at a point. [`solve`] turns it into the [`Parameters`] of a run, with the [`Costs`] of a target, which
//! [`Costs::learn`] takes from short runs there. [`compare`] says how well they fit; [`calibrate`] repeats all that with runs.
//!
//! [`find_headroom`] finds how many times a demand is carried, [`replay`] repeats a stretch of it, [`find_knee`] raises a load until it
//! gains nothing. They ask for runs, which [`Runs`] and [`Levels`] make, and decide what follows from them.
//!
//! A figure that the source lacks is absent. Pure: no files, no clock, no database, nothing is printed.
#![forbid(unsafe_code)]

mod awr;
mod calibration;
mod demand;
mod figure;
mod fit;
mod goal;
mod headroom;
mod knee;
mod least_squares;
mod limits;
mod options;
mod plan;
mod profile;
mod replay;
mod runs;
mod search;
mod several;
mod step;
mod stretch;
mod summary;
#[cfg(test)]
#[path = "tests/table.rs"]
mod table;
mod timetable;
#[cfg(test)]
#[path = "tests/untrusted.rs"]
mod untrusted;

pub use calibration::{CALIBRATION_RUNS, Calibrated, calibrate};
pub use demand::{At, By, Choice, ChoiceError, Demand, NotModelled, ReadsAre, not_modelled};
pub use figure::{Figure, Figures, Kind};
pub use fit::{Aim, Fit, FitLine, TOLERANCE_PERCENT, compare};
pub use goal::{DemandError, Goal, LoadedTarget, Pairs, Runs, Target};
pub use headroom::{HeadroomResult, HeadroomSearched, find_headroom};
pub use knee::{CurvePoint, KneeOptions, KneeResult, Levels, find_knee};
pub use limits::{Basis, Break, HeadroomLimit, is_page_cache};
pub use options::{Options, parse_time};
pub use plan::{Costs, Limits, Measured, Parameters, Planned, solve};
pub use profile::{
    Bucket, Gap, Histograms, Interval, LeftOut, PROFILE_VERSION, Profile, ProfileError, Sample, Source,
    Subject, collect,
};
pub use replay::{Parts, RESPONSE, ReplayInterval, ReplayResult, ReplayRun, Replayed, replay};
pub use runs::{measured_by_run, sample_of_run};
pub use several::{Missing, choose, merge, unique_names};
pub use step::{Environment, HeadroomStep, NotCounted, times};
pub use stretch::{Slot, Stretch};
pub use summary::{Change, FigureSummary, Place, Summary, diff, hidden, length, moment};
pub use timetable::Timetable;
