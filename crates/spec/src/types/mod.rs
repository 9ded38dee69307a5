//! The types of checked values: what exists is within its range, so nobody downstream checks it again.

mod choice;
mod hot_spot;
mod length;
mod observe;
mod percent;
mod run_name;
pub(crate) mod seconds;
mod secret;
mod size;
mod steady;
mod target;
mod think;
mod work_unit;

pub use choice::{ArrivalProcess, Rate, RedoStress, SessionLoss, StatisticsType};
pub use hot_spot::HotSpot;
pub use length::Length;
pub use observe::{Observe, Observers, SshHost};
pub use percent::Percent;
pub use run_name::RunName;
pub(crate) use secret::MASK;
pub use secret::Secret;
pub use size::{MAX_SCALE_BLOCKS, Size};
pub use steady::UntilSteady;
pub use target::{BadTarget, Endpoint, Target};
pub use think::ThinkTime;
pub use work_unit::WorkUnit;

/// A text or number that is outside what a value permits.
///
/// It carries no copy of the rejected text, which may be a password: whoever reports it knows the text and
/// whether it may be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {permitted}")]
pub struct BadValue {
    /// What is permitted, in words, to follow 'expected'.
    pub permitted: String,
}

impl BadValue {
    pub(crate) fn expected(permitted: impl Into<String>) -> Self {
        Self { permitted: permitted.into() }
    }
}
