//! Every type of `run.json`. `docs/reference/run.schema.json` describes the fields.
#![expect(missing_docs, reason = "docs/reference/run.schema.json describes every field")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use slob_host::{
    CpuSplit, CpuTimes, Device, DeviceCounters, DeviceUse, GroupLimits, GroupUse, HostInfo, ProcessIo,
};
use slob_measure::{Counters, Debt, KernelTrace, Latencies, OpCounts, OpKind, Peer, Setting, WaitEvent};
use slob_spec::{TraceWhen, Workload};
use slob_stats::{Histogram, Series, merge_fields};

use crate::saved::{LoadCost, SavedProbe};

/// The record of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`crate::RECORD_VERSION`] of the release that wrote it.
    pub record_version: u32,
    pub slob_version: String,
    /// Name of the run's folder.
    pub id: String,
    pub name: String,
    pub status: Status,
    pub started: Timestamp,
    /// All sessions had stopped.
    pub ended: Timestamp,
    /// The target, without a password.
    pub target: String,
    pub server: ServerRecord,
    /// Each value with its origin, without secrets.
    pub configuration: Vec<ConfigEntry>,
    pub workload: Workload,
    /// Loaded data; absent if the engine stores none.
    pub load: Option<LoadRecord>,
    /// Absent if the run ended before it began.
    pub window: Option<Window>,
    /// Operations within the window.
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// Open loop: operations due and not done at the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Waits for the first operation of each batch; empty in records of older releases.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub dispatch: Histogram,
    /// Operations repeated after a conflict, by the database's error code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Sessions at work at the edges of the window; absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Edges>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<UntilSteady>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<AutoWarmUp>,
    /// The run is one of a series that ends when its question is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
    pub sessions: Vec<SessionRecord>,
    /// Those in `server_counters` are of this run's sessions, others of the whole server.
    pub counters: Counters,
    /// Attributed counters, for all clients. Empty in records of older releases.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub server_counters: Counters,
    /// Other clients at work, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_clients: Vec<Peer>,
    /// Latencies measured by the database.
    #[serde(flatten)]
    pub latencies: Latencies,
    pub events: Vec<WaitEvent>,
    /// Counters in each step of RATE.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_steps: Vec<RateStepRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_report: Option<ServerReportRecord>,
    /// Empty if the target is one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointRecord>,
    pub db_cpu: Option<DbCpu>,
    /// I/O of the database's processes; absent without permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_io: Option<ProcessIo>,
    /// CPU time of this program.
    pub client_cpu: Option<CpuSplit>,
    /// I/O of this program.
    pub client_io: Option<ProcessIo>,
    /// Peak resident memory of this program.
    pub client_peak_memory_bytes: Option<u64>,
    /// The database's host if it was observed, else this program's; absent with NO_OS_PERF_DATA.
    pub host: Option<HostRecord>,
    /// Observed servers; empty with NO_OS_PERF_DATA.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedRecord>,
    /// The kernel's durations of reads and writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRecord>,
    /// This program's host, unless it is the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_host: Option<ClientHostRecord>,
    /// The run's part in a measurement of several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    pub probe: Option<SavedProbe>,
    pub verification: Option<Verification>,
    /// The run second by second, with the warm-up; second 0 is the common start.
    pub series: Series<Interval>,
    pub notes: Vec<String>,
    /// SHA-256 of files beside the record that are not made from it alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// [Digest](crate::digest_of) that it was saved with; absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Status {
    /// The run ended as planned.
    Completed,
    /// The user ended the run; its measurements are valid.
    Interrupted,
    /// ABORT_ON ended the run; its measurements are valid.
    Aborted { reason: String },
    /// An error ended the run; its measurements are kept.
    Failed { error: String },
}

/// Looks at a series of runs begin with the second run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Look {
    /// Looks count from 1; the first run has 0.
    pub number: u32,
    /// Looks after which the series ends undecided.
    pub most: u32,
}

/// A run's part in a measurement of several targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Name of the measurement.
    pub step: String,
    /// Name of this run's target in the plan.
    pub name: String,
    /// The agreed start; `started` is the actual one.
    pub start: Timestamp,
    /// Runs beside this one.
    pub neighbours: Vec<Neighbour>,
}

/// A run that started together with this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Name of its target in the plan.
    pub name: String,
    /// Its target, without a password.
    pub target: String,
    /// Its id.
    pub run: String,
    /// Use in its window; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<NeighbourUse>,
}

/// Counts of a run for its neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighbourUse {
    /// Host of the database.
    pub host: Option<String>,
    /// Device behind the data.
    pub device: Option<String>,
    /// Bytes from storage, by the kernel's count, else by the database's.
    pub read_bytes: Option<u64>,
    /// CPU seconds of database and client on that host.
    pub cpu_s: Option<f64>,
    /// Counters of its sessions, if the server has others.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub counters: Counters,
}

/// The engine's description of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    pub product: String,
    pub version: String,
    pub block_bytes: u32,
    pub settings: Vec<Setting>,
    pub advice: Vec<String>,
    /// The database runs inside this program.
    pub embedded: bool,
    /// Batches run inside the server.
    pub batches_in_server: bool,
    /// Consecutive SELECTs were one statement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined_selects: bool,
    /// Reads bypass the page cache, as far as the engine knows.
    pub direct_io: Option<bool>,
    /// The server verifies checksums of blocks. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_blocks: Option<bool>,
    /// Remedy for reads through the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_remedy: Option<String>,
    /// Path on the server's host, if that was observed.
    pub data_path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigEntry {
    pub key: String,
    pub value: String,
    pub origin: String,
}

impl Record {
    /// The value of a parameter.
    pub fn configured(&self, key: &str) -> Option<&str> {
        self.configuration.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Seed of scatter and content.
    pub seed: u64,
    /// Blocks of each main table.
    pub scale_blocks: u64,
    /// Blocks of each scan table.
    pub scan_blocks: u64,
    /// Columns are incompressible.
    pub obfuscated: bool,
    /// Schemas used by the run.
    pub schemas: Vec<SchemaRecord>,
    /// Size and duration of the last load; absent if another results folder has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LoadCost>,
}

/// Layout of a schema's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRecord {
    pub schema: u16,
    /// Rows of its main table.
    pub rows: u64,
    /// Blocks that hold these rows.
    pub row_blocks: u64,
    /// Blocks of the main table.
    pub all_blocks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Seconds from the start of the sessions, without the rest between them.
    pub begin_s: f64,
    /// Length up to the last operation; the divisor of every rate.
    pub seconds: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edges {
    pub begin: EdgeRecord,
    pub end: EdgeRecord,
}

/// Sessions rest at an edge. One inside an operation of several seconds does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeRecord {
    pub sessions_at_work: u32,
    /// Most operations that these sessions can have been executing.
    pub operations_under_way: u64,
}

/// Operations of one kind within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    pub operations: u64,
    /// Rows, hence blocks, counted or changed.
    pub rows: u64,
    /// Service times.
    pub latency: Histogram,
    /// Response times from the moment when an operation is due, or its session ready.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
}

/// Figures of a session in the window.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Number, from 0.
    pub session: u32,
    pub schema: u16,
    /// Last endpoint, as an index of [`Record::endpoints`]; absent if there is only one.
    pub endpoint: Option<u32>,
    /// Operations before the window; absent in records of older releases.
    pub before_window: Option<u64>,
    /// SELECTs within the window.
    pub selects: u64,
    /// UPDATEs within the window.
    pub updates: u64,
    /// Scans within the window.
    pub scans: u64,
    pub rows: u64,
    /// Time inside these operations.
    pub busy_us: u64,
    /// Think time, and time with nothing due or left to do.
    pub idle_us: Option<u64>,
    /// Ready time: the session waited for this program, the network or a CPU, or an attempt failed.
    pub waiting_us: Option<u64>,
    /// The part of it after the last operation that ended in the window: a response without an end.
    pub unfinished_us: Option<u64>,
    #[serialize_always]
    pub max_us: Option<f64>,
    /// Longest time without the end of an operation.
    pub longest_wait: Option<LongestWait>,
    /// The session worked through the whole window, or did all of WORK_LOOP.
    pub whole_window: bool,
    #[serialize_always]
    pub error: Option<String>,
}

/// No operation of a session ended. Pauses and waits for arrivals do not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongestWait {
    /// Seconds from the start of the sessions.
    pub at_s: f64,
    pub seconds: f64,
}

/// An error that begins with the name of its session.
pub fn error_of_session(session: u32, error: &str) -> String {
    let name = format!("session {session}");
    let names_it =
        error.strip_prefix(&name).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    if names_it { error.to_owned() } else { format!("{name}: {error}") }
}

impl SessionRecord {
    pub fn operations(&self) -> u64 {
        self.selects.saturating_add(self.updates).saturating_add(self.scans)
    }
}

/// One endpoint within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointRecord {
    pub endpoint: String,
    /// Sessions that ended at this endpoint.
    pub sessions: u32,
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// Absent if the server was unreachable, restarted, or belongs to an earlier endpoint.
    pub counters: Option<Counters>,
    /// Earlier endpoint of the same server, which has its counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_with: Option<String>,
}

/// A whole step of RATE. Its edges are samples, at which sessions are at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateStepRecord {
    /// Seconds of the window, as in RATE.
    pub from_s: f64,
    /// Begin of the samples' interval, from the start of the sessions.
    pub begin_s: f64,
    /// Length of that interval, the divisor of rates.
    pub seconds: f64,
    /// Counters as in [`Record::counters`].
    pub counters: Counters,
    /// Counters as in [`Record::server_counters`].
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub server_counters: Counters,
    #[serde(flatten)]
    pub latencies: Latencies,
    pub events: Vec<WaitEvent>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DbCpu {
    /// User and system time within the window.
    pub cpu: CpuSplit,
    /// CPU time of processes that serve this run's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<CpuSplit>,
    /// Description of the processes.
    pub source: String,
}

/// A host within the window; sums if there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    pub info: HostInfo,
    pub cpu: Option<CpuTimes>,
    /// CPU seconds of other programs, by their processes' clocks. Absent if some are invisible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_s: Option<f64>,
    /// Load average over one minute, at the end of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_1m: Option<f64>,
    /// The device behind the data.
    pub device: Option<DeviceRecord>,
    pub device_note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    pub device: Device,
    /// Use by all programs of the host.
    pub counters: Option<DeviceCounters>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows drawn at random.
    pub rows: u64,
    /// Rows changed by an update, with consistent columns.
    pub updated: u64,
    pub faults: Vec<String>,
    /// Reason why no more rows could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl Verification {
    /// Rows that are read back after a run.
    pub const SAMPLED_ROWS: u64 = 100;
}

/// An observed server. Figures that the record has elsewhere are repeated only for several servers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedRecord {
    /// Absent if there is only one endpoint.
    pub endpoint: Option<String>,
    /// Way of observation, as in OBSERVE.
    pub by: String,
    /// Absent if the host could not be observed.
    pub host: Option<String>,
    /// The server's first process.
    pub process: Option<u32>,
    /// Evidence for the process, or the reason for its absence.
    pub found: String,
    /// Length of the window by the host's clock.
    pub seconds: Option<f64>,
    /// Longer round trip of the queries at both edges.
    pub round_trip_s: Option<f64>,
    /// CPUs by host, affinity and control group.
    pub cpus: Option<f64>,
    pub limits: Option<GroupLimits>,
    pub group: Option<GroupUse>,
    /// Available memory of its host at the end.
    pub memory_available_bytes: Option<u64>,
    pub cpu: Option<CpuSplit>,
    /// I/O of its processes, if there are several servers.
    pub io: Option<ProcessIo>,
    /// CPU time of its host, if there are several servers.
    pub host_cpu: Option<CpuTimes>,
    /// CPUs of its host, if there are several servers.
    pub host_cpus: Option<u32>,
    /// Device behind its data, if there are several servers.
    pub device: Option<DeviceRecord>,
    /// Device behind its log, if that is another one.
    pub log_device: Option<DeviceRecord>,
}

/// A traced stretch: the window, or some time behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    pub when: TraceWhen,
    pub seconds: f64,
    /// Counters of the whole server in it.
    pub counters: Counters,
    /// Latencies that the database measured in it.
    #[serde(flatten)]
    pub latencies: Latencies,
    /// Durations by the kernels of all its hosts.
    pub kernel: KernelTrace,
}

/// This program's host, unless it is the database's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientHostRecord {
    pub hostname: String,
    pub cpus_online: Option<u32>,
    pub cpu: Option<CpuTimes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossRecord {
    pub session: u32,
    /// Lost endpoint, as an index of [`Record::endpoints`], or 0.
    pub endpoint: u32,
    /// Seconds from the start of the sessions.
    pub at_s: f64,
    pub error: String,
    /// Absent without a reconnection.
    pub back_s: Option<f64>,
    /// Endpoint of the reconnection.
    pub back_endpoint: Option<u32>,
    /// Answer to the last refused attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Seconds from the start of the sessions; may be negative.
    pub at_s: f64,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UntilSteady {
    /// The last windows agreed, which ended the run.
    pub reached: bool,
    /// Allowed spread of the last windows, in percent of their mean.
    pub tolerance_percent: f64,
    /// Seconds of one of these windows.
    pub window_s: u64,
    /// Begin of the first compared window; absent if the run was too short.
    pub since_s: Option<u64>,
    pub operations_per_s: Vec<f64>,
}

/// A warm-up with WARMUP=auto.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AutoWarmUp {
    /// Its limit.
    pub at_most_s: f64,
    /// Its length.
    pub seconds: f64,
    /// The windows are the last half of the time in which it was watched.
    pub steady: UntilSteady,
    /// Mean response time in each of these windows that has operations.
    pub responses_us: Vec<f64>,
    /// Work of loads and earlier runs that was left at its begin; empty if none was seen.
    pub debts_at_begin: Vec<Debt>,
    pub debts_at_end: Vec<Debt>,
}

/// The server's own report and its comparison with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerReportRecord {
    /// Kind as in DATABASE_STATISTICS_TYPE.
    pub kind: String,
    /// Ids at both ends of the window.
    pub snapshots: [u64; 2],
    /// Files in the run's folder; empty if only the server's tools can make them.
    pub files: Vec<String>,
    /// Seconds between the snapshots; absent if the report is unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Empty if the report is unreadable, or covers another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<ReportedPair>,
}

impl ServerReportRecord {
    /// Snapshots take their time, so a report covers about the window.
    #[must_use]
    pub fn covers(&self, window_s: f64) -> bool {
        const FACTOR: f64 = 1.25;
        self.seconds.is_some_and(|seconds| seconds <= FACTOR * window_s && window_s <= FACTOR * seconds)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportedPair {
    /// Name of the figure with its unit.
    pub what: String,
    pub ours: f64,
    pub reported: f64,
}

impl ReportedPair {
    /// Percent of the run; `None` if the run has 0.
    pub fn difference_percent(&self) -> Option<f64> {
        (self.ours != 0.0).then(|| 100.0 * (self.reported - self.ours) / self.ours)
    }
}

/// One interval of the series. Fields without a sample are absent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    #[serde(default)]
    pub ops: OpCounts,
    #[serde(default)]
    pub rows: u64,
    /// Durations of all kinds.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latency: Histogram,
    /// Response times, in an open loop and where sessions take turns.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    pub physical_reads: Option<u64>,
    pub logical_reads: Option<u64>,
    pub redo_bytes: Option<u64>,
    /// Seconds between the two samples of this interval.
    pub sampled_s: Option<f64>,
    /// The same by the clock of the database's host; absent if it was not observed.
    pub observed_s: Option<f64>,
    pub host_cpu: Option<CpuTimes>,
    pub db_cpu: Option<CpuSplit>,
    pub device: Option<DeviceUse>,
}

// At most one of two merged values is present, as a sample belongs to one interval.
merge_fields!(
    Interval: ops, rows, latency, response, physical_reads, logical_reads, redo_bytes, sampled_s,
    observed_s, host_cpu, db_cpu, device
);
