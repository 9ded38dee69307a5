//! The result of a probe, step by step.

use serde::{Deserialize, Serialize};
use slob_stats::Histogram;

use super::{DurableWrite, ProbePlan, StepKind, StepPlan, UntilCliff};
use crate::{CpuSplit, DeviceCounters, GroupLimits, own_cpu};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeResult {
    pub plan: ProbePlan,
    /// The first one is the sequential write that fills the file, unless all writes are durable.
    pub steps: Vec<ProbeStep>,
    /// Absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_cliff: Option<UntilCliff>,
    /// Present if the probe's control group limits CPUs or I/O; absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<GroupLimits>,
    /// The last step is then cut short, and others are missing.
    pub interrupted: bool,
}

impl ProbeResult {
    /// `None` if no read step has figures.
    pub fn ceiling_iops(&self) -> Option<f64> {
        self.fastest().map(|(_, figures)| figures.iops)
    }

    pub(super) fn fastest_read(&self) -> Option<StepPlan> {
        self.fastest()
            .map(|(step, _)| StepPlan { kind: step.kind, sessions_or_depth: step.sessions_or_depth })
    }

    fn fastest(&self) -> Option<(&ProbeStep, &StepFigures)> {
        let is_read = |step: &ProbeStep| matches!(step.kind, StepKind::SyncRead | StepKind::AsyncRead);
        let reads = self.clean_steps().filter(|(step, _)| is_read(step));
        reads.max_by(|(_, one), (_, other)| one.iops.total_cmp(&other.iops))
    }

    /// Interpolates between measured numbers.
    ///
    /// `None` outside of them: a device's curve bends, which rules out extrapolation.
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

    /// Streams and flushes/s of the step whose number of streams is nearest.
    pub fn durable_writes(&self, write: DurableWrite, streams: u32) -> Option<(u32, f64)> {
        let steps = self.clean_steps().filter(|(step, _)| step.kind.durable() == Some(write));
        let steps = steps.map(|(step, figures)| (step.sessions_or_depth, figures.iops));
        steps.min_by_key(|(of_step, _)| of_step.abs_diff(streams))
    }

    /// Without the steps of other kinds.
    #[must_use]
    pub fn durable_only(&self) -> Self {
        let plan = ProbePlan {
            sync_sessions: Vec::new(),
            async_depths: Vec::new(),
            write: false,
            durable: true,
            ..self.plan.clone()
        };
        let durable = |step: &&ProbeStep| step.kind.durable().is_some();
        let steps = self.steps.iter().filter(durable).cloned().collect();
        Self { plan, steps, until_cliff: None, limits: self.limits.clone(), interrupted: self.interrupted }
    }

    pub fn clean_steps(&self) -> impl Iterator<Item = (&ProbeStep, &StepFigures)> {
        let steps = self.steps.iter().filter(|step| step.error.is_none());
        steps.filter_map(|step| step.figures.as_ref().map(|figures| (step, figures)))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeStep {
    pub kind: StepKind,
    /// Requests in flight of an asynchronous step.
    pub sessions_or_depth: u32,
    /// `None` if the host permits no interface.
    pub interface: Option<IoInterface>,
    /// `None` if no operation was completed.
    pub figures: Option<StepFigures>,
    /// `figures` then hold the part before the failure, and count for no limit.
    pub error: Option<String>,
    /// The step did not fail.
    pub note: Option<String>,
    /// What all programs did on the device during durable writes; absent where it is unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceCounters>,
}

impl ProbeStep {
    /// Blocks of 4 KiB that the device wrote for each flush beside its data: the file system's journal, if nobody else wrote.
    pub fn blocks_beside_data(&self) -> Option<f64> {
        const BLOCK: f64 = 4096.0;
        let (write, flushes) = (self.kind.durable()?, self.figures.as_ref()?.operations as f64);
        let blocks = self.device?.used.write_bytes as f64 / BLOCK / flushes;
        Some((blocks - (write.bytes_per_flush() as f64 / BLOCK).ceil()).max(0.0))
    }

    pub(super) fn failed(step: StepPlan, error: String) -> Self {
        let StepPlan { kind, sessions_or_depth } = step;
        Self {
            kind,
            sessions_or_depth,
            interface: None,
            figures: None,
            error: Some(error),
            note: None,
            device: None,
        }
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
        Self { kind, sessions_or_depth, interface: Some(interface), figures, error, note: None, device: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoInterface {
    Pread,
    Pwrite,
    IoUring,
    /// The older `io_submit` and `io_getevents`.
    LinuxAio,
}

/// A latency is the time from the request to its completion in this program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFigures {
    pub operations: u64,
    /// Time from the common start to the last completion.
    pub seconds: f64,
    pub iops: f64,
    /// A megabyte is 10^6 bytes.
    pub mb_per_s: f64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
    /// User and system time of this process; `None` if unreadable.
    pub cpu_us_per_op: Option<f64>,
    pub latency_ns: Histogram,
}

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

pub(super) fn cpu_since(before: Option<CpuSplit>) -> Option<f64> {
    Some(own_cpu().ok()?.since(&before?).total_s())
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
        ProbeResult { plan: ProbePlan::new("/x"), steps, until_cliff: None, limits: None, interrupted: false }
    }

    #[test]
    fn figures_follow_from_the_measurement() {
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
        let older = text.replace("\"durable\":false,", "");
        assert!(older != text && !older.contains("device"), "{older}");
        assert_eq!(serde_json::from_str::<ProbeResult>(&older).unwrap(), result);
    }

    #[test]
    fn commits_are_those_of_the_nearest_number_of_streams() {
        let commits = StepKind::DurableWrite(DurableWrite::COMMIT);
        let grouped = StepKind::DurableWrite(DurableWrite { records: 16, ..DurableWrite::COMMIT });
        let mut failed = step(commits, 8, 900);
        failed.error = Some("it broke".into());
        let result =
            result(vec![step(commits, 1, 200), step(commits, 4, 600), step(grouped, 6, 500), failed]);
        assert_eq!(
            [1, 2, 3, 100].map(|n| result.durable_writes(DurableWrite::COMMIT, n).unwrap()),
            [(1, 100.0), (1, 100.0), (4, 300.0), (4, 300.0)]
        );
        assert_eq!(result.ceiling_iops(), None);
    }

    #[test]
    fn a_journal_is_what_the_device_wrote_beside_the_data() {
        let write = |bytes, records| {
            let kind = StepKind::DurableWrite(DurableWrite { bytes, records, ..DurableWrite::COMMIT });
            let mut device = DeviceCounters::default();
            device.used.write_bytes = 100 * 5 * 4096;
            ProbeStep { device: Some(device), ..step(kind, 1, 100) }.blocks_beside_data()
        };
        assert_eq!([write(512, 1), write(8192, 1), write(8192, 2)], [Some(4.0), Some(3.0), Some(1.0)]);
        assert_eq!(write(65_536, 1), Some(0.0));
        assert_eq!(step(StepKind::SyncRead, 1, 100).blocks_beside_data(), None);
    }
}
