//! A report as types, with the headings of their columns. A figure that a report lacks is absent, an empty list or `None`, never
//! 0.

use jiff::civil::DateTime;
use serde::Serialize;

use crate::figure::Figure;
use crate::histogram::EventHistogram;
use crate::kind::{Format, Kind};
use crate::sections::is_sql_id;
use crate::table::{FIRST, Field, FromRow, rows};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub kind: Kind,
    pub format: Format,
    pub period: Option<Period>,
    pub database: Database,
    pub host: Host,
    pub interval: Interval,
    /// A global report has them.
    pub instances: Vec<Instance>,
    pub load_profile: Vec<LoadLine>,
    pub efficiency: Vec<Percentage>,
    /// DB CPU is among them.
    pub top_events: Vec<WaitEvent>,
    pub time_model: Vec<TimeModelLine>,
    pub os_statistics: Vec<OsStatistic>,
    pub host_cpu: Option<HostCpu>,
    /// Classes of foreground sessions.
    pub wait_classes: Vec<WaitEvent>,
    /// Classes of foreground and background together.
    pub all_wait_classes: Vec<WaitEvent>,
    pub foreground_events: Vec<WaitEvent>,
    pub background_events: Vec<WaitEvent>,
    /// Some reports have such a section.
    pub all_events: Vec<WaitEvent>,
    pub histograms: Vec<EventHistogram>,
    pub activity: Vec<Activity>,
    /// Instance activity statistics that are states, not counters.
    pub absolute_values: Vec<AbsoluteValue>,
    /// Log switches and the like.
    pub thread_activity: Vec<ThreadActivity>,
    pub io_by_function: Vec<IoLine>,
    pub io_by_file_type: Vec<IoLine>,
    pub io_profile: Vec<IoProfileLine>,
    pub tablespaces: Vec<FileIo>,
    pub files: Vec<FileIo>,
    pub cache_sizes: Vec<CacheSize>,
    pub parameters: Vec<Parameter>,
    /// A statement appears once for each container.
    pub top_sql: Vec<SqlStatement>,
    /// Rows as printed, for the checks of their arithmetic.
    #[serde(skip)]
    pub(crate) sql_sections: Vec<SqlSection>,
    pub segments: Vec<Segment>,
    pub buffer_pool_advice: Vec<BufferPoolAdvice>,
    pub pga_advice: Vec<PgaAdvice>,
    pub ash_events: Vec<AshEvent>,
    /// Text cut the M or G of IOStat's data per second, and Data / elapsed restored it.
    pub units_were_restored: bool,
    /// Global reports have them, and [`crate::Scope::Tables`]. A comparison's are in its first period.
    pub tables: Vec<Sheet>,
    pub sections: Vec<Section>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    pub title: String,
    pub is_typed: bool,
    /// Shared headings come first; lower case without blanks.
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    First,
    Second,
}

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
    /// The pluggable database, or the root for all of them.
    pub container: Option<String>,
    pub containers: Vec<String>,
    pub instances: Option<f64>,
    pub instance: Option<String>,
    pub instance_number: Option<u32>,
    pub started: Option<DateTime>,
    /// HTML of 11.1 to 12.2 prints the month in place of the minutes.
    pub started_to_the_minute: bool,
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

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    pub begin: Option<Snapshot>,
    pub end: Option<Snapshot>,
    pub elapsed_s: Option<Figure>,
    pub db_time_s: Option<Figure>,
}

impl Interval {
    pub fn begin_time(&self) -> Option<DateTime> {
        self.begin.as_ref()?.time
    }

    pub fn end_time(&self) -> Option<DateTime> {
        self.end.as_ref()?.time
    }

    pub(crate) fn by_clock(&self) -> Option<Figure> {
        let (begin, end) = self.begin_time().zip(self.end_time())?;
        Some(Figure { value: end.duration_since(begin).as_secs_f64(), resolution: 1.0 })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Percentage {
    pub name: String,
    pub percent: Option<Figure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShareOf {
    DbTime,
    BackgroundTime,
    /// DB time in Statspack and 10g.
    CallTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    pub title: String,
    pub line: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SqlStatement {
    pub id: String,
    /// The pluggable database, if the section names it.
    pub container: Option<String>,
    pub module: Option<String>,
    pub elapsed_s: Option<Figure>,
    pub cpu_s: Option<Figure>,
    pub io_wait_s: Option<Figure>,
    /// Blocks.
    pub gets: Option<Figure>,
    /// Blocks.
    pub reads: Option<Figure>,
    pub executions: Option<Figure>,
    pub rows: Option<Figure>,
    pub parse_calls: Option<Figure>,
    pub sharable_bytes: Option<Figure>,
    pub versions: Option<Figure>,
    /// Hashes of plans in samples of ASH.
    pub plans: Vec<String>,
    /// Text as far as the report prints it.
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SqlSection {
    pub(crate) title: String,
    pub(crate) rows: Vec<SqlRow>,
}

impl WaitEvent {
    /// The more precise of the printed mean and total by waits.
    pub fn mean_us(&self) -> Option<Figure> {
        let waits = self.waits.map(|waits| waits.value).filter(|waits| *waits > 0.0);
        let divided = self.total_s.zip(waits).and_then(|(total, waits)| total.times(1e6).per(waits));
        Figure::finer(self.average_us, divided)
    }

    /// The more precise of the printed time and waits times their mean. Whole seconds that read 0 may be more.
    pub fn time_s(&self) -> Option<Figure> {
        let product = self.waits.zip(self.average_us).map(|(waits, mean)| mean.times(waits.value / 1e6));
        Figure::finer(self.total_s, product)
    }
}

pub(crate) const WAITS_COLUMN: &str = "waits|#waits";
pub(crate) const TOTAL_COLUMN: &str =
    "*time(s*&!*avg*&!*%*|tota*&!*avg*&!*%*|*waittime*&!*avg*&!*%*|*totalwait*>@*|*waittime(s*>@*";
pub(crate) const AVERAGE_COLUMN: &str = "*avg*&!*active*|*avgwait*>@*|*avgtime*>@*";
const SHARE_COLUMN: &str = "*%*&!*out*&*bgtime*|*%*&!*out*&*dbtime*|*%*&!*out*&*total*call*|*%*&!*out*&*total*time*\
    |*%ofdbtime*>@*|*%dbtime*>@*";

rows! {
    pub struct Snapshot {
        pub id: Option<u64> = id("snapid"),
        /// The host's time.
        pub time: Option<DateTime> = moment("snaptime"),
        pub sessions: Option<f64> = value("sessions"),
        pub cursors_per_session: Option<f64> = value("curs*"),
    }

    pub struct Instance {
        pub number: String = text("i#*|inst*"),
        pub name: Option<String> = words("instance"),
        pub host: Option<String> = words("host*"),
        pub release: Option<String> = words("release*"),
        pub platform: Option<String> = words("platform*"),
        pub started: Option<DateTime> = moment("startup*"),
        pub begin: Option<DateTime> = moment("beginsnap*"),
        pub end: Option<DateTime> = moment("endsnap*"),
        pub elapsed_s: Option<Figure> = minutes("elapsedtime*"),
        pub db_time_s: Option<Figure> = minutes("dbtime*"),
        pub average_active_sessions: Option<Figure> = number("avgactive*"),
        pub up_hours: Option<Figure> = number("uptime*"),
        pub per_second: Vec<LoadLine>,
    }
    if |row| !row.number.is_empty() && row.number.bytes().all(|byte| byte.is_ascii_digit());

    pub struct LoadLine {
        pub name: String = name(FIRST),
        pub per_second: Option<Figure> = number("persecond|@persec*"),
        pub per_transaction: Option<Figure> = number("pertransaction|@pertxn*|@pertran*"),
        pub per_exec: Option<Figure> = number("perexec"),
        pub per_call: Option<Figure> = number("percall"),
        /// Comparisons compute it from more digits than the rates have.
        #[serde(skip)]
        pub(crate) difference_percent: Option<Figure> = number("%diff"),
    }

    pub struct WaitEvent {
        /// Text cuts it at 26, 28 or 30 characters.
        pub name: String,
        /// Text cuts it too.
        pub class: Option<String>,
        /// `DB CPU` has none.
        pub waits: Option<Figure> = number(WAITS_COLUMN),
        /// Only comparisons print it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub waits_per_s: Option<Figure> = number("*waits/sec*>@*"),
        pub timeouts_percent: Option<Figure> = number("*%*&*out*&!*time)*"),
        pub total_s: Option<Figure> = number(TOTAL_COLUMN),
            pub average_us: Option<Figure> = duration(AVERAGE_COLUMN),
        pub percent: Option<Figure> = number(SHARE_COLUMN),
        pub percent_of: Option<ShareOf> = share_of(SHARE_COLUMN),
        #[serde(skip_serializing_if = "Option::is_none")]
        pub waits_per_transaction: Option<Figure> = number("waits/txn|*waits/txn*>@*"),
    }

    pub struct TimeModelLine {
        pub name: String = name(FIRST),
        pub seconds: Option<Figure> = number("time(s*|*time(s*>@*"),
        pub percent_of_db_time: Option<Figure> = number("%*dbtime|*%ofdbtime*>@*"),
    }
    if |row| row.seconds.is_some();

    /// Times are centiseconds.
    pub struct OsStatistic {
        pub name: String = name(FIRST),
        pub value: Option<Figure> = number("value|total|*value*>@*"),
        /// The value at the end if it is another.
        pub end: Option<Figure> = number("endvalue"),
    }
    if |row| row.value.is_some();

    pub struct HostCpu {
        pub load_begin: Option<Figure> = number("*begin"),
        pub load_end: Option<Figure> = number("*end"),
        pub user_percent: Option<Figure> = number("*user"),
        pub system_percent: Option<Figure> = number("*system"),
        pub wait_percent: Option<Figure> = number("*wio"),
        pub idle_percent: Option<Figure> = number("*idle"),
    }
    if |row| *row != Self::default();

    /// Text cuts its name at 32 characters.
    pub struct Activity {
        pub name: String = name(FIRST),
        pub total: Option<Figure> = number("total|*value*>@*"),
        pub per_second: Option<Figure> = number("persecond|*persecond(elapsed*>@*"),
        pub per_transaction: Option<Figure> = number("pertrans*|*pertrans*>@*"),
    }
    if |row| !row.name.is_empty();

    pub struct AbsoluteValue {
        pub name: String = name(FIRST),
        pub begin: Option<Figure> = number("beginvalue"),
        pub end: Option<Figure> = number("endvalue"),
    }
    if |row| !row.name.is_empty();

    pub struct ThreadActivity {
        pub name: String = name(FIRST),
        pub total: Option<Figure> = number("total"),
        pub per_hour: Option<Figure> = number("perhour"),
    }
    if |row| !row.name.is_empty();

    pub struct CacheSize {
        pub name: String = name(FIRST),
        pub begin_bytes: Option<Figure> = mib("@*"),
        pub end_bytes: Option<Figure>,
    }
    if |row| row.begin_bytes.is_some();

    pub struct Parameter {
        pub name: String = name(FIRST),
        pub begin: String = text("@*>begin*"),
        pub end: Option<String> = words("@*>end*"),
    }
    if |row| !row.name.is_empty();

    /// The reader adds `read/`, `write/` or `wait/` to the groups.
    pub struct IoLine {
        /// Text cuts it.
        pub name: String = name(FIRST),
        pub read_bytes: Option<Figure> = bytes("read/*>*data*&!*sec*"),
        pub reads_per_s: Option<Figure> = number("read/*>*req*"),
        pub read_bytes_per_s: Option<Figure> = bytes("read/*>*data*&*sec*"),
        pub written_bytes: Option<Figure> = bytes("write/*>*data*&!*sec*"),
        pub writes_per_s: Option<Figure> = number("write/*>*req*"),
        pub written_bytes_per_s: Option<Figure> = bytes("write/*>*data*&*sec*"),
        pub waits: Option<Figure> = number("wait/*>*count*"),
            pub average_us: Option<Figure> = duration_ms("wait/*>*avg*|wait/*>*tm*|wait/*>*time*"),
            pub small_read_us: Option<Figure> = duration_ms("*small*"),
            pub large_read_us: Option<Figure> = duration_ms("*large*"),
    }
    if |row| !row.name.is_empty() && (row.reads_per_s.is_some() || row.writes_per_s.is_some());

    pub struct IoProfileLine {
        pub name: String = name(FIRST),
        pub both: Option<Figure> = number("read+write*"),
        pub read: Option<Figure> = number("read*&!*+*"),
        pub written: Option<Figure> = number("write*"),
    }

    pub struct FileIo {
        pub tablespace: String = name(FIRST),
        pub file: Option<String> = words("filename"),
        pub reads: Option<Figure> = number("reads"),
        pub reads_per_s: Option<Figure> = number("avrds/s|avreads/s|rds/s|reads/s|avrd/s"),
        pub read_us: Option<Figure> = duration_ms("avrd(ms)|rd(ms)"),
        pub blocks_per_read: Option<Figure> = number("avblks/rd|blks/rd"),
        pub writes: Option<Figure> = number("writes"),
        /// In 11.2.0.4 and 12.1 the writes of tablespaces are printed below this heading.
        #[serde(skip)]
        pub(crate) one_block_rate: Option<Figure> = number("1-bkrds/s"),
        pub writes_per_s: Option<Figure> = number("writesavg/s|avwrites/s|avgwrites/s|writes/s"),
        pub buffer_waits: Option<Figure> = number("bufferwaits"),
        pub buffer_wait_us: Option<Figure> = duration_ms("avbufwt(ms)|avbufwait(ms)|bufwt(ms)"),
    }
    if |row| row.reads.is_some();

    pub struct SqlRow {
        pub value: Option<Figure> = number(FIRST),
        pub id: String = text("sqlid"),
        pub executions: Option<Figure> = number("executions"),
        pub rows: Option<Figure> = number("rowsprocessed"),
        pub per_exec: Option<Figure> = number("*perexec*&!*%*"),
        pub percent: Option<Figure> = number("%total|%totalparses"),
        pub elapsed_s: Option<Figure> = number("elapsedtime(s)"),
        pub cpu_percent: Option<Figure> = number("%cpu"),
        pub io_percent: Option<Figure> = number("%io"),
    }
    if |row| row.value.is_some() && is_sql_id(&row.id);

    /// Its value has no heading of its own in some releases.
    pub struct Segment {
        pub statistic: String = text("statistic"),
        pub owner: Option<String> = words("owner"),
        pub tablespace: Option<String> = words("tablespacename|tablespace"),
        pub object: String = text("objectname"),
        pub subobject: Option<String> = words("subobjectname|subobject"),
        pub kind: Option<String> = words("obj.type|objecttype|type"),
        pub container: Option<String> = words("pdbname|containername"),
        pub value: Option<Figure>,
        pub percent: Option<Figure> = number("%*|pcttotal"),
    }

    pub struct BufferPoolAdvice {
        pub pool: String = name(FIRST),
        pub size_mb: Option<Figure> = number("sizefor*"),
        pub size_factor: Option<Figure> = number("sizefactor*"),
        pub read_factor: Option<Figure> = number("*read*&*factor*"),
        /// Some releases leave the unit out.
        pub thousand_reads: Option<Figure> = number("estimatedphys*"),
    }
    if |row| row.size_mb.is_some();

    pub struct PgaAdvice {
        pub target_mb: Option<Figure> = number("pgatarget*"),
        pub size_factor: Option<Figure> = number("*factr*"),
        pub extra_mb: Option<Figure> = number("*extra*"),
        pub cache_hit_percent: Option<Figure> = number("*hit%*"),
        pub overallocations: Option<Figure> = number("*allo*"),
    }
    if |row| row.target_mb.is_some();

    pub struct AshEvent {
        pub event: String = name(FIRST),
        pub class: Option<String> = words("*class"),
        pub session_type: Option<String> = words("sessiontype"),
        pub percent: Option<Figure> = number("%activity|%event|activity%"),
        pub average_active_sessions: Option<Figure> =
            number("avgactivesessions|avgactivesess|avgactive|sessions"),
    }
    if |row| !row.event.is_empty();
}
