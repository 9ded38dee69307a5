//! Global reports of a cluster. Rows of an instance begin with its number, those of all with `Sum` or `*`. A single instance may
//! have its rows alone.

use std::collections::BTreeSet;

use super::header::DATABASE;
use super::{Reader, Starts, activity, begins, index_of, io_name, io_profile, parameters, set_io_rate};
use crate::figure::{Figure, MIB};
use crate::report::{
    AbsoluteValue, CacheSize, HostCpu, IoLine, LoadLine, OsStatistic, Parameter, Report, ShareOf, Snapshot,
    TimeModelLine, WaitEvent,
};
use crate::table::{Columns, Field, FromRow, Head, Row, Table, find_head};

const SECTIONS: &[(Starts, Reader)] = &[
    (&["database summary"], summary),
    (&["system statistics (absolute"], absolute_values),
    (&["system statistics", "global messaging statistics"], |report, table| {
        let title = table.title.to_lowercase();
        if title.starts_with("system") && title.contains("second") {
            rates(report, table);
        } else if begins(&title, &["system statistics (global", "global"]) {
            activity(report, table);
        }
    }),
    (&["top timed background"], |report, table| {
        report.background_events.extend(of_background(events(table, rows_of_all(table))));
    }),
    (&["top timed foreground"], |report, table| {
        report.foreground_events.extend(events(table, rows_of_all(table)));
    }),
    (&["top timed"], |report, table| report.top_events.extend(events(table, rows_of_all(table)))),
    (&["foreground wait events"], |report, table| {
        replace_by_all(&mut report.foreground_events, events(table, &table.rows));
    }),
    (&["background wait events"], |report, table| {
        replace_by_all(&mut report.background_events, of_background(events(table, &table.rows)));
    }),
    (&["foreground wait class", "wait class"], wait_classes),
    (&["os statistics"], os_statistics),
    (&["time model"], time_model),
    (&["cache sizes"], cache_sizes),
    (&["io profile"], io_profile),
    (&["iostat by function"], |report, table| report.io_by_function.extend(io(table))),
    (&["iostat by"], |report, table| report.io_by_file_type.extend(io(table))),
    (&["init.ora"], parameters_by_instance),
];

const SUMMARY: &[Field<Report>] = &[
    ("*instances*>inreport", |own, cell| own.database.instances = cell.value().or(own.database.instances)),
    ("elapsedtime*", |own, cell| own.interval.elapsed_s = cell.minutes()),
    ("dbtime*", |own, cell| own.interval.db_time_s = cell.minutes()),
    ("begin", |own, cell| own.interval.begin.get_or_insert_default().id = cell.id()),
    ("end", |own, cell| own.interval.end.get_or_insert_default().id = cell.id()),
];

const NAME_AND_CLASS: &[Field<WaitEvent>] = &[
    ("event", |event, cell| event.name = cell.words().unwrap_or_default()),
    ("*class*", |event, cell| event.class = cell.words()),
];

const IO_NAME: &str = "*name|function|filetype";

const IO_LINE: &[Field<IoLine>] = &[
    (IO_NAME, |line, cell| line.name = cell.words().unwrap_or_default()),
    ("+*read*&+*req*", |line, cell| line.reads_per_s = cell.number()),
    ("+*write*&+*req*", |line, cell| line.writes_per_s = cell.number()),
    ("+*read*&+*mb*", |line, cell| line.read_bytes_per_s = cell.mib()),
    ("+*write*&+*mb*", |line, cell| line.written_bytes_per_s = cell.mib()),
    ("+*waits:*&+*count*", |line, cell| line.waits = cell.number()),
    ("avg*", |line, cell| line.average_us = cell.duration_ms()),
    ("+*small*&+*read*", |line, cell| line.small_read_us = cell.duration_ms()),
    ("+*large*&+*read*", |line, cell| line.large_read_us = cell.duration_ms()),
];

const RATES: [(&str, &str, f64); 10] = [
    ("logicalreads/s", "Logical read (blocks)", 1.0),
    ("physicalreads/s", "Physical read (blocks)", 1.0),
    ("physicalwrites/s", "Physical write (blocks)", 1.0),
    ("redosize(k)/s", "Redo size (bytes)", 1024.0),
    ("blockchanges/s", "Block changes", 1.0),
    ("usercalls/s", "User calls", 1.0),
    ("execs/s", "Executes (SQL)", 1.0),
    ("parses/s", "Parses (SQL)", 1.0),
    ("logons/s", "Logons", 1.0),
    ("txns/s", "Transactions", 1.0),
];

/// Headings with the names that they mean.
fn names(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.split(", ").filter_map(|pair| pair.split_once('='))
}

const CLASSES: &str = "useri/o*=User I/O, sysi/o*=System I/O, other*=Other, applic*=Application, commit*=Commit, \
    network*=Network, concurcy*=Concurrency, config*=Configuration, cluster*=Cluster, admin*=Administrative, \
    scheduler*=Scheduler";

const TIME_MODEL: &str = "dbtime*=DB time, dbcpu*=DB CPU, sqlexec*=sql execute elapsed time, parse*=parse time elapsed, \
    hardparse*=hard parse elapsed time, pl/sql*=PL/SQL execution elapsed time, \
    java*=Java execution elapsed time, bgtime*=background elapsed time, bgcpu*=background cpu time";

const CACHES: &str = "dbcache=Buffer Cache, sharedpool=Shared Pool Size, logbuffer=Log Buffer, memorytarget=Memory Target, \
    sgatarget=SGA Target, largepool=Large Pool, javapool=Java Pool, streamspool=Streams Pool, pgatarget=PGA Target";

pub(super) fn read(report: &mut Report, table: &Table) {
    if table.has("instance") && table.column("elapsedtime*").is_some() {
        report.instances = table.lines().collect();
    } else if table.has("id") && table.has("blocksize") {
        summary(report, table);
    } else if let Some((_, read)) = SECTIONS.iter().find(|(starts, _)| begins(&table.title, starts)) {
        read(report, table);
    }
}

pub(super) fn is_typed(table: &Table) -> bool {
    SECTIONS.iter().any(|(starts, _)| begins(&table.title, starts))
}

fn summary(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.last() else { return };
    report.interval.begin = Some(Snapshot::default());
    report.interval.end = Some(Snapshot::default());
    table.fill(row, report, DATABASE);
    table.fill(row, report, SUMMARY);
}

fn instances(table: &Table) -> impl Iterator<Item = &Row> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    table.rows.iter().filter(move |row| is_number(row.name()))
}

fn total<'t>(rows: impl Iterator<Item = &'t Row>, column: Option<usize>) -> Option<Figure> {
    Figure::sum(rows.map(|row| row.number(column)))
}

fn sum_row(table: &Table) -> Option<&Row> {
    let sum = table.rows.iter().find(|row| row.name().eq_ignore_ascii_case("sum"));
    let mut instances = instances(table);
    sum.or_else(|| instances.next().filter(|_| instances.next().is_none()))
}

/// Rows from `*` to the next number, or all rows of a single instance. HTML leaves the first cell blank where it repeats.
fn rows_of_all(table: &Table) -> impl Iterator<Item = &Row> {
    let names = || table.rows.iter().map(Row::name).filter(|name| !name.is_empty());
    let only = names().next().filter(|first| names().all(|name| name == *first));
    let wanted = names().find(|name| *name == "*").or(only);
    let mut is_wanted = false;
    table.rows.iter().filter(move |row| {
        if !row.name().is_empty() {
            is_wanted = Some(row.name()) == wanted;
        }
        is_wanted
    })
}

fn events<'t>(table: &'t Table, rows: impl IntoIterator<Item = &'t Row>) -> Vec<WaitEvent> {
    let columns = Columns::of(&table.columns(), NAME_AND_CLASS.iter().chain(WaitEvent::FIELDS));
    let is_event =
        |event: &WaitEvent| !event.name.is_empty() && (event.waits.is_some() || event.total_s.is_some());
    columns.lines(rows).filter(is_event).collect()
}

/// Whatever the heading says, shares of background events are of background time.
fn of_background(events: Vec<WaitEvent>) -> impl Iterator<Item = WaitEvent> {
    let share_of = |event: &WaitEvent| event.percent_of.map(|_| ShareOf::BackgroundTime);
    events.into_iter().map(move |event| WaitEvent { percent_of: share_of(&event), ..event })
}

/// Only the top events have CPU.
fn replace_by_all(events: &mut Vec<WaitEvent>, all: impl IntoIterator<Item = WaitEvent>) {
    let mut all = all.into_iter().peekable();
    if all.peek().is_some() {
        events.retain(|event| event.waits.is_none());
        events.extend(all);
    }
}

fn rates(report: &mut Report, table: &Table) {
    let lines = |row: &Row| -> Vec<LoadLine> {
        let line = |(head, name, unit): &(&str, &str, f64)| {
            let rate = row.number(table.column(head))?.times(*unit);
            Some(LoadLine { name: (*name).into(), per_second: Some(rate), ..LoadLine::default() })
        };
        RATES.iter().filter_map(line).collect()
    };
    if let Some(row) = sum_row(table) {
        report.load_profile = lines(row);
    }
    for row in instances(table) {
        if let Some(instance) = report.instances.iter_mut().find(|own| own.number == row.name()) {
            instance.per_second = lines(row);
        }
    }
}

fn absolute_values(report: &mut Report, table: &Table) {
    let mut groups: Vec<&str> = table.heads.iter().map(|head| head.group.as_str()).collect();
    groups.retain(|group| !group.is_empty());
    groups.dedup();
    for group in groups {
        let [begin, end] = ["begin", "end"].map(|moment| {
            let column = table.heads.iter().position(|head| head.group == group && head.name == moment);
            total(instances(table), column)
        });
        let name = match group {
            "opencursors" => "open cursors",
            "sessioncachedcursors" => "session cached cursors",
            other => other,
        };
        if group == "sessions" {
            let interval = &mut report.interval;
            for (snapshot, sessions) in [(&mut interval.begin, begin), (&mut interval.end, end)] {
                if let Some(snapshot) = snapshot {
                    snapshot.sessions = sessions.map(|figure| figure.value);
                }
            }
        }
        report.absolute_values.push(AbsoluteValue { name: name.to_owned(), begin, end });
    }
}

fn is_of_shares(table: &Table) -> bool {
    table.title.contains('%') || table.heads.iter().any(|head| head.group.contains('%'))
}

fn wait_classes(report: &mut Report, table: &Table) {
    let is_of_shares = is_of_shares(table);
    // The cluster's shares are the only row of a table, whose first cell is blank.
    let only = || table.rows.first().filter(|_| table.rows.len() == 1);
    let Some(row) = sum_row(table).or_else(only) else { return };
    for (head, name) in names(CLASSES) {
        let Some(figure) = row.number(table.column(head)) else { continue };
        let at = index_of(&mut report.wait_classes, name, |class| &mut class.name);
        let class = &mut report.wait_classes[at];
        if is_of_shares {
            class.percent = Figure::finer(class.percent, Some(figure));
            class.percent_of = Some(ShareOf::DbTime);
        } else {
            class.total_s = Some(figure);
        }
    }
}

fn time_model(report: &mut Report, table: &Table) {
    let is_of_shares = is_of_shares(table);
    for (head, name) in names(TIME_MODEL) {
        let of_db_time = |(_, own): &(usize, &Head)| !(is_of_shares && own.group.contains("bg"));
        let column = find_head(&table.columns().filter(of_db_time), head);
        let figure = sum_row(table).and_then(|row| row.number(Some(column?.0)));
        let Some(figure) = figure else { continue };
        match report.time_model.iter_mut().find(|known| known.name == name) {
            Some(known) if is_of_shares => known.percent_of_db_time = Some(figure),
            None if !is_of_shares => report.time_model.push(TimeModelLine {
                name: name.into(),
                seconds: Some(figure),
                percent_of_db_time: None,
            }),
            _ => {}
        }
    }
}

/// Each host counts once: its instances print the same figures.
fn os_statistics(report: &mut Report, table: &Table) {
    let mut seen = BTreeSet::new();
    let host_of = |row: &&Row| {
        let own = report.instances.iter().find(|own| own.number == row.name());
        own.and_then(|own| own.host.clone()).unwrap_or_else(|| row.name().to_owned())
    };
    let rows: Vec<&Row> = instances(table).filter(|row| seen.insert(host_of(row))).collect();
    let is_at_begin = |(_, head): &(usize, &Head)| !head.group.contains("endvalue");
    let heads = table.columns().filter(is_at_begin);
    let total = |names: &str| total(rows.iter().copied(), Some(find_head(&heads, names)?.0));
    let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
    let cpus = total("#cpus|numcpus|cpus|#cpu");
    let cores = total("#cores|numcores|cores");
    let sockets = total("#sckts|numsckts|numsockets|sockets|#skts|numskts");
    let megabytes = total("mb|memory(m)");
    // Operating systems count centiseconds, this table seconds.
    let centiseconds = |names: &str| total(names).map(|seconds| seconds.times(100.0));
    report.host.cpus = value(cpus).or(report.host.cpus);
    report.host.cores = value(cores).or(report.host.cores);
    report.host.sockets = value(sockets).or(report.host.sockets);
    report.host.memory_gb = value(megabytes).map(|mb| mb / 1024.0).or(report.host.memory_gb);
    let statistics = [
        ("NUM_CPUS", cpus),
        ("NUM_CPU_CORES", cores),
        ("NUM_CPU_SOCKETS", sockets),
        ("PHYSICAL_MEMORY_BYTES", megabytes.map(|mb| mb.times(MIB))),
        ("BUSY_TIME", centiseconds("busy")),
        ("IDLE_TIME", centiseconds("idle")),
    ];
    let known = statistics.into_iter().filter(|(_, value)| value.is_some());
    let line = |(name, value): (&str, _)| OsStatistic { name: name.into(), value, end: None };
    report.os_statistics.extend(known.map(line));
    report.host_cpu = host_cpu(table, &rows);
}

/// Adds up loads; percentages are those of all CPUs together.
fn host_cpu(table: &Table, rows: &[&Row]) -> Option<HostCpu> {
    let load = |patterns: &str| total(rows.iter().copied(), table.column(patterns));
    let all = table.column("total");
    let share = |patterns: &str| {
        let column = table.column(patterns);
        let parts =
            rows.iter().map(|row| Some((row.number(column)?, row.number(all).map_or(1.0, |all| all.value))));
        let parts: Vec<(Figure, f64)> = parts.collect::<Option<_>>()?;
        let weights: f64 = parts.iter().map(|(_, weight)| weight).sum();
        let value = parts.iter().map(|(share, weight)| share.value * weight).sum::<f64>() / weights;
        let resolution = parts.iter().map(|(share, _)| share.resolution).fold(0.0, f64::max);
        value.is_finite().then_some(Figure { value, resolution })
    };
    let cpu = HostCpu {
        load_begin: load("load>begin"),
        load_end: load("load>end"),
        user_percent: share("%usr|%user"),
        system_percent: share("%sys|%system"),
        wait_percent: share("%wio"),
        idle_percent: share("%idl|%idle"),
    };
    (cpu != HostCpu::default()).then_some(cpu)
}

fn cache_sizes(report: &mut Report, table: &Table) {
    for (head, name) in names(CACHES) {
        let at = |moment: &str| table.column(&format!("+{head}*&{moment}|+{head}*&{head}"));
        let (begin, end) = (at("begin"), at("end"));
        let size = |column| Some(total(instances(table), column)?.times(MIB));
        let (begin_bytes, end_bytes) = (size(begin), size(end).filter(|_| end != begin));
        if begin_bytes.is_some() {
            report.cache_sizes.push(CacheSize { name: name.to_owned(), begin_bytes, end_bytes });
        }
    }
}

/// Functions and types of files are rows from 12.1 on, columns before.
fn io(table: &Table) -> Vec<IoLine> {
    if table.column(IO_NAME).is_some() {
        let lines = Columns::of(&table.columns(), IO_LINE).lines(rows_of_all(table));
        return lines.filter(|line| !line.name.is_empty()).collect();
    }
    let mut lines: Vec<IoLine> = Vec::new();
    for (column, head) in table.columns() {
        let all = head.all();
        let is_data = all.contains("mb/s");
        let figure = sum_row(table).and_then(|row| row.number(Some(column)));
        let Some(figure) = figure.filter(|_| is_data || all.contains("req")) else { continue };
        // `Reads requests/sec` above `Direct Writes`? The group decides, and else the heading.
        let is_write = match (head.group.contains("write"), head.group.contains("read")) {
            (true, false) => true,
            (false, true) => false,
            _ => head.name.contains("write"),
        };
        let at = index_of(&mut lines, io_name(&head.name), |line| &mut line.name);
        set_io_rate(&mut lines[at], figure, is_data, is_write);
    }
    lines
}

/// `*` is a value of all instances; others have a row for each instance that differs.
fn parameters_by_instance(report: &mut Report, table: &Table) {
    let Some(begin) = table.column("beginvalue*|value") else { return };
    let end = table.column("endvalue*");
    let own = table.column("i#|inst*");
    if own.is_none() {
        return parameters(report, table);
    }
    let mut name = "";
    for row in &table.rows {
        if !row.name().is_empty() {
            name = row.name().trim_end_matches('*');
        }
        let value = row.text(Some(begin)).unwrap_or_default().to_owned();
        let instance = row.text(own).filter(|instance| *instance != "*");
        let known = report.parameters.iter_mut().find(|known| known.name == name);
        match (known, instance) {
            (Some(known), None) if row.name().is_empty() => known.begin.push_str(&value),
            (Some(known), Some(instance)) => known.begin.push_str(&format!("; {instance}: {value}")),
            (Some(_), None) => {}
            (None, instance) => {
                let begin = instance.map_or(value.clone(), |instance| format!("{instance}: {value}"));
                let end = row.text(end).map(str::to_owned);
                report.parameters.push(Parameter { name: name.to_owned(), begin, end });
            }
        }
    }
}

pub(super) fn finish(report: &mut Report) {
    let instances = &report.instances;
    let db_time = Figure::sum(instances.iter().map(|instance| instance.db_time_s));
    let elapsed = instances.iter().filter_map(|own| own.elapsed_s).max_by(|a, b| a.value.total_cmp(&b.value));
    let interval = &mut report.interval;
    interval.db_time_s = interval.db_time_s.or(db_time);
    interval.elapsed_s = interval.elapsed_s.or(elapsed);
    if let Some(begin) = &mut interval.begin {
        begin.time = instances.iter().filter_map(|instance| instance.begin).min();
    }
    if let Some(end) = &mut interval.end {
        end.time = instances.iter().filter_map(|instance| instance.end).max();
    }
    let first = instances.first();
    let only = first.filter(|_| instances.len() == 1);
    let database = &mut report.database;
    database.release = database.release.take().or_else(|| first?.release.clone());
    report.host.platform = report.host.platform.take().or_else(|| first?.platform.clone());
    let mut hosts: Vec<&str> = instances.iter().filter_map(|instance| instance.host.as_deref()).collect();
    hosts.dedup();
    if !hosts.is_empty() {
        report.host.name = Some(hosts.join(" "));
    }
    database.instances = database.instances.or(first.map(|_| instances.len() as f64));
    database.instance = only.and_then(|only| only.name.clone());
    database.started = only.and_then(|only| only.started);
    let rate = |name: &str, seconds: Option<Figure>| {
        let elapsed = report.interval.elapsed_s?.value;
        let per_second = Some(seconds?.per(elapsed)?);
        Some(LoadLine { name: name.to_owned(), per_second, ..LoadLine::default() })
    };
    let lines = [
        rate("DB Time(s)", report.time_model_s("DB time").or(report.interval.db_time_s)),
        rate("DB CPU(s)", report.time_model_s("DB CPU")),
        rate("Background CPU(s)", report.time_model_s("background cpu time")),
    ];
    report.load_profile.splice(0..0, lines.into_iter().flatten());
}
