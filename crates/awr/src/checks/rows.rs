//! Pairs by the arithmetic of a table's rows: total = waits x mean, share = time / whole, rate = total / time. Only rounding may
//! make them differ.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::{Pair, Verdict, compare, pair_of};
use crate::figure::{Figure, MIB};
use crate::histogram::EventHistogram;
use crate::kind::Kind;
use crate::lookup::{STATISTICS, is_idle, total_of};
use crate::report::{
    Activity, FileIo, IoLine, IoProfileLine, Report, ShareOf, SqlRow, SqlSection, WaitEvent,
};

/// Rounded figures may be off by their last digits, and by as much again: the database computed with more digits.
const ROUNDING_PERCENT: f64 = 1.0;
/// A quotient this precise shows what the rows of a table have in common.
const PRECISE: f64 = 0.05;

pub(super) struct Family {
    pub(super) what: &'static str,
    pub(super) sources: [&'static str; 2],
    rows: Vec<Compared>,
}

/// The name of two figures that should agree.
type Compared = (String, Figure, Figure);

/// `None` if the report lacks one of the figures.
fn compared(name: impl Into<String>, one: Option<Figure>, other: Option<Figure>) -> Option<Compared> {
    Some((name.into(), one?, other?))
}

impl Family {
    pub(super) fn pairs(self) -> Vec<Pair> {
        let pair = |(what, first, second): Compared| {
            let verdict = verdict(first, second);
            Pair { verdict, ..pair_of(what, self.sources, [first, second]) }
        };
        self.rows.into_iter().map(pair).collect()
    }
}

fn verdict(first: Figure, second: Figure) -> Verdict {
    let slack = first.resolution + second.resolution;
    let larger = first.value.abs().max(second.value.abs());
    match (first.value - second.value).abs() <= slack + ROUNDING_PERCENT / 100.0 * larger {
        true => Verdict::Agree,
        // A difference above rounding is at least this.
        false => compare(first, second).1.max(Verdict::Differ),
    }
}

const WAITS: &str = "waits x mean = time";
const SHARES: &str = "share = time / whole";
const PER_SECOND: &str = "per second = total / elapsed time";
const PER_TRANSACTION: &str = "per transaction = total / (commits + rollbacks)";
const SUMS: &str = "total = sum of the lines";
const SAME: &str = "the same figure";
const SQL: &str = "SQL ordered by ...";
const ELAPSED: &str = "elapsed time (s)";

pub(super) fn families(report: &Report) -> Vec<Family> {
    let mut all = Vec::new();
    let mut add = |what, sources, rows| all.push(Family { what, sources, rows });
    let events: [(&str, &[WaitEvent]); 6] = [
        ("Top events", &report.top_events),
        ("Foreground Wait Class", &report.wait_classes),
        ("Wait classes", &report.all_wait_classes),
        ("Foreground Wait Events", &report.foreground_events),
        ("Background Wait Events", &report.background_events),
        ("Wait Events", &report.all_events),
    ];
    for (source, events) in events {
        add(WAITS, [source, "waits x mean"], waits_by_mean(events));
    }
    for (source, events) in &events[..5] {
        add(SHARES, [source, "time / whole"], shares(report, events));
    }
    let lines = report.time_model.iter();
    let lines = lines.map(|line| (line.name.clone(), line.seconds, line.percent_of_db_time));
    let rows = proportional("DB time (s)", lines, report.db_time_s(), 100.0);
    add(SHARES, ["Time Model", "time / DB time"], rows);
    for (source, events) in &events[3..5] {
        add(PER_TRANSACTION, [source, "waits / transactions"], waits_per_transaction(report, events));
    }
    add(SAME, ["Top events", "events of sessions"], top_and_events(report));
    let totals = |part: fn(&Activity) -> Option<Figure>| {
        report.activity.iter().map(move |line| (line.name.clone(), counted(line.total), part(line)))
    };
    let rows = proportional(ELAPSED, totals(|line| line.per_second), report.elapsed(), 1.0);
    add(PER_SECOND, ["Instance Activity", "total / elapsed time"], rows);
    let rows = proportional("transactions", totals(|line| line.per_transaction), transactions(report), 1.0);
    add(PER_TRANSACTION, ["Instance Activity", "total / transactions"], rows);
    let lines = report.thread_activity.iter();
    let lines = lines.map(|line| (line.name.clone(), counted(line.total), line.per_hour));
    let rows = proportional(ELAPSED, lines, report.elapsed(), 3600.0);
    add("per hour = total / elapsed time", ["Thread Activity", "total / elapsed time"], rows);
    add(SAME, ["Key Instance Activity", "Instance Activity"], key_statistics(report));
    add(SAME, ["Load Profile", "Instance Activity, total by elapsed time"], load_and_statistics(report));
    add(
        PER_TRANSACTION,
        ["Load Profile", "per second / transactions per second"],
        load_per_transaction(report),
    );
    add(
        "time per execution and per call",
        ["Load Profile", "time / executions or calls"],
        load_per_call(report),
    );
    add("efficiency", ["Instance Efficiency", "Instance Activity"], efficiency(report));
    add("busy CPUs", ["Host CPU", "Operating System Statistics"], host(report));
    let lines = report.io_profile.iter();
    let sum = |line: &IoProfileLine| Figure::sum([Some(line.read?), line.written]);
    let rows = lines.filter_map(|line| compared(&line.name, line.both, sum(line))).collect();
    add("I/O of all kinds", ["IO Profile", "read + written"], rows);
    add(SAME, ["IO Profile", "Instance Activity"], io_profile(report));
    add(SUMS, ["IOStat by Function", "sum of the functions"], io_sums(&report.io_by_function));
    add(SUMS, ["IOStat by Filetype", "sum of the file types"], io_sums(&report.io_by_file_type));
    let rates = |lines| io_rates(report, lines);
    add(PER_SECOND, ["IOStat by Function", "data / elapsed time"], rates(&report.io_by_function));
    add(PER_SECOND, ["IOStat by Filetype", "data / elapsed time"], rates(&report.io_by_file_type));
    add(SUMS, ["Tablespace IO Stats", "sum of its files"], files_of_tablespaces(report));
    let rates = |files| file_rates(report, files);
    add(PER_SECOND, ["Tablespace IO Stats", "total / elapsed time"], rates(&report.tablespaces));
    add(PER_SECOND, ["File IO Stats", "total / elapsed time"], rates(&report.files));
    add("share = value / whole", ["Segments", "value / whole"], segments(report));
    add("share = value / whole", [SQL, "value / whole"], sql_shares(report));
    add("per execution = value / executions", [SQL, "value / executions"], sql_per_execution(report));
    add("share = time / elapsed time", [SQL, "time / elapsed time"], sql_of_elapsed(report));
    add(SAME, [SQL, "its other sections"], sql_of_other_sections(report));
    let sum = |own: &EventHistogram, sum: Figure| (own.event.clone(), sum, Figure::exact(100.0));
    let histograms = report.histograms.iter();
    let rows = histograms.flat_map(|own| own.sections.iter().map(move |part| sum(own, part.sum))).collect();
    add("shares add up to 100 %", ["Wait Event Histogram", "100 %"], rows);
    add(
        "waits of a range = share x total",
        ["Wait Event Histogram", "its other sections"],
        histogram_ranges(report),
    );
    all
}

fn of_sql(what: &str, id: &str, section: &SqlSection) -> String {
    format!("{what} of {id} in '{}'", section.title)
}

fn sql_shares(report: &Report) -> Vec<Compared> {
    let of_section = |own: &SqlSection| {
        let by_elapsed = own.title.contains("Elapsed") && report.kind == Kind::Awr;
        let known = report.db_time_s().filter(|_| by_elapsed);
        let lines = own.rows.iter().map(|row| (of_sql("share", &row.id, own), row.value, row.percent));
        proportional(&format!("whole of '{}'", own.title), lines, known, 100.0)
    };
    report.sql_sections.iter().flat_map(of_section).collect()
}

fn sql_per_execution(report: &Report) -> Vec<Compared> {
    let row = |(own, row): (&SqlSection, &SqlRow)| {
        let (value, executions) = match row.rows {
            None => (row.value, row.executions),
            rows => (rows, row.value),
        };
        let computed = counted(value)?.per_figure(counted(executions)?);
        compared(of_sql("value per execution", &row.id, own), row.per_exec, computed)
    };
    sql_rows(report).filter_map(row).collect()
}

fn sql_rows(report: &Report) -> impl Iterator<Item = (&SqlSection, &SqlRow)> {
    report.sql_sections.iter().flat_map(|own| own.rows.iter().map(move |row| (own, row)))
}

fn sql_of_elapsed(report: &Report) -> Vec<Compared> {
    let row = |(own, row): (&SqlSection, &SqlRow)| {
        let share = match own.title.as_str() {
            title if title.contains("CPU") => row.cpu_percent,
            title if title.contains("I/O") => row.io_percent,
            _ => None,
        };
        let computed = row.value?.times(100.0).per_figure(row.elapsed_s?);
        compared(of_sql("share of elapsed time", &row.id, own), share, computed)
    };
    sql_rows(report).filter_map(row).collect()
}

type SqlFigure = (&'static str, fn(&SqlSection, &SqlRow) -> Option<Figure>);

const SQL_FIGURES: [SqlFigure; 4] = [
    ("executions", |own, row| if own.title.contains("Executions") { row.value } else { row.executions }),
    ("elapsed time (s)", |own, row| if own.title.contains("Elapsed") { row.value } else { row.elapsed_s }),
    ("CPU (%)", |_, row| row.cpu_percent),
    ("I/O (%)", |_, row| row.io_percent),
];

fn sql_of_other_sections(report: &Report) -> Vec<Compared> {
    let mut seen = BTreeSet::new();
    let of_several: BTreeSet<&str> = sql_rows(report)
        .filter(|(own, row)| !seen.insert((&own.title, &row.id)))
        .map(|(_, row)| row.id.as_str())
        .collect();
    let mut first = BTreeMap::new();
    let mut rows = Vec::new();
    for (own, row) in sql_rows(report).filter(|(_, row)| !of_several.contains(row.id.as_str())) {
        for (what, of) in SQL_FIGURES {
            let Some(figure) = of(own, row) else { continue };
            match first.entry((what, row.id.as_str())) {
                Entry::Vacant(place) => _ = place.insert(figure),
                Entry::Occupied(known) => rows.push((of_sql(what, &row.id, own), *known.get(), figure)),
            }
        }
    }
    rows
}

fn product(one: Figure, other: Figure) -> Figure {
    let value = one.value * other.value;
    let resolution = one.resolution * other.value.abs() + one.value.abs() * other.resolution;
    Figure { value, resolution }
}

/// A whole number without a unit is exact.
fn counted(figure: Option<Figure>) -> Option<Figure> {
    let is_whole = |figure: Figure| figure.resolution == 1.0;
    figure.map(|figure| if is_whole(figure) { Figure::exact(figure.value) } else { figure })
}

/// The constant is known, or is that of most lines; a known one that most lines lack is a pair of its own.
fn proportional(
    constant: &str,
    lines: impl Iterator<Item = (String, Option<Figure>, Option<Figure>)>,
    known: Option<Figure>,
    scale: f64,
) -> Vec<Compared> {
    let lines: Vec<Compared> =
        lines.filter_map(|(name, whole, part)| compared(name, Some(whole?.times(scale)), part)).collect();
    let precision = |figure: Figure| figure.resolution / figure.value;
    let is_precise = |(_, whole, part): &&Compared| {
        whole.value > 0.0 && part.value > 0.0 && precision(*whole) + precision(*part) <= PRECISE
    };
    let mut quotients: Vec<f64> =
        lines.iter().filter(is_precise).map(|(_, whole, part)| whole.value / part.value).collect();
    quotients.sort_by(f64::total_cmp);
    let median =
        quotients.get(quotients.len() / 2).map(|value| Figure { value: *value, resolution: PRECISE * value });
    let finest = lines.iter().filter(is_precise).filter_map(|(_, whole, part)| whole.per_figure(*part));
    let finest = finest.min_by(|one, other| precision(*one).total_cmp(&precision(*other)));
    let fits = |finest: &Figure| median.is_some_and(|median| verdict(*finest, median) == Verdict::Agree);
    let common = finest.filter(fits).or(median).filter(|_| quotients.len() >= 3);
    let known = known.filter(|known| known.value > 0.0);
    let is_same = |known: &Figure| common.is_none_or(|common| verdict(*known, common) == Verdict::Agree);
    let Some(divisor) = known.filter(is_same).or(common) else { return Vec::new() };
    let of_line = |(name, whole, part): &Compared| compared(name, Some(*part), whole.per_figure(divisor));
    compared(constant, known, common).into_iter().chain(lines.iter().filter_map(of_line)).collect()
}

fn waits_by_mean(events: &[WaitEvent]) -> Vec<Compared> {
    let row = |event: &WaitEvent| {
        let time = product(event.waits.filter(|waits| waits.value > 0.0)?, event.average_us?);
        compared(&event.name, event.total_s, Some(time.times(1e-6)))
    };
    events.iter().filter_map(row).collect()
}

fn shares(report: &Report, events: &[WaitEvent]) -> Vec<Compared> {
    let mut rows = Vec::new();
    for of in [ShareOf::DbTime, ShareOf::BackgroundTime, ShareOf::CallTime] {
        // Global reports print shares of background time as percentages in one table and as fractions in another.
        let is_mixed = of == ShareOf::BackgroundTime && report.kind == Kind::AwrGlobal;
        let own = events.iter().filter(|event| event.percent_of == Some(of) && !is_mixed);
        let (name, whole) = match of {
            ShareOf::DbTime => ("DB time (s)", report.db_time_s()),
            ShareOf::BackgroundTime => {
                ("background time (s)", report.time_model_s("background elapsed time"))
            }
            ShareOf::CallTime => ("call time (s)", call_time(report)),
        };
        let lines = own.map(|event| (event.name.clone(), event.time_s(), event.percent));
        rows.extend(proportional(name, lines, whole, 100.0));
    }
    rows
}

/// CPU and all waits that are not idle; `None` for an excerpt that lacks some.
fn call_time(report: &Report) -> Option<Figure> {
    let is_listed = |top: &WaitEvent| matches!(report.event(&report.all_events, &top.name), Ok(Some(_)));
    if !report.top_events.iter().all(|top| top.waits.is_none() || is_listed(top)) {
        return None;
    }
    let busy = report.all_events.iter().filter(|event| !is_idle(event));
    let waits = Figure::sum(busy.map(WaitEvent::time_s));
    let cpu = report.top_events.iter().find(|event| event.name == "CPU time")?.total_s?;
    Figure::sum([Some(cpu), waits])
}

fn transactions(report: &Report) -> Option<Figure> {
    let commits = report.statistic_total("user commits")?;
    Figure::sum([Some(commits), report.statistic_total("user rollbacks")])
}

fn waits_per_transaction(report: &Report, events: &[WaitEvent]) -> Vec<Compared> {
    let lines =
        events.iter().map(|event| (event.name.clone(), counted(event.waits), event.waits_per_transaction));
    proportional("transactions", lines, transactions(report), 1.0)
}

fn top_and_events(report: &Report) -> Vec<Compared> {
    let events = match report.all_events.is_empty() {
        true => &report.foreground_events,
        false => &report.all_events,
    };
    let is_of_both = report.kind == Kind::AwrGlobal || report.period.is_some();
    let mut rows = Vec::new();
    for top in report.top_events.iter().filter(|_| !is_of_both) {
        let Ok(Some(own)) = report.event(events, &top.name) else { continue };
        let pairs = [
            ("waits", top.waits, own.waits),
            ("time (s)", top.total_s, own.total_s),
            ("mean (us)", top.average_us, own.average_us),
            ("share (%)", top.percent, own.percent),
        ];
        let row = |(what, one, other)| compared(format!("{what} of '{}'", top.name), one, other);
        rows.extend(pairs.into_iter().filter_map(row));
    }
    rows
}

fn key_statistics(report: &Report) -> Vec<Compared> {
    let mut known = BTreeMap::new();
    let repeated = report.activity.iter().filter_map(|line| {
        let first = known.insert(line.name.as_str(), line)?;
        // Text cuts several names to the same.
        let is_whole =
            STATISTICS.iter().all(|width| line.name.len() + 1 < *width || line.name.len() > *width);
        compared(&line.name, first.total.filter(|_| is_whole), line.total)
    });
    repeated.collect()
}

const LOAD: &[(&[&str], &[&str], f64)] = &[
    (&["Block changes"], &["db block changes"], 1.0),
    (&["Parses (SQL)", "Parses"], &["parse count (total)"], 1.0),
    (&["Hard parses (SQL)", "Hard parses"], &["parse count (hard)"], 1.0),
    (&["Logons"], &["logons cumulative"], 1.0),
    (&["Rollbacks"], &["user rollbacks"], 1.0),
    (&["Transactions"], &["user commits", "user rollbacks"], 1.0),
    (&["Read IO requests"], &["physical read IO requests"], 1.0),
    (&["Write IO requests"], &["physical write IO requests"], 1.0),
    (&["Read IO (MB)"], &["physical read bytes"], MIB),
    (&["Write IO (MB)"], &["physical write bytes"], MIB),
    (&["Sorts"], &["sorts (memory)", "sorts (disk)"], 1.0),
    (&["Global Cache blocks received"], &["gc cr blocks received", "gc current blocks received"], 1.0),
];

fn load_and_statistics(report: &Report) -> Vec<Compared> {
    let row = |(names, statistics, unit): &(&[&str], &[&str], f64)| {
        let line = report.load(names)?;
        let totals: Option<Vec<_>> = statistics.iter().map(|name| report.statistic_total(name)).collect();
        let total = Figure::sum(totals?.into_iter().map(Some))?.per(*unit);
        compared(&line.name, line.per_second, report.per_second(total))
    };
    let times =
        [("DB Time(s)", "DB time"), ("DB CPU(s)", "DB CPU"), ("Background CPU(s)", "background cpu time")];
    let time = |(name, own): &(&str, &str)| {
        let line = report.load(&[*name])?;
        compared(&line.name, line.per_second, report.per_second(report.time_model_s(own)))
    };
    LOAD.iter().filter_map(row).chain(times.iter().filter_map(time)).collect()
}

fn load_per_transaction(report: &Report) -> Vec<Compared> {
    let lines =
        report.load_profile.iter().map(|line| (line.name.clone(), line.per_second, line.per_transaction));
    let per_second = report.per_second(transactions(report));
    let printed = report.load(&["Transactions"]).and_then(|line| line.per_second);
    proportional("transactions per second", lines, Figure::finer(printed, per_second), 1.0)
}

fn load_per_call(report: &Report) -> Vec<Compared> {
    let mut rows = Vec::new();
    for (name, own) in [("DB Time(s)", "DB time"), ("DB CPU(s)", "DB CPU")] {
        let Some(line) = report.load(&[name]) else { continue };
        let per = |count: &str| report.time_model_s(own)?.per_figure(report.statistic_total(count)?);
        let own = [(line.per_exec, per("execute count"), "exec"), (line.per_call, per("user calls"), "call")];
        let row = |(one, other, per)| compared(format!("{name} per {per}"), one, other);
        rows.extend(own.into_iter().filter_map(row));
    }
    rows
}

fn efficiency(report: &Report) -> Vec<Compared> {
    let total = |name: &str| report.statistic_total(name);
    let percent = |part: Option<Figure>, whole: Option<Figure>| part?.times(100.0).per_figure(whole?);
    let rest = |share: Option<Figure>| Some(Figure { value: 100.0 - share?.value, ..share? });
    let parses = total("parse count (total)");
    let sorts = Figure::sum([total("sorts (memory)"), total("sorts (disk)")]);
    let computed = [
        ("Execute to Parse %", rest(percent(parses, total("execute count")))),
        ("Soft Parse %", rest(percent(total("parse count (hard)"), parses))),
        ("In-memory Sort %", percent(total("sorts (memory)"), sorts)),
        ("Parse CPU to Parse Elapsd %", percent(total("parse time cpu"), total("parse time elapsed"))),
    ];
    let row = |(name, computed): (&str, Option<Figure>)| {
        compared(name, report.efficiency.iter().find(|line| line.name == name)?.percent, computed)
    };
    computed.into_iter().filter_map(row).collect()
}

fn host(report: &Report) -> Vec<Compared> {
    let os = |name: &str| report.os_statistics.iter().find(|line| line.name == name);
    let value = |name: &str| os(name)?.value;
    let all = Figure::sum([value("BUSY_TIME"), value("IDLE_TIME")]).filter(|_| value("IDLE_TIME").is_some());
    let share = |name: &str| value(name)?.times(100.0).per_figure(all?);
    let cpu = report.host_cpu.as_ref();
    let size = |figure: Option<f64>| figure.map(|value| Figure { value, resolution: 0.01 });
    let load = os("LOAD");
    let gib = |bytes: Figure| bytes.times(1.0 / 1024f64.powi(3));
    let rows = [
        ("user (%)", cpu.and_then(|cpu| cpu.user_percent), share("USER_TIME")),
        ("system (%)", cpu.and_then(|cpu| cpu.system_percent), share("SYS_TIME")),
        ("idle (%)", cpu.and_then(|cpu| cpu.idle_percent), share("IDLE_TIME")),
        ("waiting for I/O (%)", cpu.and_then(|cpu| cpu.wait_percent), share("IOWAIT_TIME")),
        ("load at begin", cpu.and_then(|cpu| cpu.load_begin), load.and_then(|load| load.value)),
        ("load at end", cpu.and_then(|cpu| cpu.load_end), load.and_then(|load| load.end.or(load.value))),
        ("CPUs", size(report.host.cpus), value("NUM_CPUS")),
        ("cores", size(report.host.cores), value("NUM_CPU_CORES")),
        ("sockets", size(report.host.sockets), value("NUM_CPU_SOCKETS")),
        ("memory (GB)", size(report.host.memory_gb), value("PHYSICAL_MEMORY_BYTES").map(gib)),
    ];
    rows.into_iter().filter_map(|(name, one, other)| compared(name, one, other)).collect()
}

fn io_profile(report: &Report) -> Vec<Compared> {
    let lines = [
        ("Total Requests", "physical read total IO requests", "physical write total IO requests", 1.0),
        ("Database Requests", "physical read IO requests", "physical write IO requests", 1.0),
        ("Total (MB)", "physical read total bytes", "physical write total bytes", MIB),
        ("Database (MB)", "physical read bytes", "physical write bytes", MIB),
        ("Database (blocks)", "physical reads", "physical writes", 1.0),
    ];
    let mut rows = Vec::new();
    for (name, read, written, unit) in lines {
        let Some(line) = report.io_profile_line(name) else { continue };
        let rate = |statistic: &str| report.per_second(report.statistic_total(statistic))?.per(unit);
        let sides = [(line.read, rate(read), "read"), (line.written, rate(written), "written")];
        let row = |(one, other, side)| compared(format!("{name}, {side}"), one, other);
        rows.extend(sides.into_iter().filter_map(row));
    }
    rows
}

type IoFigure = (&'static str, fn(&IoLine) -> Option<Figure>);

const IO_FIGURES: [IoFigure; 7] = [
    ("data read", |line| line.read_bytes),
    ("reads/s", |line| line.reads_per_s),
    ("data read/s", |line| line.read_bytes_per_s),
    ("data written", |line| line.written_bytes),
    ("writes/s", |line| line.writes_per_s),
    ("data written/s", |line| line.written_bytes_per_s),
    ("waits", |line| line.waits),
];

fn io_sums(lines: &[IoLine]) -> Vec<Compared> {
    let is_total = |line: &&IoLine| line.name.to_uppercase().starts_with("TOTAL");
    let Some(total) = lines.iter().find(is_total) else { return Vec::new() };
    let parts: Vec<IoLine> = lines.iter().filter(|line| !is_total(line)).cloned().collect();
    let Some(sum) = total_of(&parts) else { return Vec::new() };
    IO_FIGURES.iter().filter_map(|(name, of)| compared(*name, of(total), of(&sum))).collect()
}

fn io_rates(report: &Report, lines: &[IoLine]) -> Vec<Compared> {
    let sides = |line: &IoLine| {
        let name = |side: &str| format!("data {side}/s of '{}'", line.name);
        let read = (name("read"), line.read_bytes, line.read_bytes_per_s);
        [read, (name("written"), line.written_bytes, line.written_bytes_per_s)]
    };
    proportional(ELAPSED, lines.iter().flat_map(sides), report.elapsed(), 1.0)
}

fn files_of_tablespaces(report: &Report) -> Vec<Compared> {
    let sum = |name: &str, of: fn(&FileIo) -> Option<Figure>| {
        Figure::sum(report.files.iter().filter(|file| file.tablespace == name).map(of))
    };
    let rows = report.tablespaces.iter().flat_map(|own| {
        let row = |what: &str, of: fn(&FileIo) -> Option<Figure>| {
            compared(format!("{what} of {}", own.tablespace), of(own), sum(&own.tablespace, of))
        };
        [
            row("reads", |file| file.reads),
            row("writes", |file| file.writes),
            row("buffer waits", |file| file.buffer_waits),
        ]
    });
    rows.flatten().collect()
}

fn file_rates(report: &Report, files: &[FileIo]) -> Vec<Compared> {
    let sides = |file: &FileIo| {
        let name = |side: &str| format!("{side}/s of {}", file.file.as_deref().unwrap_or(&file.tablespace));
        [(name("reads"), file.reads, file.reads_per_s), (name("writes"), file.writes, file.writes_per_s)]
    };
    proportional(ELAPSED, files.iter().flat_map(sides), report.elapsed(), 1.0)
}

fn histogram_ranges(report: &Report) -> Vec<Compared> {
    let parts = report.histograms.iter().flat_map(|own| own.sections.iter().map(move |part| (own, part)));
    parts
        .filter(|(own, part)| part.waits != own.waits)
        .filter_map(|(own, part)| {
            compared(&own.event, part.waits, Some(product(own.waits?, part.share).times(0.01)))
        })
        .collect()
}

fn segments(report: &Report) -> Vec<Compared> {
    let mut statistics: Vec<&str> =
        report.segments.iter().map(|segment| segment.statistic.as_str()).collect();
    statistics.dedup();
    let of_one = |statistic: &&str| {
        let own = report.segments.iter().filter(move |segment| segment.statistic == *statistic);
        let lines =
            own.map(|own| (format!("{} of {}", own.statistic, own.object), counted(own.value), own.percent));
        proportional(statistic, lines, None, 100.0)
    };
    statistics.iter().flat_map(of_one).collect()
}
