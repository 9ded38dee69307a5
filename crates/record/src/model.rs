//! The record itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slob_host::{CpuSplit, CpuTimes, Device, DeviceCounters, HostInfo, ProcessIo};
use slob_measure::{Counters, Latencies, OpKind, WaitEvent};
use slob_stats::{Histogram, Series};

use crate::course::{LossRecord, Mark, UntilSteady};
use crate::interval::Interval;
use crate::model_observed::{ClientHostRecord, ObservedRecord};
use crate::probes::SavedProbe;
use crate::server_report::ServerReportRecord;
use crate::workload::WorkloadRecord;

/// One run, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`crate::RECORD_VERSION`] of the release that wrote it.
    pub record_version: u32,
    /// That release.
    pub slob_version: String,
    /// The name of the run's directory.
    pub id: String,
    /// RUN_NAME.
    pub name: String,
    /// How the run ended.
    pub status: Status,
    /// When the sessions were started.
    pub started: Timestamp,
    /// When they had all stopped.
    pub ended: Timestamp,
    /// The target, without a password.
    pub target: String,
    /// The server.
    pub server: ServerRecord,
    /// The effective configuration, with the origin of each value; secrets are left out.
    pub configuration: Vec<ConfigEntry>,
    /// What the sessions did.
    pub workload: WorkloadRecord,
    /// The data that they did it to; absent where the engine stores none.
    pub load: Option<LoadRecord>,
    /// The measured window; absent when the run ended before it began.
    pub window: Option<Window>,
    /// Operations within the window, by kind.
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// In an open loop, the operations that were due at the end of the window and not done: of Poisson arrivals, what
    /// their mean gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Operations of the whole run that were repeated after a conflict with other sessions, by the database's code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<String, u64>,
    /// Every time that a session was without its database and the run went on, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LossRecord>,
    /// What was marked while the run was under way, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Who was at work at the edges of the window. Absent in records of releases whose sessions did not rest there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Edges>,
    /// With UNTIL_STEADY: whether the run became steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_steady: Option<UntilSteady>,
    /// Every session.
    pub sessions: Vec<SessionRecord>,
    /// What the database counted within the window.
    pub counters: Counters,
    /// Latencies that the database measured within the window.
    #[serde(flatten)]
    pub latencies: Latencies,
    /// Wait events within the window.
    pub events: Vec<WaitEvent>,
    /// The server's own report of the window, if one was asked for and made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_report: Option<ServerReportRecord>,
    /// Each of several endpoints; empty when the target is one server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointRecord>,
    /// CPU of the database within the window.
    pub db_cpu: Option<DbCpu>,
    /// I/O of the database's processes within the window, as the kernel counted it; absent where this user may not look
    /// at them, and in records of releases that did not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_io: Option<ProcessIo>,
    /// CPU of this program within the window.
    pub client_cpu: Option<CpuSplit>,
    /// I/O of this program within the window, as the kernel counted it.
    pub client_io: Option<ProcessIo>,
    /// Peak resident memory of this program, in bytes.
    pub client_peak_memory_bytes: Option<u64>,
    /// The host of the database, if it was seen, else this program's; of several hosts the sums. Absent with NO_OS_PERF_DATA.
    pub host: Option<HostRecord>,
    /// Each server on its host. Empty with NO_OS_PERF_DATA, and in records of releases that looked at this program's host alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedRecord>,
    /// This program's own host, where it is none of the database's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_host: Option<ClientHostRecord>,
    /// What the device can do by itself, if it was probed.
    pub probe: Option<SavedProbe>,
    /// What was read back after the run.
    pub verification: Option<Verification>,
    /// The run second by second, warm-up included; second 0 is the common start of the sessions.
    pub series: Series<Interval>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Status {
    /// As planned.
    Completed,
    /// By the user; what was measured until then is valid.
    Interrupted,
    /// By an error; what was measured until then is kept.
    Failed {
        /// What failed.
        error: String,
    },
}

/// The server, as the engine described it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// The product.
    pub product: String,
    /// Its version.
    pub version: String,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The settings that change results.
    pub settings: Vec<SettingRecord>,
    /// Advice about them.
    pub advice: Vec<String>,
    /// Whether the database runs inside this program.
    pub embedded: bool,
    /// Whether batches run inside the server.
    pub batches_in_server: bool,
    /// Whether SELECTs that followed each other were one statement, with a duration for each of them; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined_selects: bool,
    /// Whether reads go around the page cache, as far as the engine knows.
    pub direct_io: Option<bool>,
    /// Whether the server verifies a checksum of each block that it reads. Absent where the engine can't know, and in records of
    /// releases that did not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks_blocks: Option<bool>,
    /// Where the data lie in the server's own eyes, if its host was seen.
    pub data_path: Option<String>,
}

/// A setting and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// The server's name for it.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A parameter, its value, and where the value came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigEntry {
    /// The parameter.
    pub key: String,
    /// The value.
    pub value: String,
    /// Where it came from.
    pub origin: String,
}

/// The data of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The seed of scatter and content.
    pub seed: u64,
    /// Blocks of each main table.
    pub scale_blocks: u64,
    /// Blocks of each scan table.
    pub scan_blocks: u64,
    /// Whether columns are incompressible.
    pub obfuscated: bool,
    /// The schemas used.
    pub schemas: Vec<SchemaRecord>,
}

/// How the rows of a schema lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaRecord {
    /// Its number.
    pub schema: u16,
    /// Rows of its main table.
    pub rows: u64,
    /// Blocks that hold them.
    pub row_blocks: u64,
    /// All its blocks.
    pub all_blocks: u64,
}

/// The measured window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Seconds from the sessions' start to its begin, while they rested left out.
    pub begin_s: f64,
    /// Seconds from its begin to its last operation: what every rate is divided by.
    pub seconds: f64,
}

/// The edges of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edges {
    /// Where it begins.
    pub begin: EdgeRecord,
    /// Where it ends.
    pub end: EdgeRecord,
}

/// Sessions rest at an edge while the counters are read, so that those hold what the operations of the window did; all but
/// those that were at an operation of several seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EdgeRecord {
    /// Sessions that were still at work.
    pub sessions_at_work: u32,
    /// The operations that they were at, at most.
    pub operations_under_way: u64,
}

/// Operations of one kind that ended within the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    /// How many.
    pub operations: u64,
    /// Rows, hence blocks, that they counted or changed.
    pub rows: u64,
    /// Their durations: service times.
    pub latency: Histogram,
    /// In an open loop, their response times: from the intended start to the end.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
}

/// One session. Figures are of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its number, from 0.
    pub session: u32,
    /// Its schema.
    pub schema: u16,
    /// The endpoint it worked on last, as an index of [`Record::endpoints`]; absent where there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<u32>,
    /// Operations that ended before the window: where in its plan the window begins. Absent in records of releases that
    /// did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_window: Option<u64>,
    /// Operations that ended within the window.
    pub selects: u64,
    /// See `selects`.
    pub updates: u64,
    /// See `selects`.
    pub scans: u64,
    /// Rows of these.
    pub rows: u64,
    /// Time within these, in microseconds.
    pub busy_us: u64,
    /// The longest of these, in microseconds.
    pub max_us: Option<f64>,
    /// The longest that it had something to do, and no operation ended. Absent in records of releases that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<LongestWait>,
    /// Whether it was at work from before the window to after it (with WORK_LOOP: did all its operations).
    pub whole_window: bool,
    /// The error that ended it.
    pub error: Option<String>,
}

/// A time within the window in which no operation of a session ended, pauses and what was not due left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongestWait {
    /// When it began, in seconds from the sessions' start.
    pub at_s: f64,
    /// How long it was, in seconds.
    pub seconds: f64,
}

/// An error of a session, which says whose it is; databases' own steps begin with that already.
#[must_use]
pub fn error_of_session(session: u32, error: &str) -> String {
    let name = format!("session {session}");
    let names_it =
        error.strip_prefix(&name).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
    if names_it { error.to_owned() } else { format!("{name}: {error}") }
}

impl SessionRecord {
    /// Operations that ended within the window, of all kinds.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.selects.saturating_add(self.updates).saturating_add(self.scans)
    }
}

/// What the sessions of one endpoint did within the window, and what its server counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointRecord {
    /// Its name: host and port.
    pub endpoint: String,
    /// Sessions that worked there last.
    pub sessions: u32,
    /// Operations, by kind.
    pub operations: BTreeMap<OpKind, KindRecord>,
    /// What its server counted; absent when it was not to be reached at an edge of the window, or was restarted, or
    /// is the server of an earlier endpoint.
    pub counters: Option<Counters>,
    /// The earlier endpoint that leads to the same server, and has its counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_with: Option<String>,
}

/// CPU of the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DbCpu {
    /// User and system time within the window.
    pub cpu: CpuSplit,
    /// That of the processes which serve this run's sessions, where the server has one for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<CpuSplit>,
    /// Whose CPU this is, in words.
    pub source: String,
}

/// A host within the window, or several together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// What it is.
    pub info: HostInfo,
    /// CPU time by mode.
    pub cpu: Option<CpuTimes>,
    /// CPU time, in seconds, of others' processes by their own clocks. Absent where not all processes of the host could be
    /// seen, or those of the database; and in records of releases that did not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_s: Option<f64>,
    /// The device behind the data.
    pub device: Option<DeviceRecord>,
    /// Why there is no device, if there is none.
    pub device_note: Option<String>,
}

/// The block device behind the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// What it is.
    pub device: Device,
    /// What it did within the window, by everybody on this host.
    pub counters: Option<DeviceCounters>,
}

/// Rows that were read back after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows read, drawn at random.
    pub rows: u64,
    /// Those that were found changed by an update, all columns in agreement.
    pub updated: u64,
    /// What was wrong, if anything.
    pub faults: Vec<String>,
    /// Why no more rows could be read, which says nothing about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl Verification {
    /// How many rows are read back after a run, if there are as many.
    pub const SAMPLED_ROWS: u64 = 100;
}
