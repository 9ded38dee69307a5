//! The record itself: every type that is saved in `run.json`.
//!
//! `docs/reference/run.schema.json` describes every field. Comments here say what its name does not.
#![expect(missing_docs, reason = "docs/reference/run.schema.json describes every field")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use slob_host::{
    CpuSplit, CpuTimes, Device, DeviceCounters, DeviceUse, GroupLimits, GroupUse, HostInfo, ProcessIo,
};
use slob_measure::{Counters, KernelTrace, Latencies, OpCounts, OpKind, Peer, Setting, WaitEvent};
use slob_spec::{TraceWhen, Workload};
use slob_stats::{Histogram, Series, merge_fields};

use crate::saved::SavedProbe;

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
    /// Moment at which all sessions had stopped.
    pub ended: Timestamp,
    /// The target, without a password.
    pub target: String,
    pub server: ServerRecord,
    /// Effective configuration with the origin of each value, without secrets.
    pub configuration: Vec<ConfigEntry>,
    pub workload: Workload,
    /// The loaded data; absent if the engine stores none.
    pub load: Option<LoadRecord>,
    /// The measured window; absent if the run ended before it began.
    pub window: Option<Window>,
    /// Operations within the window, by kind.
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// Open loop: operations due and not done at the end of the window, from the mean arrival rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Waits for the first operation of each batch, from the moment at which its session was ready or the operation due to its
    /// start; empty in records of older releases.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub dispatch: Histogram,
    /// Operations of the whole run that were repeated after a conflict, by the database's error code.
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
    pub sessions: Vec<SessionRecord>,
    /// Counters of the database within the window: those that `server_counters` has too are of this run's sessions alone, all
    /// others of the whole server.
    pub counters: Counters,
    /// The attributed counters once more, for all clients of the server. Empty in records of older releases.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub server_counters: Counters,
    /// Other clients that were seen at work on the server, the busiest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_clients: Vec<Peer>,
    /// Latencies measured by the database within the window.
    #[serde(flatten)]
    pub latencies: Latencies,
    pub events: Vec<WaitEvent>,
    /// Counters of the database in each step of RATE; empty unless RATE is a schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_steps: Vec<RateStepRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_report: Option<ServerReportRecord>,
    /// Endpoints; empty if the target is one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointRecord>,
    pub db_cpu: Option<DbCpu>,
    /// The kernel's I/O counts of the database's processes within the window; absent without permission, and in records of older
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_io: Option<ProcessIo>,
    /// CPU time of this program within the window.
    pub client_cpu: Option<CpuSplit>,
    /// The kernel's I/O counts of this program within the window.
    pub client_io: Option<ProcessIo>,
    /// Peak resident memory of this program, in bytes.
    pub client_peak_memory_bytes: Option<u64>,
    /// The database's host if it was observed, else this program's; sums if there are several. Absent with NO_OS_PERF_DATA.
    pub host: Option<HostRecord>,
    /// Observed servers; empty with NO_OS_PERF_DATA, and in records of older releases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedRecord>,
    /// The kernel's durations of reads and writes, and what the database counted meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRecord>,
    /// This program's host, unless it is the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_host: Option<ClientHostRecord>,
    /// The run's part in a measurement of targets beside each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    pub probe: Option<SavedProbe>,
    pub verification: Option<Verification>,
    /// The run second by second, including warm-up; second 0 is the common start of the sessions.
    pub series: Series<Interval>,
    pub notes: Vec<String>,
    /// SHA-256 of the files beside the record that are not made from it alone, by name. Empty in records of older releases.
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
    /// The user ended the run; the measurements up to then are valid.
    Interrupted,
    /// An error ended the run; the measurements up to then are kept.
    Failed { error: String },
}

/// A run's part in a measurement of several targets, which start together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Name of the measurement, common to its runs.
    pub step: String,
    /// Name of this run's target in the plan.
    pub name: String,
    /// The agreed start; `started` of the record is the actual one.
    pub start: Timestamp,
    /// The runs beside this one; empty if the target was measured alone.
    pub neighbours: Vec<Neighbour>,
}

/// A run that started together with this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Name of its target in the plan.
    pub name: String,
    /// Target of the run, without a password.
    pub target: String,
    /// Id of the run.
    pub run: String,
    /// The run's use of host and device in its window; absent without a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<NeighbourUse>,
}

/// Counts of a run for the runs beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeighbourUse {
    /// Host of the database.
    pub host: Option<String>,
    /// Device behind the data.
    pub device: Option<String>,
    /// Bytes fetched from storage for the database, by the kernel's count, else by the database's.
    pub read_bytes: Option<u64>,
    /// CPU seconds of database and client on that host.
    pub cpu_s: Option<f64>,
    /// Counters of its sessions, if the server has others too.
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
    /// True if the database runs inside this program.
    pub embedded: bool,
    /// True if batches run inside the server.
    pub batches_in_server: bool,
    /// True if consecutive SELECTs were joined into one statement that times each of them; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined_selects: bool,
    /// True if reads bypass the page cache, as far as the engine knows.
    pub direct_io: Option<bool>,
    /// True if the server verifies the checksum of each block it reads. Absent if unknown, and in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_blocks: Option<bool>,
    /// Remedy for reads that pass through the page cache. Absent otherwise, and in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache_remedy: Option<String>,
    /// Path of the data on the server's host, if that host was observed.
    pub data_path: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigEntry {
    pub key: String,
    pub value: String,
    pub origin: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The seed of scatter and content.
    pub seed: u64,
    /// Blocks of each main table.
    pub scale_blocks: u64,
    /// Blocks of each scan table.
    pub scan_blocks: u64,
    /// True if columns are incompressible.
    pub obfuscated: bool,
    /// Schemas used by the run.
    pub schemas: Vec<SchemaRecord>,
    /// Size and duration of the last load of these data; absent if another results folder has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<LoadCost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadCost {
    pub ended: Timestamp,
    /// Rows, one per block.
    pub rows: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Duration, with index, statistics and the check of the layout.
    pub seconds: f64,
}

/// Layout of a schema's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRecord {
    pub schema: u16,
    /// Rows of its main table.
    pub rows: u64,
    /// Blocks that hold these rows.
    pub row_blocks: u64,
    /// All blocks of the main table.
    pub all_blocks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Seconds from the start of the sessions to the begin of the window, without the rest between them.
    pub begin_s: f64,
    /// Length in seconds, up to the last operation; the divisor of every rate.
    pub seconds: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edges {
    pub begin: EdgeRecord,
    pub end: EdgeRecord,
}

/// Sessions rest at an edge while the counters are read. A session inside an operation of several seconds does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeRecord {
    pub sessions_at_work: u32,
    /// Most operations that these sessions can have been executing.
    pub operations_under_way: u64,
}

/// Operations of one kind that ended within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    pub operations: u64,
    /// Rows, hence blocks, counted or changed.
    pub rows: u64,
    /// Durations (service times).
    pub latency: Histogram,
    /// Response times: in an open loop from the moment at which an operation is due, else from the moment at which its session is
    /// ready for it, to its end. Empty for a closed loop in records of older releases.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
}

/// A session; its figures are of the window.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Number of the session, from 0.
    pub session: u32,
    pub schema: u16,
    /// Last endpoint, as an index of [`Record::endpoints`]; absent if there is only one.
    pub endpoint: Option<u32>,
    /// Operations that ended before the window; absent in records of older releases.
    pub before_window: Option<u64>,
    /// SELECTs that ended within the window.
    pub selects: u64,
    /// UPDATEs that ended within the window.
    pub updates: u64,
    /// Scans that ended within the window.
    pub scans: u64,
    pub rows: u64,
    /// Time inside these operations, in microseconds.
    pub busy_us: u64,
    /// Think time, and time in which nothing was due or left to do, in microseconds; absent in records of older releases.
    pub idle_us: Option<u64>,
    /// Rest of the window, in microseconds: the session was ready, and no operation of it was at work. It waited for this program,
    /// the network or a CPU, or an attempt failed. Absent in records of older releases.
    pub waiting_us: Option<u64>,
    #[serialize_always]
    pub max_us: Option<f64>,
    /// Longest time without the end of an operation; absent in records of older releases.
    pub longest_wait: Option<LongestWait>,
    /// True if the session worked through the whole window, or did all operations of WORK_LOOP.
    pub whole_window: bool,
    #[serialize_always]
    pub error: Option<String>,
}

/// A time within the window in which no operation of a session ended. Pauses and waits for arrivals do not count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongestWait {
    /// Begin, in seconds from the start of the sessions.
    pub at_s: f64,
    pub seconds: f64,
}

/// An error with the name of its session, unless it begins with that name.
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

/// Operations and counters of one endpoint within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointRecord {
    pub endpoint: String,
    /// Sessions that ended at this endpoint.
    pub sessions: u32,
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// Counters of its server; absent if the server was unreachable at an edge of the window, was restarted, or belongs to an
    /// earlier endpoint.
    pub counters: Option<Counters>,
    /// Earlier endpoint of the same server, which has its counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_with: Option<String>,
}

/// Counts of the database while a step of RATE held; a step that was cut short has none. Its edges are the samples next to the
/// step's, at which sessions are at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateStepRecord {
    /// Begin of the step in seconds of the window, as in RATE.
    pub from_s: f64,
    /// Begin of the interval between its samples, in seconds from the start of the sessions.
    pub begin_s: f64,
    /// Length of that interval, which rates are divided by.
    pub seconds: f64,
    /// Counters as in [`Record::counters`].
    pub counters: Counters,
    /// Counters as in [`Record::server_counters`]; empty in records of older releases.
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
    /// CPU time of the processes that serve this run's sessions, if each session has one.
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
    /// CPU seconds of other programs by their processes' clocks. Absent if not all processes could be seen, and in records of
    /// older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_s: Option<f64>,
    /// The kernel's load average over one minute, at the end of the window. Absent in records of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_1m: Option<f64>,
    /// The device behind the data.
    pub device: Option<DeviceRecord>,
    pub device_note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    pub device: Device,
    /// Use within the window, by all programs of the host.
    pub counters: Option<DeviceCounters>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows read, drawn at random.
    pub rows: u64,
    /// Rows changed by an update, with all columns consistent.
    pub updated: u64,
    pub faults: Vec<String>,
    /// Reason for which no more rows could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl Verification {
    /// Rows that are read back after a run.
    pub const SAMPLED_ROWS: u64 = 100;
}

/// An observed server within the window. Figures of the whole database are elsewhere in the record, and repeated here only for
/// several servers.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedRecord {
    /// Name of the endpoint; absent if there is only one.
    pub endpoint: Option<String>,
    /// Way of observation, as in OBSERVE.
    pub by: String,
    /// Name of its host; absent if the host could not be observed.
    pub host: Option<String>,
    /// Process id of the server's first process; absent if it was not found.
    pub process: Option<u32>,
    /// Evidence for the process, or the reason for its absence.
    pub found: String,
    /// Length of the window by the host's clock, in seconds.
    pub seconds: Option<f64>,
    /// Longer round trip of the two queries at the edges of the window, in seconds.
    pub round_trip_s: Option<f64>,
    /// CPUs that the server may use: the minimum of host, affinity and control group.
    pub cpus: Option<f64>,
    pub limits: Option<GroupLimits>,
    pub group: Option<GroupUse>,
    /// Available memory of its host at the end, in bytes.
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

/// A traced stretch of a run: the window, or some time behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    pub when: TraceWhen,
    pub seconds: f64,
    /// Counters of the whole server in it.
    pub counters: Counters,
    /// Latencies that the database measured in it.
    #[serde(flatten)]
    pub latencies: Latencies,
    /// Durations by the kernels of all its hosts together.
    pub kernel: KernelTrace,
}

/// This program's host within the window, unless it is the database's.
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
    /// Moment, in seconds from the start of the sessions.
    pub at_s: f64,
    pub error: String,
    /// Moment of the reconnection; absent if there was none.
    pub back_s: Option<f64>,
    /// Endpoint of the reconnection.
    pub back_endpoint: Option<u32>,
    /// Answer to the last refused attempt to reconnect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Moment, in seconds from the start of the sessions; negative before it.
    pub at_s: f64,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UntilSteady {
    /// True if the last windows agreed, which ended the run.
    pub reached: bool,
    /// Allowed spread of the last windows, in percent of their mean.
    pub tolerance_percent: f64,
    /// Length of one of these windows in seconds.
    pub window_s: u64,
    /// Begin of the first compared window, in seconds from the start of the sessions; absent if the run was too short.
    pub since_s: Option<u64>,
    pub operations_per_s: Vec<f64>,
}

/// The server's own report of the window and its comparison with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerReportRecord {
    /// Kind of report, as in DATABASE_STATISTICS_TYPE.
    pub kind: String,
    /// Snapshot ids at both ends of the window.
    pub snapshots: [u64; 2],
    /// Report files in the run's folder; empty if only the server's tools can make them.
    pub files: Vec<String>,
    /// Seconds between the snapshots by the report; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Figures of run and report; empty if the report could not be read, or covers another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<ReportedPair>,
}

impl ServerReportRecord {
    /// True if the report covers about the time of a window, so that their rates can be compared. Snapshots take their time.
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
    /// Difference of the report from the run, in percent of the run; `None` if the run has 0.
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
    /// Durations of these operations of all kinds.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub latency: Histogram,
    /// Open loop: response times, from the intended start to the end.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    pub physical_reads: Option<u64>,
    pub logical_reads: Option<u64>,
    pub redo_bytes: Option<u64>,
    /// Seconds between the two samples of this interval.
    pub sampled_s: Option<f64>,
    /// Seconds between the samples by the clock of the database's host; absent if it was not observed, and in records of older
    /// releases.
    pub observed_s: Option<f64>,
    pub host_cpu: Option<CpuTimes>,
    pub db_cpu: Option<CpuSplit>,
    pub device: Option<DeviceUse>,
}

// A sample belongs to one interval only, so that at most one of two merged values is present.
merge_fields!(
    Interval: ops, rows, latency, response, physical_reads, logical_reads, redo_bytes, sampled_s,
    observed_s, host_cpu, db_cpu, device
);
