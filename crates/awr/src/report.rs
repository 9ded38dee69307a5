//! A report with types: what it says, in units that the names carry.
//!
//! What a report does not have is absent: an empty list or `None`, never 0.

mod io;
mod work;

use jiff::civil::DateTime;
use serde::Serialize;

use crate::figure::Figure;
use crate::histogram::EventHistogram;
use crate::kind::{Format, Kind};

pub use io::{FileIo, IoLine, IoProfileLine};
pub use work::{AshEvent, BufferPoolAdvice, PgaAdvice, Segment, SqlStatement};

/// One period of one instance, PDB or cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What it is.
    pub kind: Kind,
    /// How it is written.
    pub format: Format,
    /// Which of the two periods of a comparison it is.
    pub period: Option<Period>,
    /// The database and the instance.
    pub database: Database,
    /// The host.
    pub host: Host,
    /// The snapshots and the time between them.
    pub interval: Interval,
    /// A cluster's instances, in a global report.
    pub instances: Vec<Instance>,
    /// The load profile.
    pub load_profile: Vec<LoadLine>,
    /// Instance efficiency.
    pub efficiency: Vec<Percentage>,
    /// The top timed events, with DB CPU among them.
    pub top_events: Vec<WaitEvent>,
    /// The time model.
    pub time_model: Vec<TimeModelLine>,
    /// Operating system statistics.
    pub os_statistics: Vec<OsStatistic>,
    /// Load and CPU of the host.
    pub host_cpu: Option<HostCpu>,
    /// Wait classes of foreground sessions.
    pub wait_classes: Vec<WaitEvent>,
    /// Wait classes of foreground and background together.
    pub all_wait_classes: Vec<WaitEvent>,
    /// Wait events of foreground sessions.
    pub foreground_events: Vec<WaitEvent>,
    /// Wait events of background processes.
    pub background_events: Vec<WaitEvent>,
    /// Wait events of both together, where the report has no others or has them too.
    pub all_events: Vec<WaitEvent>,
    /// How long waits took, foreground and background together.
    pub histograms: Vec<EventHistogram>,
    /// Instance activity statistics.
    pub activity: Vec<Activity>,
    /// Instance activity statistics that are states, not counters.
    pub absolute_values: Vec<AbsoluteValue>,
    /// Log switches and the like, with their rate per hour.
    pub thread_activity: Vec<ThreadActivity>,
    /// I/O by function of the database, all I/O.
    pub io_by_function: Vec<IoLine>,
    /// I/O by type of file, all I/O.
    pub io_by_file_type: Vec<IoLine>,
    /// I/O profile.
    pub io_profile: Vec<IoProfileLine>,
    /// I/O by tablespace.
    pub tablespaces: Vec<FileIo>,
    /// I/O by file.
    pub files: Vec<FileIo>,
    /// Sizes of caches.
    pub cache_sizes: Vec<CacheSize>,
    /// Parameters that were set.
    pub parameters: Vec<Parameter>,
    /// SQL statements that any section names, each once.
    pub top_sql: Vec<SqlStatement>,
    /// Segments by what was done to them.
    pub segments: Vec<Segment>,
    /// Reads that the buffer cache would need at other sizes.
    pub buffer_pool_advice: Vec<BufferPoolAdvice>,
    /// What other targets of the PGA would do.
    pub pga_advice: Vec<PgaAdvice>,
    /// Top events by the samples of ASH.
    pub ash_events: Vec<AshEvent>,
    /// Whether text cut the M or G of IOStat's data per second, and it was found again by Data / elapsed.
    pub units_were_restored: bool,
    /// Every cell of a global report, as printed: much of it is said by instance.
    pub tables: Vec<Sheet>,
    /// Every section by its title.
    pub sections: Vec<Section>,
    /// What a reader must know: faults of the report itself, and what could not be read.
    pub notes: Vec<String>,
}

/// A table as it is printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// The section's title.
    pub title: String,
    /// The columns' headings, each with the one that it shares with its neighbours; lower case without blanks.
    pub heads: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// The first.
    First,
    /// The second.
    Second,
}

/// The database and the instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Database {
    pub name: Option<String>,
    pub id: Option<String>,
    pub unique_name: Option<String>,
    pub role: Option<String>,
    pub edition: Option<String>,
    pub release: Option<String>,
    pub is_rac: Option<bool>,
    pub is_cdb: Option<bool>,
    /// The container that the report is of: a pluggable database, or the root, which is all of them.
    pub container: Option<String>,
    /// Containers that the report names.
    pub containers: Vec<String>,
    /// Instances of the cluster.
    pub instances: Option<f64>,
    pub instance: Option<String>,
    pub instance_number: Option<u32>,
    pub started: Option<DateTime>,
    /// Whether the minutes of `started` are known: HTML of 11.1 to 12.2 prints the month in their place.
    pub started_to_the_minute: bool,
    /// The standard block size in bytes.
    pub block_bytes: Option<f64>,
}

/// The host.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
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
    /// The first snapshot.
    pub begin: Option<Snapshot>,
    /// The last one.
    pub end: Option<Snapshot>,
    /// Seconds between them: from their times, or as printed in hundredths of a minute.
    pub elapsed_s: Option<Figure>,
    /// Time that sessions spent in calls, in seconds.
    pub db_time_s: Option<Figure>,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Its number.
    pub id: Option<u64>,
    /// When it was taken, by the host's clock.
    pub time: Option<DateTime>,
    /// Sessions at that moment.
    pub sessions: Option<f64>,
    /// Cursors of a session.
    pub cursors_per_session: Option<f64>,
}

/// An instance of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
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
    /// Rates per second.
    pub per_second: Vec<LoadLine>,
}

/// A line of the load profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LoadLine {
    pub name: String,
    pub per_second: Option<Figure>,
    pub per_transaction: Option<Figure>,
    pub per_exec: Option<Figure>,
    pub per_call: Option<Figure>,
}

/// A line of instance efficiency.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Percentage {
    pub name: String,
    pub percent: Option<Figure>,
}

/// What a percentage is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    /// DB time.
    DbTime,
    /// Time of background processes.
    BackgroundTime,
    /// Call time: Statspack's and 10g's DB time.
    CallTime,
}

/// A wait event, or a class of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WaitEvent {
    /// Its name; text cuts it at 26, 28 or 30 characters.
    pub name: String,
    /// Its class; text cuts it too.
    pub class: Option<String>,
    /// Waits. `DB CPU` has none.
    pub waits: Option<Figure>,
    /// Waits per second, where the report prints them: comparisons do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_per_s: Option<Figure>,
    /// Percent of waits that ran into a timeout.
    pub timeouts_percent: Option<Figure>,
    /// Time of all waits, in seconds.
    pub total_s: Option<Figure>,
    /// Mean wait as printed, in microseconds.
    pub average_us: Option<Figure>,
    /// Share in percent.
    pub percent: Option<Figure>,
    /// What it is a share of.
    pub percent_of: Option<ShareOf>,
}

impl WaitEvent {
    /// The mean wait in microseconds: as printed, or total by waits, whichever is more precise.
    #[must_use]
    pub fn mean_us(&self) -> Option<Figure> {
        let waits = self.waits.map(|waits| waits.value).filter(|waits| *waits > 0.0);
        let divided = self.total_s.zip(waits).and_then(|(total, waits)| total.times(1e6).per(waits));
        Figure::finer(self.average_us, divided)
    }
}

impl WaitEvent {
    /// Time of all waits in seconds: as printed, or waits times their mean, whichever is more precise. A total of whole
    /// seconds that reads 0 is not 0.
    #[must_use]
    pub fn time_s(&self) -> Option<Figure> {
        let product = self.waits.zip(self.average_us).map(|(waits, mean)| mean.times(waits.value / 1e6));
        Figure::finer(self.total_s, product)
    }
}

/// A line of the time model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct TimeModelLine {
    pub name: String,
    pub seconds: Option<Figure>,
    pub percent_of_db_time: Option<Figure>,
}

/// A statistic of the operating system; times are centiseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct OsStatistic {
    pub name: String,
    pub value: Option<Figure>,
    /// At the end, where it is different.
    pub end: Option<Figure>,
}

/// Load and CPU of the host, in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct HostCpu {
    pub load_begin: Option<Figure>,
    pub load_end: Option<Figure>,
    pub user_percent: Option<Figure>,
    pub system_percent: Option<Figure>,
    pub wait_percent: Option<Figure>,
    pub idle_percent: Option<Figure>,
}

/// An instance activity statistic. Text cuts its name at 32 characters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Activity {
    pub name: String,
    pub total: Option<Figure>,
    pub per_second: Option<Figure>,
    pub per_transaction: Option<Figure>,
}

/// A statistic that is a state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct AbsoluteValue {
    pub name: String,
    pub begin: Option<Figure>,
    pub end: Option<Figure>,
}

/// A statistic of the redo thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct ThreadActivity {
    pub name: String,
    pub total: Option<Figure>,
    pub per_hour: Option<Figure>,
}

/// The size of a cache in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct CacheSize {
    pub name: String,
    pub begin_bytes: Option<Figure>,
    pub end_bytes: Option<Figure>,
}

/// A parameter that was set.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Parameter {
    pub name: String,
    pub begin: String,
    /// At the end, where it is different.
    pub end: Option<String>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Section {
    pub title: String,
    pub line: usize,
}
