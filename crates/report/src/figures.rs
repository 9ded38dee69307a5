//! Figures that follow from a record.

mod cpu;
mod device;
mod latency;
mod load;

use slob_record::Record;

pub use cpu::CpuFigures;
pub use device::{DeviceFigures, ProbeFigures};
pub use latency::LatencyFigures;
pub(crate) use latency::{
    all_operations, all_responses, is_coarse, latency_mean_us, latency_percentile_us, latency_sum_s, mean_us,
    percentile_us,
};
pub use load::LoadFigures;

/// What follows from a record's counts. Every figure is of the measured window; one that can't be known is `None`.
///
/// Names carry the unit; `mb` is 10^6 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Length of the window in seconds: what every rate is divided by.
    pub window_s: Option<f64>,
    /// What the database did.
    pub load: LoadFigures,
    /// How long it took.
    pub latency: LatencyFigures,
    /// What it cost.
    pub cpu: CpuFigures,
    /// What the device did.
    pub device: DeviceFigures,
    /// What the device could have done.
    pub probe: ProbeFigures,
}

impl Figures {
    /// The figures of a record; all of them `None` if it has no window.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let Some(window) = record.window.filter(|window| window.seconds > 0.0) else {
            return Self::default();
        };
        let load = LoadFigures::of(record, window.seconds);
        let device = DeviceFigures::of(record, window.seconds);
        Self {
            window_s: Some(window.seconds),
            latency: LatencyFigures::of(record),
            cpu: CpuFigures::of(record, window.seconds),
            probe: ProbeFigures::of(record, &load, &device),
            load,
            device,
        }
    }
}

#[cfg(test)]
mod tests;
