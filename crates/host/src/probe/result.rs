//! What a probe found.

use serde::{Deserialize, Serialize};
use slob_stats::Histogram;

use super::plan::{ProbePlan, StepKind, StepPlan};

/// All that a probe found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    /// What was asked for.
    pub plan: ProbePlan,
    /// The steps done, in their order; the first one is the sequential write that fills the file.
    pub steps: Vec<ProbeStep>,
    /// True if the probe was stopped: the last step is then cut short and others are missing.
    pub interrupted: bool,
}

impl ProbeResult {
    /// The most random reads per second of any step: what the device is known to do. `None` if no read step has
    /// figures.
    pub fn ceiling_iops(&self) -> Option<f64> {
        let reads = |kind| matches!(kind, StepKind::SyncRead | StepKind::AsyncRead);
        self.clean_steps().filter(|(step, _)| reads(step.kind)).map(|(_, f)| f.iops).max_by(f64::total_cmp)
    }

    /// Synchronous random reads per second with a number of sessions: as measured at that number, or on the straight
    /// line between the nearest measured numbers below and above. `None` outside of what was measured: a device's
    /// curve bends, so there is no extrapolation.
    pub fn sync_iops_at(&self, sessions: u32) -> Option<f64> {
        let measured = || {
            let sync = self.clean_steps().filter(|(step, _)| step.kind == StepKind::SyncRead);
            sync.map(|(step, figures)| (step.sessions_or_depth, figures.iops))
        };
        let (low, low_iops) = measured().filter(|(n, _)| *n <= sessions).max_by_key(|(n, _)| *n)?;
        let (high, high_iops) = measured().filter(|(n, _)| *n >= sessions).min_by_key(|(n, _)| *n)?;
        if low == high {
            return Some(low_iops);
        }
        let share = f64::from(sessions - low) / f64::from(high - low);
        Some(low_iops + share * (high_iops - low_iops))
    }

    /// Steps that ran to their end.
    fn clean_steps(&self) -> impl Iterator<Item = (&ProbeStep, &StepFigures)> {
        let steps = self.steps.iter().filter(|step| step.error.is_none());
        steps.filter_map(|step| step.figures.as_ref().map(|figures| (step, figures)))
    }
}

/// One step and what it found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeStep {
    /// What it measured.
    pub kind: StepKind,
    /// Sessions of a synchronous step, requests in flight of an asynchronous one.
    pub sessions_or_depth: u32,
    /// How the requests were made; `None` if no way was open.
    pub interface: Option<IoInterface>,
    /// What was measured; `None` if not one operation was completed.
    pub figures: Option<StepFigures>,
    /// Why the step failed. What was measured until then is in `figures`, and not used for any limit.
    pub error: Option<String>,
    /// What a reader must know about a step that did not fail.
    pub note: Option<String>,
}

impl ProbeStep {
    pub(super) fn failed(step: StepPlan, error: String) -> Self {
        let StepPlan { kind, sessions_or_depth } = step;
        Self { kind, sessions_or_depth, interface: None, figures: None, error: Some(error), note: None }
    }

    pub(super) fn measured(
        step: StepPlan,
        interface: IoInterface,
        measured: Measured,
        error: Option<String>,
    ) -> Self {
        let StepPlan { kind, sessions_or_depth } = step;
        let figures = measured.into_figures();
        let error = error.or_else(|| figures.is_none().then(|| "not one operation was completed".to_owned()));
        Self { kind, sessions_or_depth, interface: Some(interface), figures, error, note: None }
    }
}

/// How requests are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoInterface {
    /// `pread`: one call, one block.
    Pread,
    /// `pwrite`: one call, one block.
    Pwrite,
    /// io_uring.
    IoUring,
    /// The older `io_submit` and `io_getevents`.
    LinuxAio,
}

/// The figures of one step. Latencies are from the request to its completion as the program sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFigures {
    /// Completed operations.
    pub operations: u64,
    /// From the common start to the last completion.
    pub seconds: f64,
    /// Operations per second.
    pub iops: f64,
    /// Megabytes (10^6 bytes) per second.
    pub mb_per_s: f64,
    /// Mean latency.
    pub mean_us: f64,
    /// Median latency.
    pub p50_us: f64,
    /// Latency that 99 % of the operations kept.
    pub p99_us: f64,
    /// Latency that 99.9 % of the operations kept.
    pub p999_us: f64,
    /// Highest latency, exact.
    pub max_us: f64,
    /// User and system CPU time of this process per operation; `None` if it could not be read.
    pub cpu_us_per_op: Option<f64>,
    /// All latencies.
    pub latency_ns: Histogram,
}

/// The raw material of a step's figures.
pub(super) struct Measured {
    pub(super) latency: Histogram,
    pub(super) bytes_per_operation: u64,
    pub(super) seconds: f64,
    pub(super) cpu_s: Option<f64>,
}

impl Measured {
    fn into_figures(self) -> Option<StepFigures> {
        let latency = self.latency;
        let operations = latency.count();
        let us = |ns: u64| ns as f64 / 1e3;
        let percentile = |p| latency.percentile(p).map(us);
        if self.seconds <= 0.0 {
            return None;
        }
        let iops = operations as f64 / self.seconds;
        Some(StepFigures {
            operations,
            seconds: self.seconds,
            iops,
            mb_per_s: iops * self.bytes_per_operation as f64 / 1e6,
            mean_us: latency.mean()? / 1e3, // ends here if there was no operation
            p50_us: percentile(50.0)?,
            p99_us: percentile(99.0)?,
            p999_us: percentile(99.9)?,
            max_us: us(latency.max()?),
            cpu_us_per_op: self.cpu_s.map(|cpu_s| cpu_s * 1e6 / operations as f64),
            latency_ns: latency,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepKind, sessions_or_depth: u32, operations: u64) -> ProbeStep {
        let mut latency = Histogram::new();
        for i in 1..=operations {
            latency.record(i * 1000);
        }
        let measured = Measured { latency, bytes_per_operation: 8192, seconds: 2.0, cpu_s: Some(0.01) };
        ProbeStep::measured(StepPlan { kind, sessions_or_depth }, IoInterface::Pread, measured, None)
    }

    fn result(steps: Vec<ProbeStep>) -> ProbeResult {
        ProbeResult { plan: ProbePlan::new("/x"), steps, interrupted: false }
    }

    #[test]
    fn figures_follow_from_what_was_measured() {
        let figures = step(StepKind::SyncRead, 1, 100).figures.unwrap();
        assert_eq!((figures.operations, figures.iops, figures.mb_per_s), (100, 50.0, 0.4096));
        assert_eq!((figures.mean_us, figures.max_us), (50.5, 100.0));
        assert!((figures.p50_us - 50.0).abs() < 1.0 && (figures.p99_us - 99.0).abs() < 1.0, "{figures:?}");
        assert_eq!(figures.cpu_us_per_op, Some(100.0));
    }

    #[test]
    fn a_step_without_operations_has_no_figures_and_a_reason() {
        let empty = step(StepKind::SyncRead, 1, 0);
        assert!(empty.figures.is_none() && empty.error.is_some());
    }

    #[test]
    fn sync_reads_are_interpolated_and_never_extrapolated() {
        let result = result(vec![
            step(StepKind::SyncRead, 4, 400),
            step(StepKind::SyncRead, 8, 600),
            step(StepKind::AsyncRead, 6, 1000),
        ]);
        assert_eq!(result.sync_iops_at(4), Some(200.0));
        assert_eq!(result.sync_iops_at(5), Some(225.0));
        assert_eq!(result.sync_iops_at(8), Some(300.0));
        assert_eq!((result.sync_iops_at(3), result.sync_iops_at(9)), (None, None));
    }

    #[test]
    fn the_ceiling_is_of_good_reads_only() {
        let mut failed = step(StepKind::AsyncRead, 64, 5000);
        failed.error = Some("it broke".into());
        let steps = vec![step(StepKind::SequentialWrite, 1, 9000), step(StepKind::SyncRead, 4, 400), failed];
        assert_eq!(result(steps).ceiling_iops(), Some(200.0));
        assert_eq!(result(vec![]).ceiling_iops(), None);
    }

    #[test]
    fn a_result_survives_its_file_form() {
        let failed =
            ProbeStep::failed(StepPlan { kind: StepKind::AsyncRead, sessions_or_depth: 16 }, "no".into());
        let result = result(vec![step(StepKind::SyncRead, 4, 400), failed]);
        let text = serde_json::to_string(&result).unwrap();
        assert!(text.contains("\"sync_read\"") && text.contains("\"figures\":null"), "{text}");
        assert_eq!(serde_json::from_str::<ProbeResult>(&text).unwrap(), result);
    }
}
