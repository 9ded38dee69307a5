//! Two reports side by side, in the tables of a compare-period report.
//!
//! What costs comes first: waits and CPU, classes, statements, by how much of DB time changed. Idle waits are left out.
//! What grows with the interval is divided by its seconds: of 60 minutes and of 15 the totals say nothing about the load.

mod sql;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::figure::Figure;
use crate::idle::is_idle;
use crate::names;
use crate::report::{OsStatistic, Report, WaitEvent};

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffTable {
    /// What it is about.
    pub title: &'static str,
    /// The unit of its figures.
    pub unit: &'static str,
    /// Whether the rows are in the order of their change, the largest first.
    pub is_by_change: bool,
    /// Its rows.
    pub rows: Vec<DiffRow>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffRow {
    /// What it is about.
    pub name: String,
    /// The first report's value.
    pub first: Side,
    /// The second's.
    pub second: Side,
    /// The second relative to the first, in percent; absent if one is absent or the first is 0.
    pub change_percent: Option<f64>,
}

/// A value of one report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Side {
    /// It has none.
    Absent,
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

/// The tables of two reports. Rows that both lack are left out.
#[must_use]
pub fn diff(first: &Report, second: &Report) -> Vec<DiffTable> {
    let both = Both { first, second };
    let tables = [
        both.test(),
        both.facts(),
        both.events("Wait Events and CPU: time", SECONDS_PER_SECOND, |event, report| {
            per_second(event.time_s(), report)
        })
        .by_change(),
        both.classes().by_change(),
        sql::time(&both).by_change(),
        sql::per_execution(&both).by_change(),
        sql::plans(&both),
        both.load(),
        both.time_model(),
        both.events("Wait Events: average wait", "us", |event, _| {
            Some(event.mean_us().filter(|mean| !mean.is_below_resolution())?.value)
        }),
        both.events("Wait Events: waits per second", "1/s", |event, report| {
            event.waits_per_s.map(|rate| rate.value).or_else(|| per_second(event.waits, report))
        }),
        both.os("Operating System Statistics: time", SECONDS_PER_SECOND, |line, report| {
            let is_time = line.name.ends_with("_TIME");
            // Operating systems count in centiseconds, of all CPUs together.
            per_second(line.value.filter(|_| is_time).map(|time| time.times(0.01)), report)
        }),
        both.os("Operating System Statistics: paging", "bytes per second", |line, report| {
            per_second(line.value.filter(|_| is_paging(&line.name)), report)
        }),
        both.os("Operating System Statistics", "", |line, _| {
            let is_counter = line.name.ends_with("_TIME") || is_paging(&line.name);
            Some(line.value.filter(|_| !is_counter)?.value)
        }),
        both.io("IOStat by Function: requests per second", |line| sum(line.reads_per_s, line.writes_per_s)),
        both.io("IOStat by Function: bytes per second", |line| {
            sum(line.read_bytes_per_s, line.written_bytes_per_s)
        }),
        sql::segments(&both, "Segments: logical reads", "logical reads").by_change(),
        sql::segments(&both, "Segments: physical reads", "physical reads").by_change(),
        both.activity(),
        both.caches(),
        both.parameters(),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
}

impl DiffTable {
    fn new(title: &'static str, unit: &'static str, rows: Vec<DiffRow>) -> Self {
        Self { title, unit, is_by_change: false, rows }
    }

    /// With the rows in the order of what changed most; what one side lacks counts as 0.
    fn by_change(mut self) -> Self {
        let number = |side: &Side| match side {
            Side::Number(number) => *number,
            Side::Absent | Side::Text(_) => 0.0,
        };
        let change = |row: &DiffRow| (number(&row.second) - number(&row.first)).abs();
        self.rows.sort_by(|one, other| change(other).total_cmp(&change(one)));
        self.is_by_change = true;
        self
    }
}

/// Of seconds that sessions or CPUs spent: so many of them at a time.
const SECONDS_PER_SECOND: &str = "s per second";

/// A total by the interval's seconds.
fn per_second(total: Option<Figure>, report: &Report) -> Option<f64> {
    Some(report.per_second(total)?.value)
}

/// `VM_IN_BYTES` and `VM_OUT_BYTES`; Oracle marks them with an asterisk where they are of the whole host.
fn is_paging(name: &str) -> bool {
    matches!(name.trim_start_matches('*'), "VM_IN_BYTES" | "VM_OUT_BYTES")
}

fn sum(one: Option<Figure>, other: Option<Figure>) -> Option<Figure> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(Figure { value: one.value + other.value, resolution: one.resolution + other.resolution })
        }
        (one, other) => one.or(other),
    }
}

/// A row, unless both lack it.
fn numbers(name: impl Into<String>, [first, second]: [Option<f64>; 2]) -> Option<DiffRow> {
    let change = first.zip(second).filter(|(first, _)| *first != 0.0);
    let side = |value: Option<f64>| value.map_or(Side::Absent, Side::Number);
    (first.is_some() || second.is_some()).then(|| DiffRow {
        name: name.into(),
        first: side(first),
        second: side(second),
        change_percent: change.map(|(first, second)| 100.0 * (second - first) / first),
    })
}

/// Events of foreground and background together, with the CPU of sessions, without what is idle.
fn all_events(report: &Report) -> Vec<WaitEvent> {
    let lists: [&[WaitEvent]; 2] = match report.foreground_events.is_empty() {
        true => [&report.all_events, &[]],
        false => [&report.foreground_events, &report.background_events],
    };
    let mut events: Vec<WaitEvent> = Vec::new();
    for event in lists.concat() {
        match events.iter_mut().find(|known| known.name == event.name) {
            Some(known) => {
                known.waits = sum(known.waits, event.waits);
                known.total_s = sum(known.total_s, event.total_s);
                known.average_us = known
                    .total_s
                    .zip(known.waits)
                    .and_then(|(total, waits)| total.times(1e6).per(waits.value));
            }
            None => events.push(event),
        }
    }
    events.retain(|event| !is_idle(event) && !IS_CPU.contains(&event.name.as_str()));
    let cpu = report.db_cpu_s();
    events.extend(cpu.map(|total| WaitEvent {
        name: "DB CPU".into(),
        total_s: Some(total),
        ..WaitEvent::default()
    }));
    events
}

/// What stands for CPU among events.
const IS_CPU: [&str; 3] = ["DB CPU", "CPU time", "background cpu time"];

struct Both<'a> {
    first: &'a Report,
    second: &'a Report,
}

impl Both<'_> {
    fn numbers(&self, name: impl Into<String>, of: impl Fn(&Report) -> Option<f64>) -> Option<DiffRow> {
        numbers(name, [of(self.first), of(self.second)])
    }

    fn texts(&self, name: impl Into<String>, of: impl Fn(&Report) -> Option<String>) -> Option<DiffRow> {
        let (first, second) = (of(self.first), of(self.second));
        let side = |value: Option<String>| value.map_or(Side::Absent, Side::Text);
        (first.is_some() || second.is_some()).then(|| DiffRow {
            name: name.into(),
            first: side(first),
            second: side(second),
            change_percent: None,
        })
    }

    fn test(&self) -> DiffTable {
        let time = |of: fn(&Report) -> Option<jiff::civil::DateTime>| {
            move |report: &Report| Some(of(report)?.to_string())
        };
        let rows = [
            self.texts("Database", |report| report.database.name.clone()),
            self.texts("Instance", |report| report.database.instance.clone()),
            self.texts("Release", |report| report.database.release.clone()),
            self.texts("Host", |report| report.host.name.clone()),
            self.texts("Platform", |report| report.host.platform.clone()),
            self.texts("Begin snapshot", time(|report| report.interval.begin.as_ref()?.time)),
            self.texts("End snapshot", time(|report| report.interval.end.as_ref()?.time)),
        ];
        DiffTable::new("Snapshots", "", rows.into_iter().flatten().collect())
    }

    fn facts(&self) -> DiffTable {
        let host = |of: fn(&crate::report::HostCpu) -> Option<Figure>| {
            move |report: &Report| Some(of(report.host_cpu.as_ref()?)?.value)
        };
        let rows = [
            self.numbers("Elapsed (s)", Report::elapsed_s),
            self.numbers("DB time (s)", |report| report.db_time_s().map(|figure| figure.value)),
            self.numbers("Average active sessions", |report| Some(crate::info::db_time_per_s(report)?.value)),
            self.numbers("CPUs", Report::cpus),
            self.numbers("Cores", |report| report.host.cores),
            self.numbers("Sockets", |report| report.host.sockets),
            self.numbers("Memory (GB)", |report| report.host.memory_gb),
            self.numbers("Load at begin", host(|cpu| cpu.load_begin)),
            self.numbers("Load at end", host(|cpu| cpu.load_end)),
            self.numbers("User (%)", host(|cpu| cpu.user_percent)),
            self.numbers("System (%)", host(|cpu| cpu.system_percent)),
            self.numbers("Idle (%)", host(|cpu| cpu.idle_percent)),
            self.numbers("Waiting for I/O (%)", host(|cpu| cpu.wait_percent)),
        ];
        DiffTable::new("Host Configuration Comparison", "", rows.into_iter().flatten().collect())
    }

    /// Lines of the load profile, which releases and formats name differently.
    fn load(&self) -> DiffTable {
        let of = |get: fn(&Report) -> Option<Figure>| move |report: &Report| Some(get(report)?.value);
        let line =
            |name: &'static [&'static str]| move |report: &Report| Some(report.load(name)?.per_second?.value);
        let rows = [
            self.numbers("DB time (s)", of(crate::info::db_time_per_s)),
            self.numbers("DB CPU (s)", of(crate::info::db_cpu_per_s)),
            self.numbers("Redo size (bytes)", of(crate::info::redo_per_s)),
            self.numbers("Logical reads (blocks)", of(crate::info::logical_reads_per_s)),
            self.numbers("Block changes", line(&["Block changes"])),
            self.numbers("Physical reads (blocks)", of(crate::info::physical_reads_per_s)),
            self.numbers("Physical writes (blocks)", of(crate::info::physical_writes_per_s)),
            self.numbers("Read requests", of(|report| report.statistic_per_s("physical read IO requests"))),
            self.numbers("Write requests", of(|report| report.statistic_per_s("physical write IO requests"))),
            self.numbers("User calls", line(&["User calls"])),
            self.numbers("Parses", line(&["Parses (SQL)", "Parses"])),
            self.numbers("Hard parses", line(&["Hard parses (SQL)", "Hard parses"])),
            self.numbers("Logons", line(&["Logons"])),
            self.numbers("Executes", of(crate::info::executes_per_s)),
            self.numbers("Transactions", line(&["Transactions"])),
        ];
        DiffTable::new("Workload Comparison", "per second", rows.into_iter().flatten().collect())
    }

    /// The lines of both reports by their names, which columns of these widths cut.
    fn by_name<'a, T: 'a>(
        &'a self,
        list: impl Fn(&'a Report) -> &'a [T],
        name: impl Fn(&'a T) -> &'a str,
        widths: &[usize],
        value: impl Fn(&T, &Report) -> Option<f64>,
    ) -> Vec<DiffRow> {
        self.paired([list(self.first), list(self.second)], name, widths, value)
    }

    fn paired<'a, T: 'a>(
        &self,
        [first, second]: [&'a [T]; 2],
        name: impl Fn(&'a T) -> &'a str,
        widths: &[usize],
        value: impl Fn(&T, &Report) -> Option<f64>,
    ) -> Vec<DiffRow> {
        let sides = [(first, self.first.format), (second, self.second.format)];
        let pairs = names::pairs(sides, name, widths).into_iter();
        pairs
            .filter_map(|(name, [first, second])| {
                let first = first.and_then(|line| value(line, self.first));
                let second = second.and_then(|line| value(line, self.second));
                numbers(name, [first, second])
            })
            .collect()
    }

    fn time_model(&self) -> DiffTable {
        let rows = self.by_name(
            |report| &report.time_model,
            |line| &line.name,
            &names::TIME_MODEL,
            |line, report| per_second(line.seconds, report),
        );
        DiffTable::new("Time Model Statistics", SECONDS_PER_SECOND, rows)
    }

    fn classes(&self) -> DiffTable {
        let rows = self.by_name(
            |report| &report.wait_classes,
            |line| &line.name,
            &[],
            |line, report| per_second(line.time_s(), report),
        );
        DiffTable::new("Wait Classes: wait time", SECONDS_PER_SECOND, rows)
    }

    /// Events of foreground and background.
    fn events(
        &self,
        title: &'static str,
        unit: &'static str,
        of: fn(&WaitEvent, &Report) -> Option<f64>,
    ) -> DiffTable {
        let (first, second) = (all_events(self.first), all_events(self.second));
        let rows = self.paired([&first, &second], |event| &event.name, &names::EVENTS, of);
        DiffTable::new(title, unit, rows)
    }

    fn os(
        &self,
        title: &'static str,
        unit: &'static str,
        of: fn(&OsStatistic, &Report) -> Option<f64>,
    ) -> DiffTable {
        let rows = self.by_name(|report| &report.os_statistics, |line| &line.name, &names::OS_STATISTICS, of);
        DiffTable::new(title, unit, rows)
    }

    fn io(&self, title: &'static str, of: fn(&crate::report::IoLine) -> Option<Figure>) -> DiffTable {
        let rows = self.by_name(
            |report| &report.io_by_function,
            |line| &line.name,
            &names::FUNCTIONS,
            |line, _| of(line).map(|figure| figure.value),
        );
        DiffTable::new(title, "1/s", rows)
    }

    fn activity(&self) -> DiffTable {
        let rows = self.by_name(
            |report| &report.activity,
            |line| &line.name,
            &names::STATISTICS,
            |line, report| report.per_s(line).map(|figure| figure.value),
        );
        DiffTable::new("Instance Activity Stats", "per second", rows)
    }

    fn caches(&self) -> DiffTable {
        let rows = self.by_name(
            |report| &report.cache_sizes,
            |line| &line.name,
            &[],
            |line, _| line.begin_bytes.map(|size| size.value),
        );
        DiffTable::new("Cache Sizes", "bytes", rows)
    }

    /// Only those that differ.
    fn parameters(&self) -> DiffTable {
        let names: BTreeSet<&str> = self
            .first
            .parameters
            .iter()
            .chain(&self.second.parameters)
            .map(|parameter| parameter.name.as_str())
            .collect();
        let value = |report: &Report, name: &str| report.parameter(name).map(str::to_owned);
        let rows = names
            .into_iter()
            .filter(|name| value(self.first, name) != value(self.second, name))
            .filter_map(|name| self.texts(name, |report| value(report, name)));
        DiffTable::new("init.ora Parameters that differ", "", rows.collect())
    }
}
