//! Two reports in the tables of a compare-period report, per second, without idle waits.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::figure::Figure;
use crate::info::{
    BACKGROUND_CPU, BLOCK_CHANGES, DB_CPU, DB_TIME, EXECUTES, HARD_PARSES, LOGICAL_READS, LOGONS, PARSES,
    PHYSICAL_READS, PHYSICAL_WRITES, REDO, USER_CALLS, Value, db_cpu_per_s, db_time_per_s,
};
use crate::lookup::{EVENTS, FUNCTIONS, OS_STATISTICS, Paired, STATISTICS, TIME_MODEL, is_idle, pairs};
use crate::report::{IoLine, LoadLine, OsStatistic, Report, SqlStatement, WaitEvent};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffTable {
    pub title: &'static str,
    pub unit: &'static str,
    pub is_by_change: bool,
    pub rows: Vec<DiffRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffRow {
    pub name: String,
    pub first: Option<Value>,
    pub second: Option<Value>,
    /// Absent if one is absent or the first is 0.
    pub change_percent: Option<f64>,
}

type Both<'a> = [&'a Report; 2];

/// The unit of average sessions or CPUs.
const SECONDS_PER_SECOND: &str = "s per second";

type Table = (&'static str, &'static str, bool, fn(Both<'_>) -> Vec<DiffRow>);

const TABLES: [Table; 21] = [
    ("Snapshots", "", false, |both| {
        SNAPSHOTS.iter().filter_map(|(name, of)| texts(name, both.map(of))).collect()
    }),
    ("Host Configuration Comparison", "", false, |both| {
        HOST.iter().filter_map(|(name, of)| numbers(name, both.map(of))).collect()
    }),
    ("Wait Events and CPU: time", SECONDS_PER_SECOND, true, |both| {
        events(both, |event, report| per_second(event.time_s(), report))
    }),
    ("Wait Classes: wait time", SECONDS_PER_SECOND, true, |both| {
        let lists = both.map(|report| report.wait_classes.as_slice());
        by_name(both, lists, |line| &line.name, &[], |line, report| per_second(line.time_s(), report))
    }),
    ("SQL: elapsed time", SECONDS_PER_SECOND, true, |both| {
        statements(both, |sql, report| per_second(sql.elapsed_s, report))
    }),
    ("SQL: elapsed time per execution", "s", true, |both| {
        statements(both, |sql, _| {
            sql.elapsed_s?.known()?;
            Some(sql.elapsed_s?.per(sql.executions?.value)?.value)
        })
    }),
    ("SQL whose plan changed", "", false, plans),
    ("Workload Comparison", "per second", false, workload),
    ("Time Model Statistics", SECONDS_PER_SECOND, false, |both| {
        let lists = both.map(|report| report.time_model.as_slice());
        by_name(both, lists, |line| &line.name, &TIME_MODEL, |line, report| per_second(line.seconds, report))
    }),
    ("Wait Events: average wait", "us", false, |both| events(both, |event, _| event.mean_us()?.known())),
    ("Wait Events: waits per second", "1/s", false, |both| {
        events(both, |event, report| {
            event.waits_per_s.map(|rate| rate.value).or_else(|| per_second(event.waits, report))
        })
    }),
    ("Operating System Statistics: time", SECONDS_PER_SECOND, false, |both| {
        os_statistics(both, |line, report| {
            // Operating systems count centiseconds, of all CPUs together.
            per_second(line.value.filter(|_| is_time(line)).map(|time| time.times(0.01)), report)
        })
    }),
    ("Operating System Statistics: paging", "bytes per second", false, |both| {
        os_statistics(both, |line, report| per_second(line.value.filter(|_| is_paging(line)), report))
    }),
    ("Operating System Statistics", "", false, |both| {
        os_statistics(both, |line, _| Some(line.value.filter(|_| !is_time(line) && !is_paging(line))?.value))
    }),
    ("IOStat by Function: requests per second", "1/s", false, |both| {
        io(both, |line| [line.reads_per_s, line.writes_per_s])
    }),
    ("IOStat by Function: bytes per second", "1/s", false, |both| {
        io(both, |line| [line.read_bytes_per_s, line.written_bytes_per_s])
    }),
    ("Segments: logical reads", "per second", true, |both| segments(both, "logical reads")),
    ("Segments: physical reads", "per second", true, |both| segments(both, "physical reads")),
    ("Instance Activity Stats", "per second", false, |both| {
        let lists = both.map(|report| report.activity.as_slice());
        by_name(both, lists, |line| &line.name, &STATISTICS, |line, report| Some(report.per_s(line)?.value))
    }),
    ("Cache Sizes", "bytes", false, |both| {
        let lists = both.map(|report| report.cache_sizes.as_slice());
        by_name(both, lists, |line| &line.name, &[], |line, _| Some(line.begin_bytes?.value))
    }),
    ("init.ora Parameters that differ", "", false, parameters),
];

const TRANSACTIONS: &str = "Transactions";

type Line<T> = (&'static str, fn(&Report) -> Option<T>);

const SNAPSHOTS: &[Line<String>] = &[
    ("Database", |report| report.database.name.clone()),
    ("Instance", |report| report.database.instance.clone()),
    ("Release", |report| report.database.release.clone()),
    ("Host", |report| report.host.name.clone()),
    ("Platform", |report| report.host.platform.clone()),
    ("Begin snapshot", |report| Some(report.interval.begin_time()?.to_string())),
    ("End snapshot", |report| Some(report.interval.end_time()?.to_string())),
];

const HOST: &[Line<f64>] = &[
    ("Elapsed (s)", Report::elapsed_s),
    ("DB time (s)", |report| Some(report.db_time_s()?.value)),
    ("Average active sessions", |report| Some(db_time_per_s(report)?.value)),
    ("CPUs", Report::cpus),
    ("Cores", |report| report.host.cores),
    ("Sockets", |report| report.host.sockets),
    ("Memory (GB)", |report| report.host.memory_gb),
    ("Load at begin", |report| Some(report.host_cpu.as_ref()?.load_begin?.value)),
    ("Load at end", |report| Some(report.host_cpu.as_ref()?.load_end?.value)),
    ("User (%)", |report| Some(report.host_cpu.as_ref()?.user_percent?.value)),
    ("System (%)", |report| Some(report.host_cpu.as_ref()?.system_percent?.value)),
    ("Idle (%)", |report| Some(report.host_cpu.as_ref()?.idle_percent?.value)),
    ("Waiting for I/O (%)", |report| Some(report.host_cpu.as_ref()?.wait_percent?.value)),
];

const LOAD: &[(&[&str], Line<Figure>)] = &[
    (DB_TIME, ("DB time (s)", db_time_per_s)),
    (DB_CPU, ("DB CPU (s)", db_cpu_per_s)),
    (REDO.names, ("Redo size (bytes)", |report| REDO.per_s(report))),
    (LOGICAL_READS.names, ("Logical reads (blocks)", |report| LOGICAL_READS.per_s(report))),
    (BLOCK_CHANGES.names, ("Block changes", |report| BLOCK_CHANGES.in_load_profile(report))),
    (PHYSICAL_READS.names, ("Physical reads (blocks)", |report| PHYSICAL_READS.per_s(report))),
    (PHYSICAL_WRITES.names, ("Physical writes (blocks)", |report| PHYSICAL_WRITES.per_s(report))),
    (&[], ("Read requests", |report| report.statistic_per_s("physical read IO requests"))),
    (&[], ("Write requests", |report| report.statistic_per_s("physical write IO requests"))),
    (USER_CALLS.names, ("User calls", |report| USER_CALLS.in_load_profile(report))),
    (PARSES.names, ("Parses", |report| PARSES.in_load_profile(report))),
    (HARD_PARSES.names, ("Hard parses", |report| HARD_PARSES.in_load_profile(report))),
    (LOGONS.names, ("Logons", |report| LOGONS.in_load_profile(report))),
    (EXECUTES.names, ("Executes", |report| EXECUTES.per_s(report))),
    (&[TRANSACTIONS], (TRANSACTIONS, |report| report.load(&[TRANSACTIONS])?.per_second)),
];

/// A comparison's lines are as printed, with their printed difference.
fn workload(both: Both<'_>) -> Vec<DiffRow> {
    let [first, second] = both.map(|report| (report.load_profile.as_slice(), report.format));
    let is_one_report = both.iter().all(|report| report.period.is_some());
    let lines: Vec<Paired<'_, LoadLine>> = pairs([first, second], |line| &line.name, &[]);
    // DB CPU includes that of the background.
    let is_named = |name: &str| name == BACKGROUND_CPU || LOAD.iter().any(|(names, _)| names.contains(&name));
    let is_own = |name: &str| is_one_report || !is_named(name);
    let printed = lines.into_iter().filter(|(name, _)| is_own(name)).filter_map(|(name, sides)| {
        let row = numbers(name, sides.map(|side| Some(side?.per_second?.value)))?;
        let difference = sides[0].and_then(|line| line.difference_percent).map(|figure| figure.value);
        Some(DiffRow { change_percent: difference.or(row.change_percent.filter(|_| !is_one_report)), ..row })
    });
    let value = |of: fn(&Report) -> Option<Figure>| both.map(|report| Some(of(report)?.value));
    let named =
        LOAD.iter().filter(|_| !is_one_report).filter_map(|(_, (name, of))| numbers(name, value(*of)));
    named.chain(printed).collect()
}

pub fn diff(first: &Report, second: &Report) -> Vec<DiffTable> {
    let table = |&(title, unit, is_by_change, rows): &Table| {
        let mut rows = rows([first, second]);
        if is_by_change {
            rows.sort_by(|one, other| change(other).total_cmp(&change(one)));
        }
        DiffTable { title, unit, is_by_change, rows }
    };
    TABLES.iter().map(table).filter(|table| !table.rows.is_empty()).collect()
}

fn change(row: &DiffRow) -> f64 {
    let number = |side: &Option<Value>| side.as_ref().and_then(Value::as_number).unwrap_or_default();
    (number(&row.second) - number(&row.first)).abs()
}

fn per_second(total: Option<Figure>, report: &Report) -> Option<f64> {
    Some(report.per_second(total)?.value)
}

fn row(name: &str, [first, second]: [Option<Value>; 2], change_percent: Option<f64>) -> Option<DiffRow> {
    let is_present = first.is_some() || second.is_some();
    is_present.then(|| DiffRow { name: name.to_owned(), first, second, change_percent })
}

fn numbers(name: &str, sides: [Option<f64>; 2]) -> Option<DiffRow> {
    let both = sides[0].zip(sides[1]).filter(|(first, _)| *first != 0.0);
    let change_percent = both.map(|(first, second)| 100.0 * (second - first) / first);
    row(name, sides.map(|side| side.map(Value::Number)), change_percent)
}

fn texts(name: &str, sides: [Option<String>; 2]) -> Option<DiffRow> {
    row(name, sides.map(|side| side.map(Value::Text)), None)
}

fn by_name<'a, T>(
    both: Both<'_>,
    [first, second]: [&'a [T]; 2],
    name: impl Fn(&'a T) -> &'a str,
    widths: &[usize],
    value: impl Fn(&T, &Report) -> Option<f64>,
) -> Vec<DiffRow> {
    let pairs = pairs([(first, both[0].format), (second, both[1].format)], name, widths);
    let row =
        |(name, sides): Paired<'_, T>| numbers(name, [0, 1].map(|side| value(sides[side]?, both[side])));
    pairs.into_iter().filter_map(row).collect()
}

fn events(both: Both<'_>, value: fn(&WaitEvent, &Report) -> Option<f64>) -> Vec<DiffRow> {
    let [first, second] = both.map(busy_events);
    by_name(both, [&first, &second], |event| &event.name, &EVENTS, value)
}

/// CPU of sessions is among them, idle events are not.
fn busy_events(report: &Report) -> Vec<WaitEvent> {
    let lists: [&[WaitEvent]; 2] = match (report.foreground_events.is_empty(), report.all_events.is_empty()) {
        (false, _) => [&report.foreground_events, &report.background_events],
        (true, false) => [&report.all_events, &[]],
        // An excerpt may have these alone.
        (true, true) => [&report.top_events, &report.background_events],
    };
    let mut events: Vec<WaitEvent> = Vec::new();
    for event in lists.concat() {
        match events.iter_mut().find(|known| known.name == event.name) {
            Some(known) => {
                known.waits = Figure::sum([known.waits, event.waits]);
                known.total_s = Figure::sum([known.total_s, event.total_s]);
                let total = known.total_s.zip(known.waits);
                known.average_us = total.and_then(|(total, waits)| total.times(1e6).per(waits.value));
            }
            None => events.push(event),
        }
    }
    let is_cpu = |name: &str| ["DB CPU", "CPU time", "background cpu time"].contains(&name);
    events.retain(|event| !is_idle(event) && !is_cpu(&event.name));
    if let Some(total) = report.db_cpu_s() {
        events.push(WaitEvent { name: "DB CPU".into(), total_s: Some(total), ..WaitEvent::default() });
    }
    events
}

fn os_statistics(both: Both<'_>, value: fn(&OsStatistic, &Report) -> Option<f64>) -> Vec<DiffRow> {
    let lists = both.map(|report| report.os_statistics.as_slice());
    by_name(both, lists, |line| &line.name, &OS_STATISTICS, value)
}

fn is_time(line: &OsStatistic) -> bool {
    line.name.ends_with("_TIME")
}

/// Oracle marks `VM_IN_BYTES` and `VM_OUT_BYTES` with an asterisk if they are of the whole host.
fn is_paging(line: &OsStatistic) -> bool {
    matches!(line.name.trim_start_matches('*'), "VM_IN_BYTES" | "VM_OUT_BYTES")
}

fn io(both: Both<'_>, sides: fn(&IoLine) -> [Option<Figure>; 2]) -> Vec<DiffRow> {
    let lists = both.map(|report| report.io_by_function.as_slice());
    let value = |line: &IoLine, _: &Report| Some(Figure::sum(sides(line))?.value);
    by_name(both, lists, |line| &line.name, &FUNCTIONS, value)
}

/// The key is the id, with the container if both reports name containers or an id has several.
fn sql_rows(
    both: Both<'_>,
    row: impl Fn(&str, [Option<&SqlStatement>; 2]) -> Option<DiffRow>,
) -> Vec<DiffRow> {
    let name_containers = both.iter().all(|report| report.top_sql.iter().any(|sql| sql.container.is_some()));
    let sides = both.map(|report| {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        report.top_sql.iter().for_each(|sql| *count.entry(&sql.id).or_default() += 1);
        let key = |sql: &SqlStatement| match &sql.container {
            Some(container) if name_containers || count[&*sql.id] > 1 => format!("{} {container}", sql.id),
            _ => sql.id.clone(),
        };
        report.top_sql.iter().map(|sql| (key(sql), sql)).collect::<Vec<_>>()
    });
    let [first, second] = [0, 1].map(|side| (sides[side].as_slice(), both[side].format));
    let pairs: Vec<Paired<'_, (String, &SqlStatement)>> = pairs([first, second], |(key, _)| key, &[]);
    pairs
        .into_iter()
        .filter_map(|(key, sides)| row(key, sides.map(|side| side.map(|(_, sql)| *sql))))
        .collect()
}

const SQL_CHARS: usize = 48;

fn sql_name(key: &str, sides: [Option<&SqlStatement>; 2]) -> String {
    let text = sides.into_iter().flatten().map(|sql| sql.text.as_str()).find(|text| !text.is_empty());
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    let start: String = words.join(" ").chars().take(SQL_CHARS).collect();
    format!("{key} {start}").trim_end().to_owned()
}

fn statements(both: Both<'_>, value: fn(&SqlStatement, &Report) -> Option<f64>) -> Vec<DiffRow> {
    sql_rows(both, |key, sides| {
        let values = [0, 1].map(|side| value(sides[side]?, both[side]));
        numbers(&sql_name(key, sides), values)
    })
}

fn plans(both: Both<'_>) -> Vec<DiffRow> {
    sql_rows(both, |key, sides| {
        let [first, second] = [&sides[0]?.plans, &sides[1]?.plans];
        let differ = !first.is_empty() && !second.is_empty() && first != second;
        texts(&sql_name(key, sides), [first, second].map(|plans| differ.then(|| plans.join(" "))))
    })
}

fn segments(both: Both<'_>, statistic: &str) -> Vec<DiffRow> {
    let sides = both.map(|report| -> BTreeMap<String, f64> {
        let own = report.segments.iter().filter(|segment| segment.statistic.eq_ignore_ascii_case(statistic));
        let named = own.filter_map(|segment| {
            let parts = [segment.owner.as_deref(), Some(&*segment.object), segment.subobject.as_deref()];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join(".");
            let name = segment.container.iter().fold(name, |name, container| format!("{name} {container}"));
            Some((name, per_second(segment.value, report)?))
        });
        named.collect()
    });
    let names: BTreeSet<&String> = sides.iter().flat_map(BTreeMap::keys).collect();
    let row = |name: &String| numbers(name, [0, 1].map(|side| sides[side].get(name).copied()));
    names.into_iter().filter_map(row).collect()
}

fn parameters(both: Both<'_>) -> Vec<DiffRow> {
    let all = both.into_iter().flat_map(|report| &report.parameters);
    let names: BTreeSet<&str> = all.map(|parameter| parameter.name.as_str()).collect();
    let row = |name: &str| {
        let [first, second] = both.map(|report| report.parameter(name).map(str::to_owned));
        texts(name, [first, second]).filter(|row| row.first != row.second)
    };
    names.into_iter().filter_map(row).collect()
}
