//! From what a database did to the test that makes the same demand.
//!
//! [`collect`] makes a [`Profile`] of [`Sample`]s, [`Profile::demand`] a [`Demand`], and [`solve`] the [`Parameters`] of a run by
//! a target's [`Costs`]. A figure that the source lacks is absent. Pure: no files, no clock, no database, no printing.
#![forbid(unsafe_code)]

mod abort;
mod awr;
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

pub use abort::{AbortWatch, BadRule};
pub use demand::{At, By, Choice, ChoiceError, Demand, NotModelled, ReadsAre, not_modelled};
pub use figure::{Figure, Figures, Kind};
pub use fit::{Aim, CALIBRATION_RUNS, Calibrated, Fit, FitLine, TOLERANCE_PERCENT, calibrate, compare};
pub use goal::{Goal, LoadedTarget, Pairs, Runs, Target};
pub use headroom::{HeadroomResult, HeadroomSearched, find_headroom};
pub use knee::{CurvePoint, KneeOptions, KneeResult, Levels, find_knee};
pub use limits::{Basis, Break, HeadroomLimit, is_page_cache};
pub use options::{Options, parse_time};
pub use plan::{Costs, Limits, Measured, Parameters, Planned, solve};
pub use profile::{
    Bucket, DemandError, Gap, Histograms, Interval, LeftOut, PROFILE_VERSION, Profile, ProfileError, Sample,
    Source, Subject, choose, collect, merge, unique_names,
};
pub use replay::{Parts, ReplayInterval, ReplayResult, ReplayRun, Replayed, replay};
pub use runs::{measured_by_run, sample_of_run};
pub use step::{Environment, HeadroomStep, NotCounted, times};
pub use stretch::{Slot, Stretch};
pub use summary::{Change, FigureSummary, Place, Summary, diff, hidden, moment};
pub use timetable::Timetable;
