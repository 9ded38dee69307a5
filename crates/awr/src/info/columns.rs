//! Tables for spreadsheets, with the columns of `awr-parser` and others. IOPS and throughput are all I/O of the instance unless
//! the name says the application's.

use super::{
    BLOCK_CHANGES, EXECUTES, HARD_PARSES, LOGICAL_READS, LOGONS, MIB, Named, PARSES, PHYSICAL_READS,
    PHYSICAL_WRITES, REDO, Rate, USER_CALLS, Value, db_cpu_per_s, db_time_per_s, load, single_block_read,
};
use crate::relations::ToCell;
use crate::report::{Report, Segment, ShareOf, SqlStatement, ThreadActivity, WaitEvent};

pub struct Column {
    pub name: String,
    get: Get,
}

type Get = Box<dyn Fn(&Named) -> Option<Value> + Send + Sync>;

impl Column {
    pub fn value(&self, named: &Named) -> Option<Value> {
        (self.get)(named)
    }
}

fn column(name: impl Into<String>, get: impl Fn(&Named) -> Option<Value> + Send + Sync + 'static) -> Column {
    Column { name: name.into(), get: Box::new(get) }
}

fn own<T: ToCell + 'static>(name: &str, get: fn(&Report) -> Option<T>) -> Column {
    column(name, move |named| get(&named.report).cell())
}

fn rate(name: &str, rate: Rate) -> Column {
    column(name, move |named| rate.per_s(&named.report).cell())
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
    all.extend(os.map(|(name, own)| column(name, move |named| named.report.os(own).cell())));
    all.push(own("Data Guard Flag", |report| data_guard(report).map(flag)));
    all.push(own("Exadata Flag", |report| exadata(report).map(flag)));
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
        column("Filename", |named| named.label().cell()),
        own("Database Name", |report| report.database.name.clone()),
        own("Instance Number", |report| report.database.instance_number.map(f64::from)),
        own("Instance Name", |report| report.database.instance.clone()),
        own("Database Version", |report| report.database.release.clone()),
        own("Cluster", |report| report.database.is_rac.map(flag)),
        own("Hostname", |report| report.host.name.clone()),
        own("Host OS", |report| report.host.platform.clone()),
        own("Num CPUs", Report::cpus),
        own("Server Memory (GB)", |report| report.host.memory_gb),
        own("DB Block Size", Report::block_bytes),
        own("Begin Snap", |report| Some(report.interval.begin.as_ref()?.id? as f64)),
        own("Begin Time", |report| report.interval.begin_time()),
        own("End Snap", |report| Some(report.interval.end.as_ref()?.id? as f64)),
        own("End Time", |report| report.interval.end_time()),
        own("Elapsed Time (mins)", |report| Some(report.elapsed_s()? / 60.0)),
        own("DB Time (mins)", |report| Some(report.db_time_s()?.value / 60.0)),
        own("Average Active Sessions", db_time_per_s),
        own("Busy Flag", |report| Some(flag(db_time_per_s(report)?.value > report.cpus()?))),
    ]
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
        own("Read IOPS", |report| of(report, READS)),
        own("Write IOPS", |report| Some((of(report, WRITES)? - of(report, "redo writes")?).max(0.0))),
        own("Redo IOPS", |report| of(report, "redo writes")),
        own("All Write IOPS", |report| of(report, WRITES)),
        own("Total IOPS", |report| Some(of(report, READS)? + of(report, WRITES)?)),
        own("Read Throughput (MiB/sec)", |report| Some(of(report, READ_BYTES)? / MIB)),
        own("Write Throughput (MiB/sec)", |report| {
            Some((of(report, WRITTEN_BYTES)? - REDO.per_s(report)?.value).max(0.0) / MIB)
        }),
        own("Redo Throughput (MiB/sec)", |report| Some(REDO.per_s(report)?.value / MIB)),
        own("All Write Throughput (MiB/sec)", |report| Some(of(report, WRITTEN_BYTES)? / MIB)),
        own("Total Throughput (MiB/sec)", |report| {
            Some((of(report, READ_BYTES)? + of(report, WRITTEN_BYTES)?) / MIB)
        }),
        own("DB CPU Time (s)", Report::db_cpu_s),
        own("DB CPU %DBTime", |report| {
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
        own("Transactions/sec", |report| load(report, &["Transactions"])),
        own("Buffer Hit Ratio (%)", |report| percent(report, &["Buffer Hit %"])),
        own("In-Memory Sort Ratio (%)", |report| {
            percent(report, &["In-memory Sort %", "Optimal W/A Exec %"])
        }),
        own("Log Switches (Total)", |report| Some(log_switches(report)?.total?.value)),
        own("Log Switches (Per Hour)", |report| Some(log_switches(report)?.per_hour?.value)),
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
        column(format!("{title} Name"), move |named| of(&named.report)?.name.cell()),
        column(format!("{title} Class"), move |named| of(&named.report)?.class.cell()),
    ];
    columns.extend(waits(&title, of, "Average Time"));
    columns
}

/// The share of background events is computed: reports print it of another time.
fn waits(
    title: &str,
    of: impl Fn(&Report) -> Option<WaitEvent> + Copy + Send + Sync + 'static,
    mean: &str,
) -> [Column; 4] {
    [
        column(format!("{title} Waits"), move |named| of(&named.report)?.waits.cell()),
        column(format!("{title} Time (s)"), move |named| of(&named.report)?.time_s().cell()),
        column(format!("{title} {mean} (ms)"), move |named| {
            (of(&named.report)?.mean_us()?.known()? / 1e3).cell()
        }),
        column(format!("{title} %DBTime"), move |named| {
            let event = of(&named.report)?;
            match event.percent_of {
                Some(ShareOf::BackgroundTime) => {
                    let db_time = named.report.db_time_s()?.known()?;
                    (100.0 * event.time_s()?.known()? / db_time).cell()
                }
                _ => event.percent.cell(),
            }
        }),
    ]
}

fn wait_class(report: &Report, class: &str) -> Option<WaitEvent> {
    let own = |name: &str| class == name || (name.len() >= 8 && class.starts_with(name));
    report.classes_of_sessions().iter().find(|event| own(&event.name)).cloned()
}

fn data_guard(report: &Report) -> Option<bool> {
    let is_standby = report.database.role.as_ref().map(|role| role != "PRIMARY");
    let ships = report.parameters.iter().any(|parameter| {
        parameter.name.starts_with("log_archive_dest_") && parameter.begin.to_lowercase().contains("service=")
    });
    (is_standby.is_some() || !report.parameters.is_empty()).then(|| is_standby.unwrap_or(false) || ships)
}

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

fn lacking() -> Vec<Column> {
    vec![
        own("Kind", |report| Some(report.kind.to_string())),
        own("Format", |report| Some(report.format.to_string())),
        column("Sessions (file name)", |named| named.sessions().map(f64::from).cell()),
        own("Database Id", |report| report.database.id.clone()),
        own("Unique Name", |report| report.database.unique_name.clone()),
        own("Role", |report| report.database.role.clone()),
        own("Edition", |report| report.database.edition.clone()),
        own("CDB", |report| report.database.is_cdb.map(flag)),
        own("Container", |report| report.database.container.clone()),
        own("Cores", |report| report.host.cores),
        own("Sockets", |report| report.host.sockets),
        own("Instances", |report| report.database.instances),
        own("Elapsed Time (s)", Report::elapsed_s),
        own("DB Time (s)", Report::db_time_s),
        own("CPUs used by the database", db_cpu_per_s),
        own("Background CPU Time (s)", |report| report.time_model_s("background cpu time")),
        rate("Physical Read Blocks/sec", PHYSICAL_READS),
        rate("Physical Write Blocks/sec", PHYSICAL_WRITES),
        own("Read IOPS (application)", |report| of(report, "physical read IO requests")),
        own("Write IOPS (application)", |report| of(report, "physical write IO requests")),
        own("Read Throughput (application, MiB/sec)", |report| {
            Some(of(report, "physical read bytes")? / MIB)
        }),
        own("Write Throughput (application, MiB/sec)", |report| {
            Some(of(report, "physical write bytes")? / MIB)
        }),
        own("Single Block Read Latency (us)", |report| single_block_read(report)?.mean_us()?.known()),
        own("Single Block Read Latency resolution (us)", |report| {
            Some(single_block_read(report)?.mean_us()?.resolution)
        }),
        own("Notes", |report| (!report.notes.is_empty()).then(|| report.notes.join("; "))),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Statements,
    Segments,
}

type Cells = Vec<Option<Value>>;

type Head<T> = (&'static str, fn(&T, &Report) -> Option<Value>);

const OF_REPORT: &[Head<Named>] = &[
    ("Filename", |named, _| named.label().cell()),
    ("Database Name", |_, report| report.database.name.cell()),
    ("Instance Name", |_, report| report.database.instance.cell()),
    ("Begin Time", |_, report| report.interval.begin_time().cell()),
    ("End Time", |_, report| report.interval.end_time().cell()),
    ("Elapsed Time (s)", |_, report| report.elapsed().cell()),
];

const OF_STATEMENT: &[Head<SqlStatement>] = &[
    ("SQL Id", |sql, _| sql.id.cell()),
    ("Module", |sql, _| sql.module.cell()),
    ("Container", |sql, _| sql.container.cell()),
    ("SQL Elapsed Time (s)", |sql, _| sql.elapsed_s.cell()),
    ("SQL %DBTime", |sql, report| (100.0 * sql.elapsed_s?.value / report.db_time_s()?.known()?).cell()),
    ("CPU Time (s)", |sql, _| sql.cpu_s.cell()),
    ("User I/O Time (s)", |sql, _| sql.io_wait_s.cell()),
    ("Buffer Gets", |sql, _| sql.gets.cell()),
    ("Physical Reads", |sql, _| sql.reads.cell()),
    ("Executions", |sql, _| sql.executions.cell()),
    ("Rows Processed", |sql, _| sql.rows.cell()),
    ("Elapsed Time per Execution (s)", |sql, _| {
        sql.elapsed_s?.known()?;
        sql.elapsed_s?.per(sql.executions?.value).cell()
    }),
    ("Parse Calls", |sql, _| sql.parse_calls.cell()),
    ("Sharable Memory (bytes)", |sql, _| sql.sharable_bytes.cell()),
    ("Version Count", |sql, _| sql.versions.cell()),
    ("Plans", |sql, _| sql.plans.join(" ").cell()),
    ("SQL Text", |sql, _| sql.text.split_whitespace().collect::<Vec<_>>().join(" ").cell()),
];

const OF_SEGMENT: &[Head<Segment>] = &[
    ("Statistic", |segment, _| segment.statistic.cell()),
    ("Owner", |segment, _| segment.owner.cell()),
    ("Tablespace", |segment, _| segment.tablespace.cell()),
    ("Object", |segment, _| segment.object.cell()),
    ("Subobject", |segment, _| segment.subobject.cell()),
    ("Object Type", |segment, _| segment.kind.cell()),
    ("Container", |segment, _| segment.container.cell()),
    ("Value", |segment, _| segment.value.cell()),
    ("%Total", |segment, _| segment.percent.cell()),
];

impl Work {
    pub fn heads(self) -> Vec<&'static str> {
        let own: Vec<&str> = match self {
            Self::Statements => OF_STATEMENT.iter().map(|(head, _)| *head).collect(),
            Self::Segments => OF_SEGMENT.iter().map(|(head, _)| *head).collect(),
        };
        OF_REPORT.iter().map(|(head, _)| *head).chain(own).collect()
    }

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
