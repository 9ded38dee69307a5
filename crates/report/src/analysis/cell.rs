//! One cell of a table: the repeats of one test.

use serde::Serialize;
use slob_stats::summary::{self, mean_interval, mean_without_extremes};

use super::Run;
use crate::Confidence;
use crate::figure;

/// The repeats of one variant at one number of sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// Runs that know the figure.
    pub runs: usize,
    /// Runs that do not.
    pub runs_without: usize,
    /// SLOB.R's mean: every value equal to the extremes is dropped. Of reads and writes together it is the sum of both
    /// means. Absent where nothing is left, as of two runs.
    pub slob_r_mean: Option<f64>,
    /// `slob_r_mean` relative to that of the variant that figures are scaled by.
    pub scaled: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// Where the true mean lies: lower end. Absent with fewer than two runs, and where sessions differ.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The median.
    pub median: Option<f64>,
    /// Standard deviation in percent of the mean. Absent as `low` is.
    pub cv_percent: Option<f64>,
    /// Mean latency in microseconds: of an operation, or of a wait for one block where only that is known.
    pub latency_us: Option<f64>,
    /// Every value, in the order of the runs.
    pub values: Vec<f64>,
}

/// Latencies, the first of which is known is taken.
const LATENCIES: [&str; 2] = [figure::OPERATION_MEAN_US.name, figure::SINGLE_READ_MEAN_US.name];

impl Cell {
    /// Of the figure that is the sum of these.
    pub(super) fn of(runs: &[&Run], parts: &[&str], confidence: Confidence) -> Self {
        let value =
            |run: &&Run| parts.iter().map(|part| run.figures.get(*part).copied()).sum::<Option<f64>>();
        let values: Vec<f64> = runs.iter().filter_map(value).collect();
        let interval = mean_interval(&values, confidence.ratio());
        let latencies = LATENCIES.iter().map(|name| known(runs, name)).find(|values| !values.is_empty());
        Self {
            runs: values.len(),
            runs_without: runs.len() - values.len(),
            slob_r_mean: parts.iter().map(|part| mean_without_extremes(&known(runs, part))).sum(),
            scaled: None,
            mean: summary::mean(&values),
            // No rate or time is below 0, which two runs that differ much would allow for.
            low: interval.map(|(low, _)| low.max(0.0)),
            high: interval.map(|(_, high)| high),
            median: summary::median(&values),
            cv_percent: summary::coefficient_of_variation(&values).map(|ratio| 100.0 * ratio),
            latency_us: latencies.and_then(|values| summary::mean(&values)),
            values,
        }
    }

    /// The same for runs that are no repeats of each other, whose spread is not noise.
    pub(super) fn without_interval(self) -> Self {
        Self { low: None, high: None, cv_percent: None, latency_us: None, ..self }
    }

    pub(super) fn scale_by(&mut self, base: &Self) {
        let ratio = self.slob_r_mean.zip(base.slob_r_mean).map(|(mean, base)| mean / base);
        self.scaled = ratio.filter(|ratio| ratio.is_finite());
    }
}

fn known(runs: &[&Run], name: &str) -> Vec<f64> {
    runs.iter().filter_map(|run| run.figures.get(name).copied()).collect()
}
