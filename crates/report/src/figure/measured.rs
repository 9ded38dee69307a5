//! What was measured in a run's window, as figures are made of it.

use std::cell::OnceCell;

use slob_host::{CpuTimes, DeviceCounters};
use slob_measure::Counter;
use slob_record::Record;
use slob_stats::Histogram;

use crate::counters::counter;
use crate::latencies::{all_operations, all_responses};

/// A run that has a window.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) record: &'a Record,
    /// Length of the window: what every rate is divided by.
    pub(super) window_s: f64,
    operations: OnceCell<Histogram>,
    responses: OnceCell<Histogram>,
}

impl<'a> Measured<'a> {
    pub(super) fn of(record: &'a Record) -> Option<Self> {
        let window_s = record.window.map(|window| window.seconds).filter(|seconds| *seconds > 0.0)?;
        Some(Self { record, window_s, operations: OnceCell::new(), responses: OnceCell::new() })
    }

    /// Durations of all operations.
    pub(super) fn operations(&self) -> &Histogram {
        self.operations.get_or_init(|| all_operations(self.record))
    }

    /// Response times of all operations; empty unless in an open loop.
    pub(super) fn responses(&self) -> &Histogram {
        self.responses.get_or_init(|| all_responses(self.record))
    }

    /// The window by the clocks of the database's hosts, which their figures are divided by: the mean, if there are several.
    pub(super) fn seen_s(&self) -> f64 {
        let told = self.record.observed.iter().filter_map(|server| server.seconds);
        let seconds: Vec<f64> = told.filter(|seconds| *seconds > 0.0).collect();
        if seconds.is_empty() { self.window_s } else { seconds.iter().sum::<f64>() / seconds.len() as f64 }
    }

    /// An amount, per second of the window.
    pub(super) fn per_s(&self, amount: u64) -> f64 {
        amount as f64 / self.window_s
    }

    /// What the database counted.
    pub(super) fn counted(&self, of: Counter) -> Option<f64> {
        counter(self.record, of).map(|amount| amount as f64)
    }

    /// What the database counted, per second of the window.
    pub(super) fn counted_per_s(&self, of: Counter) -> Option<f64> {
        counter(self.record, of).map(|amount| self.per_s(amount))
    }

    /// CPU time of the host.
    pub(super) fn host_cpu(&self) -> Option<CpuTimes> {
        self.record.host.as_ref()?.cpu
    }

    /// CPUs (hardware threads) of the host.
    pub(super) fn host_cpus(&self) -> Option<u32> {
        self.record.host.as_ref()?.info.cpus_online
    }

    /// CPU time of the database in seconds.
    pub(super) fn db_cpu_s(&self) -> Option<f64> {
        self.record.db_cpu.as_ref().map(|db| db.cpu.total_s())
    }

    /// CPU time in seconds of the processes that serve the run's sessions, or of the whole database where they are not apart.
    pub(super) fn sessions_cpu_s(&self) -> Option<f64> {
        let db = self.record.db_cpu.as_ref()?;
        Some(db.sessions.unwrap_or(db.cpu).total_s())
    }

    /// CPU time of this program in seconds; with an embedded database it is the database's too.
    pub(super) fn client_cpu_s(&self) -> Option<f64> {
        self.record.client_cpu.map(|cpu| cpu.total_s())
    }

    /// The same where it was used on the database's host, and is not the database's own.
    pub(super) fn client_cpu_on_host_s(&self) -> Option<f64> {
        let elsewhere = self.record.server.embedded || self.record.client_host.is_some();
        if elsewhere { Some(0.0) } else { self.client_cpu_s() }
    }

    /// What the block device behind the data did, for everybody on the host.
    pub(super) fn device(&self) -> Option<DeviceCounters> {
        self.record.host.as_ref()?.device.as_ref()?.counters
    }
}
