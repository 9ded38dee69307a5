//! A report as types. Names of fields carry their units.
//!
//! A figure that a report lacks is absent, an empty list or `None`, never 0.

use jiff::civil::DateTime;
use serde::Serialize;

use crate::figure::Figure;
use crate::histogram::EventHistogram;
use crate::kind::{Format, Kind};

/// One period of one instance, PDB or cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub kind: Kind,
    pub format: Format,
    /// The period of a comparison.
    pub period: Option<Period>,
    pub database: Database,
    pub host: Host,
    pub interval: Interval,
    /// Instances of the cluster, in a global report.
    pub instances: Vec<Instance>,
    pub load_profile: Vec<LoadLine>,
    pub efficiency: Vec<Percentage>,
    /// Top timed events; DB CPU is among them.
    pub top_events: Vec<WaitEvent>,
    pub time_model: Vec<TimeModelLine>,
    pub os_statistics: Vec<OsStatistic>,
    pub host_cpu: Option<HostCpu>,
    /// Wait classes of foreground sessions.
    pub wait_classes: Vec<WaitEvent>,
    /// Wait classes of foreground and background together.
    pub all_wait_classes: Vec<WaitEvent>,
    pub foreground_events: Vec<WaitEvent>,
    pub background_events: Vec<WaitEvent>,
    /// Wait events of foreground and background together, in reports that have such a section.
    pub all_events: Vec<WaitEvent>,
    /// Wait-event histograms of foreground and background together.
    pub histograms: Vec<EventHistogram>,
    pub activity: Vec<Activity>,
    /// Instance activity statistics that are states, not counters.
    pub absolute_values: Vec<AbsoluteValue>,
    /// Log switches and the like.
    pub thread_activity: Vec<ThreadActivity>,
    /// All I/O by function of the database.
    pub io_by_function: Vec<IoLine>,
    /// All I/O by type of file.
    pub io_by_file_type: Vec<IoLine>,
    pub io_profile: Vec<IoProfileLine>,
    pub tablespaces: Vec<FileIo>,
    pub files: Vec<FileIo>,
    pub cache_sizes: Vec<CacheSize>,
    pub parameters: Vec<Parameter>,
    /// The statements of all sections, each once.
    pub top_sql: Vec<SqlStatement>,
    pub segments: Vec<Segment>,
    pub buffer_pool_advice: Vec<BufferPoolAdvice>,
    pub pga_advice: Vec<PgaAdvice>,
    /// Top events by samples of ASH.
    pub ash_events: Vec<AshEvent>,
    /// True if text cut the M or G of IOStat's data per second, and Data / elapsed restored it.
    pub units_were_restored: bool,
    /// Every table of a global report as printed: it has figures by instance.
    pub tables: Vec<Sheet>,
    pub sections: Vec<Section>,
    /// Faults of the report itself, and parts that could not be read.
    pub notes: Vec<String>,
}

/// A table as it is printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// The section's title.
    pub title: String,
    /// Headings after the heading that columns share; lower case without blanks.
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    First,
    Second,
}

/// The database and the instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Database {
    pub name: Option<String>,
    pub id: Option<String>,
    pub unique_name: Option<String>,
    pub role: Option<String>,
    pub edition: Option<String>,
    pub release: Option<String>,
    pub is_rac: Option<bool>,
    pub is_cdb: Option<bool>,
    /// The pluggable database of the report, or the root if it is of all of them.
    pub container: Option<String>,
    /// Containers that the report names.
    pub containers: Vec<String>,
    /// Number of the cluster's instances.
    pub instances: Option<f64>,
    pub instance: Option<String>,
    pub instance_number: Option<u32>,
    pub started: Option<DateTime>,
    /// False if the minutes of `started` are unknown: HTML of 11.1 to 12.2 prints the month in their place.
    pub started_to_the_minute: bool,
    /// The standard block size.
    pub block_bytes: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    pub name: Option<String>,
    pub platform: Option<String>,
    pub cpus: Option<f64>,
    pub cores: Option<f64>,
    pub sockets: Option<f64>,
    pub memory_gb: Option<f64>,
}

/// The snapshots and the time between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    pub begin: Option<Snapshot>,
    pub end: Option<Snapshot>,
    /// From the snapshots' times, or as printed in hundredths of a minute.
    pub elapsed_s: Option<Figure>,
    pub db_time_s: Option<Figure>,
}

impl Interval {
    /// Seconds between the times of the snapshots.
    pub(crate) fn by_clock(&self) -> Option<Figure> {
        let (begin, end) = self.begin.as_ref()?.time.zip(self.end.as_ref()?.time)?;
        Some(Figure { value: end.duration_since(begin).as_secs_f64(), resolution: 1.0 })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    pub id: Option<u64>,
    /// By the host's clock.
    pub time: Option<DateTime>,
    pub sessions: Option<f64>,
    pub cursors_per_session: Option<f64>,
}

/// An instance of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Instance {
    pub number: String,
    pub name: Option<String>,
    pub host: Option<String>,
    pub release: Option<String>,
    pub platform: Option<String>,
    pub started: Option<DateTime>,
    pub begin: Option<DateTime>,
    pub end: Option<DateTime>,
    pub elapsed_s: Option<Figure>,
    pub db_time_s: Option<Figure>,
    pub average_active_sessions: Option<Figure>,
    pub up_hours: Option<Figure>,
    pub per_second: Vec<LoadLine>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadLine {
    pub name: String,
    pub per_second: Option<Figure>,
    pub per_transaction: Option<Figure>,
    pub per_exec: Option<Figure>,
    pub per_call: Option<Figure>,
}

/// A line of instance efficiency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Percentage {
    pub name: String,
    pub percent: Option<Figure>,
}

/// The whole of a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    DbTime,
    BackgroundTime,
    /// DB time in Statspack and 10g.
    CallTime,
}

/// A wait event, or a class of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitEvent {
    /// Text cuts it at 26, 28 or 30 characters.
    pub name: String,
    /// Text cuts it too.
    pub class: Option<String>,
    /// `DB CPU` has none.
    pub waits: Option<Figure>,
    /// As printed: only comparisons do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_per_s: Option<Figure>,
    pub timeouts_percent: Option<Figure>,
    pub total_s: Option<Figure>,
    /// The mean as printed.
    pub average_us: Option<Figure>,
    pub percent: Option<Figure>,
    pub percent_of: Option<ShareOf>,
}

impl WaitEvent {
    /// The mean wait: as printed, or total by waits, whichever is more precise.
    pub fn mean_us(&self) -> Option<Figure> {
        let waits = self.waits.map(|waits| waits.value).filter(|waits| *waits > 0.0);
        let divided = self.total_s.zip(waits).and_then(|(total, waits)| total.times(1e6).per(waits));
        Figure::finer(self.average_us, divided)
    }

    /// Time of all waits: as printed, or waits times their mean, whichever is more precise. A total of whole seconds that
    /// reads 0 may be more.
    pub fn time_s(&self) -> Option<Figure> {
        let product = self.waits.zip(self.average_us).map(|(waits, mean)| mean.times(waits.value / 1e6));
        Figure::finer(self.total_s, product)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeModelLine {
    pub name: String,
    pub seconds: Option<Figure>,
    pub percent_of_db_time: Option<Figure>,
}

/// A statistic of the operating system; times are centiseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OsStatistic {
    pub name: String,
    pub value: Option<Figure>,
    /// The value at the end if it is another.
    pub end: Option<Figure>,
}

/// Load and CPU of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostCpu {
    pub load_begin: Option<Figure>,
    pub load_end: Option<Figure>,
    pub user_percent: Option<Figure>,
    pub system_percent: Option<Figure>,
    pub wait_percent: Option<Figure>,
    pub idle_percent: Option<Figure>,
}

/// An instance activity statistic. Text cuts its name at 32 characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    pub name: String,
    pub total: Option<Figure>,
    pub per_second: Option<Figure>,
    pub per_transaction: Option<Figure>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AbsoluteValue {
    pub name: String,
    pub begin: Option<Figure>,
    pub end: Option<Figure>,
}

/// A statistic of the redo thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadActivity {
    pub name: String,
    pub total: Option<Figure>,
    pub per_hour: Option<Figure>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CacheSize {
    pub name: String,
    pub begin_bytes: Option<Figure>,
    pub end_bytes: Option<Figure>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Parameter {
    pub name: String,
    pub begin: String,
    /// The value at the end if it is another.
    pub end: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    pub title: String,
    pub line: usize,
}

/// I/O of a function or a type of file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IoLine {
    /// Text cuts it.
    pub name: String,
    pub read_bytes: Option<Figure>,
    pub reads_per_s: Option<Figure>,
    pub read_bytes_per_s: Option<Figure>,
    pub written_bytes: Option<Figure>,
    pub writes_per_s: Option<Figure>,
    pub written_bytes_per_s: Option<Figure>,
    pub waits: Option<Figure>,
    /// The mean wait.
    pub average_us: Option<Figure>,
    /// Mean service time of small reads.
    pub small_read_us: Option<Figure>,
    /// Mean service time of large reads.
    pub large_read_us: Option<Figure>,
}

/// A line of the I/O profile, per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IoProfileLine {
    pub name: String,
    pub both: Option<Figure>,
    pub read: Option<Figure>,
    pub written: Option<Figure>,
}

/// I/O of a tablespace or a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileIo {
    pub tablespace: String,
    pub file: Option<String>,
    pub reads: Option<Figure>,
    pub reads_per_s: Option<Figure>,
    pub read_us: Option<Figure>,
    pub blocks_per_read: Option<Figure>,
    pub writes: Option<Figure>,
    /// `1-bk Rds/s`; in 11.2.0.4 and 12.1 the writes of tablespaces are printed below it.
    #[serde(skip)]
    pub(crate) one_block_rate: Option<Figure>,
    pub writes_per_s: Option<Figure>,
    pub buffer_waits: Option<Figure>,
    pub buffer_wait_us: Option<Figure>,
}

/// A SQL statement with its totals of the interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SqlStatement {
    pub id: String,
    pub module: Option<String>,
    /// The pluggable database.
    pub container: Option<String>,
    pub elapsed_s: Option<Figure>,
    pub cpu_s: Option<Figure>,
    pub io_wait_s: Option<Figure>,
    /// Blocks.
    pub gets: Option<Figure>,
    /// Blocks.
    pub reads: Option<Figure>,
    pub executions: Option<Figure>,
    pub rows: Option<Figure>,
    /// Hashes of the plans that samples of ASH saw.
    pub plans: Vec<String>,
    /// The text as far as the report prints it.
    pub text: String,
}

/// A statistic of a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Segment {
    pub statistic: String,
    pub owner: Option<String>,
    pub tablespace: Option<String>,
    pub object: String,
    pub subobject: Option<String>,
    pub kind: Option<String>,
    pub value: Option<Figure>,
    pub percent: Option<Figure>,
}

/// Estimated reads with a buffer pool of another size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BufferPoolAdvice {
    pub pool: String,
    pub size_mb: Option<Figure>,
    pub size_factor: Option<Figure>,
    pub read_factor: Option<Figure>,
    pub thousand_reads: Option<Figure>,
}

/// Estimated work with another target of the PGA.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PgaAdvice {
    pub target_mb: Option<Figure>,
    pub size_factor: Option<Figure>,
    pub extra_mb: Option<Figure>,
    pub cache_hit_percent: Option<Figure>,
    pub overallocations: Option<Figure>,
}

/// An event by the samples of ASH.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AshEvent {
    pub event: String,
    pub class: Option<String>,
    pub session_type: Option<String>,
    /// Share of DB time.
    pub percent: Option<Figure>,
    pub average_active_sessions: Option<Figure>,
}
