//! The figures of one second.

use slob_record::Interval;

/// What a tick tells, as rates. A figure that was not counted is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Second {
    /// Seconds that it stands for: the time between two samples.
    pub(super) seconds: f64,
    /// The same by the clock of the database's host.
    pub(super) host_seconds: f64,
    /// Whether it lies within the measured window.
    pub(super) measured: bool,
    pub(super) operations: u64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    /// In an open loop: from the intended start to the end.
    pub(super) response_p99_us: Option<f64>,
    pub(super) physical_reads: Option<u64>,
    pub(super) redo_bytes: Option<u64>,
    pub(super) device_reads: Option<u64>,
    pub(super) device_read_bytes: Option<u64>,
    pub(super) device_busy_ms: Option<u64>,
    /// CPU time of the host that was used, and all that there was, in seconds over all CPUs.
    pub(super) host_busy_s: Option<f64>,
    pub(super) host_cpu_s: Option<f64>,
    pub(super) db_cpu_s: Option<f64>,
}

impl Second {
    /// Of the interval of a tick.
    pub(super) fn of(interval: &Interval, measured: bool) -> Self {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let host = interval.host_cpu;
        Self {
            // Two samples are a second apart but for the edges of the window.
            seconds: interval.sampled_s.filter(|seconds| *seconds > 0.0).unwrap_or(1.0),
            host_seconds: interval
                .observed_s
                .or(interval.sampled_s)
                .filter(|seconds| *seconds > 0.0)
                .unwrap_or(1.0),
            measured,
            operations: interval.ops.total(),
            p50_us: us(interval.latency.percentile(50.0)),
            p99_us: us(interval.latency.percentile(99.0)),
            response_p99_us: us(interval.response.percentile(99.0)),
            physical_reads: interval.physical_reads,
            redo_bytes: interval.redo_bytes,
            device_reads: interval.device.map(|device| device.reads),
            device_read_bytes: interval.device.map(|device| device.read_bytes),
            device_busy_ms: interval.device.map(|device| device.busy_ms),
            host_busy_s: host.and_then(|cpu| Some(cpu.busy_percent()? / 100.0 * cpu.total_s())),
            host_cpu_s: host.map(|cpu| cpu.total_s()),
            db_cpu_s: interval.db_cpu.map(|cpu| cpu.total_s()),
        }
    }

    fn per_s(&self, count: Option<u64>) -> Option<f64> {
        count.map(|count| count as f64 / self.seconds)
    }

    pub(super) fn operations_per_s(&self) -> f64 {
        self.operations as f64 / self.seconds
    }

    pub(super) fn physical_reads_per_s(&self) -> Option<f64> {
        self.per_s(self.physical_reads)
    }

    pub(super) fn redo_mb_per_s(&self) -> Option<f64> {
        Some(self.per_s(self.redo_bytes)? / 1e6)
    }

    pub(super) fn device_reads_per_s(&self) -> Option<f64> {
        Some(self.device_reads? as f64 / self.host_seconds)
    }

    /// Share of the time in which the device had something to do.
    pub(super) fn device_busy_percent(&self) -> Option<f64> {
        Some((self.device_busy_ms? as f64 / self.host_seconds / 10.0).min(100.0))
    }

    pub(super) fn host_busy_percent(&self) -> Option<f64> {
        let all = self.host_cpu_s.filter(|all| *all > 0.0)?;
        Some(100.0 * self.host_busy_s? / all)
    }

    /// CPUs that the database kept busy.
    pub(super) fn db_cpus(&self) -> Option<f64> {
        Some(self.db_cpu_s? / self.host_seconds)
    }

    /// The database's share of the host's CPU time.
    pub(super) fn db_percent_of_host(&self) -> Option<f64> {
        let all = self.host_cpu_s.filter(|all| *all > 0.0)?;
        Some(100.0 * self.db_cpu_s? / all)
    }
}
