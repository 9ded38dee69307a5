//! Tables for spreadsheets: a row for each report, statement or segment. Those of reports have the columns of `awr-parser` and
//! others that it lacks.
//!
//! IOPS and throughput are all I/O of the instance, unless the column's name says that they are the application's.

use jiff::civil::DateTime;

use super::{
    BLOCK_CHANGES, EXECUTES, HARD_PARSES, LOGICAL_READS, LOGONS, MIB, Named, PARSES, PHYSICAL_READS,
    PHYSICAL_WRITES, REDO, Rate, USER_CALLS, Value, db_cpu_per_s, db_time_per_s, load, single_block_read,
};
use crate::figure::Figure;
use crate::report::{Report, Segment, ShareOf, SqlStatement, ThreadActivity, WaitEvent};

pub struct Column {
    pub name: String,
    get: Get,
}

type Get = Box<dyn Fn(&Named) -> Option<Value> + Send + Sync>;

impl Column {
    pub fn value(&self, named: &Named) -> Option<Value> {
        (self.get)(named).filter(|value| value.as_number().is_none_or(f64::is_finite))
    }
}

fn column(name: impl Into<String>, get: impl Fn(&Named) -> Option<Value> + Send + Sync + 'static) -> Column {
    Column { name: name.into(), get: Box::new(get) }
}

fn text(name: &str, get: fn(&Report) -> Option<String>) -> Column {
    column(name, move |named| get(&named.report).map(Value::Text))
}

fn number(name: &str, get: fn(&Report) -> Option<f64>) -> Column {
    column(name, move |named| get(&named.report).map(Value::Number))
}

fn figure(name: &str, get: fn(&Report) -> Option<Figure>) -> Column {
    column(name, move |named| cell(get(&named.report)))
}

fn rate(name: &str, rate: Rate) -> Column {
    column(name, move |named| cell(rate.per_s(&named.report)))
}

pub fn columns() -> Vec<Column> {
    let mut all = identity();
    all.extend(rates());
    all.extend((0..5).flat_map(top_event));
    for name in FOREGROUND_EVENTS {
        all.extend(waits(name, move |report| report.foreground(name), "Latency"));
    }
    for name in BACKGROUND_EVENTS {
        all.extend(waits(name, move |report| report.background(name), "Latency"));
    }
    let os = [
        ("OS busy time", "BUSY_TIME"),
        ("OS idle time", "IDLE_TIME"),
        ("OS iowait time", "IOWAIT_TIME"),
        ("OS sys time", "SYS_TIME"),
        ("OS user time", "USER_TIME"),
        ("OS cpu wait time", "OS_CPU_WAIT_TIME"),
        ("OS resource mgr wait time", "RSRC_MGR_CPU_WAIT_TIME"),
    ];
    all.extend(os.map(|(name, own)| column(name, move |named| named.report.os(own).map(Value::Number))));
    all.push(text("Data Guard Flag", |report| data_guard(report).map(flag)));
    all.push(text("Exadata Flag", |report| exadata(report).map(flag)));
    for (short, class) in CLASSES {
        all.extend(waits(&format!("Wait Class {short}"), move |report| wait_class(report, class), "Latency"));
    }
    all.extend(lacking());
    all
}

const FOREGROUND_EVENTS: [&str; 7] = [
    "db file sequential read",
    "db file scattered read",
    "direct path read",
    "direct path write",
    "direct path read temp",
    "direct path write temp",
    "log file sync",
];

const BACKGROUND_EVENTS: [&str; 3] =
    ["db file parallel write", "log file parallel write", "log file sequential read"];

const CLASSES: [(&str, &str); 9] = [
    ("Admin", "Administrative"),
    ("Application", "Application"),
    ("Cluster", "Cluster"),
    ("Commit", "Commit"),
    ("Concurrency", "Concurrency"),
    ("Configuration", "Configuration"),
    ("Network", "Network"),
    ("Other", "Other"),
    ("System I/O", "System I/O"),
];

fn flag(yes: bool) -> String {
    (if yes { "Y" } else { "N" }).to_owned()
}

fn identity() -> Vec<Column> {
    vec![
        column("Filename", |named| Some(Value::Text(named.label()))),
        text("Database Name", |report| report.database.name.clone()),
        number("Instance Number", |report| report.database.instance_number.map(f64::from)),
        text("Instance Name", |report| report.database.instance.clone()),
        text("Database Version", |report| report.database.release.clone()),
        text("Cluster", |report| report.database.is_rac.map(flag)),
        text("Hostname", |report| report.host.name.clone()),
        text("Host OS", |report| report.host.platform.clone()),
        number("Num CPUs", Report::cpus),
        number("Server Memory (GB)", |report| report.host.memory_gb),
        number("DB Block Size", Report::block_bytes),
        number("Begin Snap", |report| Some(report.interval.begin.as_ref()?.id? as f64)),
        text("Begin Time", |report| time(report.interval.begin_time())),
        number("End Snap", |report| Some(report.interval.end.as_ref()?.id? as f64)),
        text("End Time", |report| time(report.interval.end_time())),
        number("Elapsed Time (mins)", |report| Some(report.elapsed_s()? / 60.0)),
        number("DB Time (mins)", |report| Some(report.db_time_s()?.value / 60.0)),
        figure("Average Active Sessions", db_time_per_s),
        text("Busy Flag", |report| Some(flag(db_time_per_s(report)?.value > report.cpus()?))),
    ]
}

fn time(moment: Option<DateTime>) -> Option<String> {
    Some(moment?.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

fn of(report: &Report, name: &str) -> Option<f64> {
    Some(report.statistic_per_s(name)?.value)
}

fn rates() -> Vec<Column> {
    const READS: &str = "physical read total IO requests";
    const WRITES: &str = "physical write total IO requests";
    const READ_BYTES: &str = "physical read total bytes";
    const WRITTEN_BYTES: &str = "physical write total bytes";
    vec![
        rate("Logical Reads/sec", LOGICAL_READS),
        rate("Block Changes/sec", BLOCK_CHANGES),
        number("Read IOPS", |report| of(report, READS)),
        number("Write IOPS", |report| Some((of(report, WRITES)? - of(report, "redo writes")?).max(0.0))),
        number("Redo IOPS", |report| of(report, "redo writes")),
        number("All Write IOPS", |report| of(report, WRITES)),
        number("Total IOPS", |report| Some(of(report, READS)? + of(report, WRITES)?)),
        number("Read Throughput (MiB/sec)", |report| Some(of(report, READ_BYTES)? / MIB)),
        number("Write Throughput (MiB/sec)", |report| {
            Some((of(report, WRITTEN_BYTES)? - REDO.per_s(report)?.value).max(0.0) / MIB)
        }),
        number("Redo Throughput (MiB/sec)", |report| Some(REDO.per_s(report)?.value / MIB)),
        number("All Write Throughput (MiB/sec)", |report| Some(of(report, WRITTEN_BYTES)? / MIB)),
        number("Total Throughput (MiB/sec)", |report| {
            Some((of(report, READ_BYTES)? + of(report, WRITTEN_BYTES)?) / MIB)
        }),
        figure("DB CPU Time (s)", Report::db_cpu_s),
        number("DB CPU %DBTime", |report| {
            let printed = report.time_model.iter().find(|line| line.name == "DB CPU");
            let printed = printed.and_then(|line| line.percent_of_db_time).map(|figure| figure.value);
            printed.or_else(|| Some(100.0 * report.db_cpu_s()?.value / report.db_time_s()?.known()?))
        }),
    ]
    .into_iter()
    .chain(waits("Wait Class User I/O", |report| wait_class(report, "User I/O"), "Latency"))
    .chain([
        rate("User Calls/sec", USER_CALLS),
        rate("Parses/sec", PARSES),
        rate("Hard Parses/sec", HARD_PARSES),
        rate("Logons/sec", LOGONS),
        rate("Executes/sec", EXECUTES),
        figure("Transactions/sec", |report| load(report, &["Transactions"])),
        number("Buffer Hit Ratio (%)", |report| percent(report, &["Buffer Hit %"])),
        number("In-Memory Sort Ratio (%)", |report| {
            percent(report, &["In-memory Sort %", "Optimal W/A Exec %"])
        }),
        number("Log Switches (Total)", |report| Some(log_switches(report)?.total?.value)),
        number("Log Switches (Per Hour)", |report| Some(log_switches(report)?.per_hour?.value)),
    ])
    .collect()
}

fn percent(report: &Report, names: &[&str]) -> Option<f64> {
    let line = report.efficiency.iter().find(|line| names.contains(&line.name.as_str()))?;
    Some(line.percent?.value)
}

fn log_switches(report: &Report) -> Option<&ThreadActivity> {
    report.thread_activity.iter().find(|line| line.name.starts_with("log switches"))
}

fn top_event(at: usize) -> Vec<Column> {
    let title = format!("Top5 Event{}", at + 1);
    let of = move |report: &Report| report.top_events.get(at).cloned();
    let mut columns = vec![
        column(format!("{title} Name"), move |named| of(&named.report).map(|event| Value::Text(event.name))),
        column(format!("{title} Class"), move |named| of(&named.report)?.class.map(Value::Text)),
    ];
    columns.extend(waits(&title, of, "Average Time"));
    columns
}

/// Waits, time, mean and share of DB time. The share of background events is computed: reports print it of another time.
fn waits(
    title: &str,
    of: impl Fn(&Report) -> Option<WaitEvent> + Copy + Send + Sync + 'static,
    mean: &str,
) -> [Column; 4] {
    [
        column(format!("{title} Waits"), move |named| cell(of(&named.report)?.waits)),
        column(format!("{title} Time (s)"), move |named| cell(of(&named.report)?.time_s())),
        column(format!("{title} {mean} (ms)"), move |named| {
            Some(Value::Number(of(&named.report)?.mean_us()?.known()? / 1e3))
        }),
        column(format!("{title} %DBTime"), move |named| {
            let event = of(&named.report)?;
            match event.percent_of {
                Some(ShareOf::BackgroundTime) => {
                    let db_time = named.report.db_time_s()?.known()?;
                    Some(Value::Number(100.0 * event.time_s()?.known()? / db_time))
                }
                _ => cell(event.percent),
            }
        }),
    ]
}

fn wait_class(report: &Report, class: &str) -> Option<WaitEvent> {
    let own = |name: &str| class == name || (name.len() >= 8 && class.starts_with(name));
    report.classes_of_sessions().iter().find(|event| own(&event.name)).cloned()
}

/// True if the role or a destination of redo shows a standby.
fn data_guard(report: &Report) -> Option<bool> {
    let is_standby = report.database.role.as_ref().map(|role| role != "PRIMARY");
    let ships = report.parameters.iter().any(|parameter| {
        parameter.name.starts_with("log_archive_dest_") && parameter.begin.to_lowercase().contains("service=")
    });
    (is_standby.is_some() || !report.parameters.is_empty()).then(|| is_standby.unwrap_or(false) || ships)
}

/// True if storage cells serve the reads.
fn exadata(report: &Report) -> Option<bool> {
    let events = || report.top_events.iter().chain(&report.foreground_events).chain(&report.all_events);
    let is_cell = |event: &WaitEvent| {
        // Text cuts the names; some have variants, such as `: RDMA`.
        ["cell single block physical", "cell smart table scan", "cell multiblock physical"]
            .iter()
            .any(|cell| event.name.starts_with(cell))
    };
    events().next().map(|_| events().any(is_cell))
}

/// Columns that `awr-parser` lacks.
fn lacking() -> Vec<Column> {
    vec![
        text("Kind", |report| Some(report.kind.to_string())),
        text("Format", |report| Some(report.format.to_string())),
        column("Sessions (file name)", |named| {
            named.sessions().map(|sessions| Value::Number(f64::from(sessions)))
        }),
        text("Database Id", |report| report.database.id.clone()),
        text("Unique Name", |report| report.database.unique_name.clone()),
        text("Role", |report| report.database.role.clone()),
        text("Edition", |report| report.database.edition.clone()),
        text("CDB", |report| report.database.is_cdb.map(flag)),
        text("Container", |report| report.database.container.clone()),
        number("Cores", |report| report.host.cores),
        number("Sockets", |report| report.host.sockets),
        number("Instances", |report| report.database.instances),
        number("Elapsed Time (s)", Report::elapsed_s),
        figure("DB Time (s)", Report::db_time_s),
        figure("CPUs used by the database", db_cpu_per_s),
        figure("Background CPU Time (s)", |report| report.time_model_s("background cpu time")),
        rate("Physical Read Blocks/sec", PHYSICAL_READS),
        rate("Physical Write Blocks/sec", PHYSICAL_WRITES),
        number("Read IOPS (application)", |report| of(report, "physical read IO requests")),
        number("Write IOPS (application)", |report| of(report, "physical write IO requests")),
        number("Read Throughput (application, MiB/sec)", |report| {
            Some(of(report, "physical read bytes")? / MIB)
        }),
        number("Write Throughput (application, MiB/sec)", |report| {
            Some(of(report, "physical write bytes")? / MIB)
        }),
        number("Single Block Read Latency (us)", |report| single_block_read(report)?.mean_us()?.known()),
        number("Single Block Read Latency resolution (us)", |report| {
            Some(single_block_read(report)?.mean_us()?.resolution)
        }),
        text("Notes", |report| (!report.notes.is_empty()).then(|| report.notes.join("; "))),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Statements,
    /// Segments in the order of the report.
    Segments,
}

type Cells = Vec<Option<Value>>;

/// The head of a column, and the cell of a row.
type Head<T> = (&'static str, fn(&T, &Report) -> Option<Value>);

const OF_REPORT: &[Head<Named>] = &[
    ("Filename", |named, _| Some(Value::Text(named.label()))),
    ("Database Name", |_, report| words(report.database.name.as_deref())),
    ("Instance Name", |_, report| words(report.database.instance.as_deref())),
    ("Begin Time", |_, report| time(report.interval.begin_time()).map(Value::Text)),
    ("End Time", |_, report| time(report.interval.end_time()).map(Value::Text)),
    ("Elapsed Time (s)", |_, report| cell(report.elapsed())),
];

const OF_STATEMENT: &[Head<SqlStatement>] = &[
    ("SQL Id", |sql, _| words(Some(&sql.id))),
    ("Module", |sql, _| words(sql.module.as_deref())),
    ("Container", |sql, _| words(sql.container.as_deref())),
    ("SQL Elapsed Time (s)", |sql, _| cell(sql.elapsed_s)),
    ("SQL %DBTime", |sql, report| {
        Some(Value::Number(100.0 * sql.elapsed_s?.value / report.db_time_s()?.known()?))
    }),
    ("CPU Time (s)", |sql, _| cell(sql.cpu_s)),
    ("User I/O Time (s)", |sql, _| cell(sql.io_wait_s)),
    ("Buffer Gets", |sql, _| cell(sql.gets)),
    ("Physical Reads", |sql, _| cell(sql.reads)),
    ("Executions", |sql, _| cell(sql.executions)),
    ("Rows Processed", |sql, _| cell(sql.rows)),
    ("Elapsed Time per Execution (s)", |sql, _| {
        sql.elapsed_s?.known()?;
        cell(sql.elapsed_s?.per(sql.executions?.value))
    }),
    ("Parse Calls", |sql, _| cell(sql.parse_calls)),
    ("Sharable Memory (bytes)", |sql, _| cell(sql.sharable_bytes)),
    ("Version Count", |sql, _| cell(sql.versions)),
    ("Plans", |sql, _| words(Some(&sql.plans.join(" ")))),
    // All lines of a statement in one cell.
    ("SQL Text", |sql, _| words(Some(&sql.text.split_whitespace().collect::<Vec<_>>().join(" ")))),
];

const OF_SEGMENT: &[Head<Segment>] = &[
    ("Statistic", |segment, _| words(Some(&segment.statistic))),
    ("Owner", |segment, _| words(segment.owner.as_deref())),
    ("Tablespace", |segment, _| words(segment.tablespace.as_deref())),
    ("Object", |segment, _| words(Some(&segment.object))),
    ("Subobject", |segment, _| words(segment.subobject.as_deref())),
    ("Object Type", |segment, _| words(segment.kind.as_deref())),
    ("Container", |segment, _| words(segment.container.as_deref())),
    ("Value", |segment, _| cell(segment.value)),
    ("%Total", |segment, _| cell(segment.percent)),
];

fn words(words: Option<&str>) -> Option<Value> {
    words.filter(|words| !words.is_empty()).map(|words| Value::Text(words.to_owned()))
}

fn cell(figure: Option<Figure>) -> Option<Value> {
    figure.map(|figure| Value::Number(figure.value))
}

impl Work {
    pub fn heads(self) -> Vec<&'static str> {
        let own: Vec<&str> = match self {
            Self::Statements => OF_STATEMENT.iter().map(|(head, _)| *head).collect(),
            Self::Segments => OF_SEGMENT.iter().map(|(head, _)| *head).collect(),
        };
        OF_REPORT.iter().map(|(head, _)| *head).chain(own).collect()
    }

    /// The rows of a report, with a cell for each head; `None` if the report lacks it.
    pub fn rows(self, named: &Named) -> Vec<Cells> {
        fn cells<T>(heads: &[Head<T>], row: &T, report: &Report) -> Cells {
            heads.iter().map(|(_, cell)| cell(row, report)).collect()
        }
        let report = &named.report;
        let own: Vec<Cells> = match self {
            Self::Statements => {
                let mut statements: Vec<&SqlStatement> = report.top_sql.iter().collect();
                let seconds = |sql: &SqlStatement| sql.elapsed_s.map_or(-1.0, |figure| figure.value);
                statements.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
                statements.into_iter().map(|sql| cells(OF_STATEMENT, sql, report)).collect()
            }
            Self::Segments => {
                report.segments.iter().map(|segment| cells(OF_SEGMENT, segment, report)).collect()
            }
        };
        let of_report = cells(OF_REPORT, named, report);
        own.into_iter().map(|own| [of_report.clone(), own].concat()).collect()
    }
}
