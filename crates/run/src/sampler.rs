//! Samples of everything that only ever grows: the database's counters, CPU times, the device.

use std::time::Instant;

use slob_engine::{Counter, Engine, Snapshot};
use slob_host::{CpuTimes, Device, DeviceCounters, ProcessIo};
use slob_record::{CpuSplit, DeviceUse, Interval};

/// Takes samples of one target and its host.
pub(crate) struct Sampler<'a> {
    engine: &'a dyn Engine,
    device: Option<Device>,
    host_counters: bool,
}

/// The cumulative figures of one moment; absent is what can't be known.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) taken: Instant,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) host_cpu: Option<CpuTimes>,
    pub(crate) db_cpu: Option<CpuSplit>,
    pub(crate) client_cpu: Option<CpuSplit>,
    pub(crate) client_io: Option<ProcessIo>,
    pub(crate) device: Option<DeviceCounters>,
}

impl<'a> Sampler<'a> {
    /// `device` is the one behind the data; nothing of the host is read without `host_counters`.
    pub(crate) fn new(engine: &'a dyn Engine, device: Option<Device>, host_counters: bool) -> Self {
        Self { engine, device, host_counters }
    }

    /// Takes a sample now. An error of one source makes its figure absent, not the sample fail.
    pub(crate) fn take(&self) -> Sample {
        self.take_with(|_| ())
    }

    /// The same; `on_taken` hears of the moment as soon as the database's counters are read, before the slower
    /// rest: operations are told apart by that moment.
    pub(crate) fn take_with(&self, on_taken: impl FnOnce(Instant)) -> Sample {
        let snapshot = self.engine.snapshot().ok();
        let taken = snapshot.as_ref().map_or_else(Instant::now, |snapshot| snapshot.taken);
        on_taken(taken);
        let mut sample = Sample {
            taken,
            snapshot,
            host_cpu: None,
            db_cpu: None,
            client_cpu: None,
            client_io: None,
            device: None,
        };
        if self.host_counters {
            sample.host_cpu = CpuTimes::read().ok();
            sample.db_cpu = self.db_cpu();
            sample.client_cpu = slob_host::own_cpu().ok().map(split);
            sample.client_io = slob_host::self_io().ok();
            sample.device = self.device.as_ref().and_then(|device| device.counters().ok()?);
        }
        sample
    }

    /// The CPU of the server's processes. It would be wrong to count some and miss others, so one that can't be
    /// read makes the sum absent, unless it has ended.
    fn db_cpu(&self) -> Option<CpuSplit> {
        let mut sum = CpuSplit::default();
        for pid in self.engine.processes()? {
            let cpu = split(slob_host::process_cpu(pid).ok()?);
            sum.user_s += cpu.user_s;
            sum.system_s += cpu.system_s;
        }
        Some(sum)
    }
}

fn split(cpu: slob_host::ProcessCpu) -> CpuSplit {
    CpuSplit { user_s: cpu.user_s, system_s: cpu.system_s }
}

impl Sample {
    /// CPU time between two samples of it.
    pub(crate) fn cpu_since(later: Option<CpuSplit>, earlier: Option<CpuSplit>) -> Option<CpuSplit> {
        let (later, earlier) = (later?, earlier?);
        let (user_s, system_s) = (later.user_s - earlier.user_s, later.system_s - earlier.system_s);
        (user_s >= 0.0 && system_s >= 0.0).then_some(CpuSplit { user_s, system_s })
    }

    /// What the device did between two samples.
    pub(crate) fn device_since(&self, earlier: &Self) -> Option<DeviceCounters> {
        self.device?.since(&earlier.device?)
    }

    /// The sampled part of the interval between two samples.
    pub(crate) fn interval_since(&self, earlier: &Self) -> Interval {
        let counters = self.snapshot.as_ref().zip(earlier.snapshot.as_ref());
        let counters = counters.map(|(later, earlier)| later.counters.since(&earlier.counters));
        let count = |counter| counters.as_ref().and_then(|counters| counters.get(counter));
        Interval {
            physical_reads: count(Counter::PhysicalReads),
            logical_reads: count(Counter::LogicalReads),
            redo_bytes: count(Counter::RedoBytes),
            sampled_s: Some((self.taken - earlier.taken).as_secs_f64()),
            host_cpu: self.host_cpu.zip(earlier.host_cpu).map(|(later, earlier)| later.since(&earlier)),
            db_cpu: Self::cpu_since(self.db_cpu, earlier.db_cpu),
            device: self.device_since(earlier).map(device_use),
            ..Interval::default()
        }
    }
}

fn device_use(counters: DeviceCounters) -> DeviceUse {
    DeviceUse {
        reads: counters.reads,
        read_bytes: counters.read_bytes,
        read_time_ms: counters.read_time_ms,
        writes: counters.writes,
        write_bytes: counters.write_bytes,
        write_time_ms: counters.write_time_ms,
        busy_ms: counters.busy_ms,
        weighted_ms: counters.weighted_ms,
    }
}
