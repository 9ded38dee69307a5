//! Compare-period reports: each period becomes a report. Readers see `@` in place of `1st` or `2nd` in headings.

use super::header::DATABASE;
use super::{
    Reader, Starts, begins, empty, index_of, io_name, is_detail, load_profile, set_io_rate, sheets,
    wait_lines,
};
use crate::Scope;
use crate::figure::{Figure, bytes};
use crate::kind::{Format, Kind};
use crate::report::{
    Activity, CacheSize, HostCpu, Interval, IoLine, Parameter, Period, Report, ShareOf, WaitEvent,
};
use crate::table::{Columns, Document, Field, Head, Table};

const SECTIONS: &[(Starts, Reader)] = &[
    (&["host configuration"], host),
    (&["cache sizes"], |report, table| {
        let name = |size: &CacheSize| size.name.trim_start_matches('.').to_owned();
        report.cache_sizes.extend(table.lines().map(|size| CacheSize { name: name(&size), ..size }));
    }),
    (&["workload comparison", "load profile"], |report, table| {
        if table.column("@persec*").is_some() {
            load_profile(report, table);
        }
    }),
    (&["top timed", "top 5 ", "top 10 "], top_events),
    (&["time model"], |report, table| {
        report.time_model.extend(table.lines());
        let db_time = report.time_model_s("DB time");
        report.interval.db_time_s = Figure::finer(report.interval.db_time_s, db_time);
    }),
    (&["operating system"], |report, table| report.os_statistics.extend(table.lines())),
    (&["foreground wait class"], |report, table| report.wait_classes.extend(waits(table))),
    (&["wait classes"], |report, table| report.all_wait_classes.extend(waits(table))),
    (&["wait events", "foreground wait events"], |report, table| report.all_events.extend(waits(table))),
    (&["background wait events"], |report, table| report.background_events.extend(waits(table))),
    (&["instance activity", "key instance activity", "other instance activity"], |report, table| {
        let is_known = |line: &Activity| line.total.is_some() || line.per_second.is_some();
        report.activity.extend(table.lines().filter(is_known));
    }),
    (&["iostat by function"], |report, table| io(&mut report.io_by_function, table)),
    (&["iostat by file"], |report, table| io(&mut report.io_by_file_type, table)),
    (&["init.ora", "initialization"], |report, table| {
        // The value at the begin is printed only if it differs from that at the end.
        let line = |line: Parameter| match line.begin.is_empty() {
            true => Parameter { begin: line.end.unwrap_or_default(), end: None, ..line },
            false => line,
        };
        report.parameters.extend(table.lines().map(line));
    }),
];

const INTERVAL: &[Field<Interval>] = &[
    ("beginsnapid*", |own, cell| own.begin.get_or_insert_default().id = cell.id()),
    ("beginsnaptime*", |own, cell| own.begin.get_or_insert_default().time = cell.moment()),
    ("endsnapid*", |own, cell| own.end.get_or_insert_default().id = cell.id()),
    ("endsnaptime*", |own, cell| own.end.get_or_insert_default().time = cell.moment()),
    ("elapsedtime*", |own, cell| own.elapsed_s = cell.minutes()),
    ("dbtime*", |own, cell| own.db_time_s = cell.minutes()),
];

const TOP_EVENT: &[Field<WaitEvent>] = &[
    ("*event", |event, cell| event.name = cell.name()),
    ("*class*", |event, cell| event.class = cell.words()),
    ("waits", |event, cell| event.waits = cell.number()),
    ("time(*", |event, cell| event.total_s = cell.number()),
    ("avg*", |event, cell| event.average_us = cell.duration()),
    ("*%*", |event, cell| event.percent = cell.number()),
];

pub(crate) fn reports(document: &mut Document, kind: Kind, format: Format, scope: Scope) -> Vec<Report> {
    let mut reports = [Period::First, Period::Second]
        .map(|period| Report { period: Some(period), ..empty(document, kind, format) });
    if scope == Scope::Tables {
        reports[0].tables = sheets(document, is_typed);
    }
    for table in document.tables.iter_mut().filter(|table| !is_detail(&table.title)) {
        let heads = std::mem::take(&mut table.heads);
        for report in &mut reports {
            table.heads = heads.iter().map(|head| own_head(head, word(report))).collect();
            if table.has("snapshotset") {
                header(report, table);
            } else if let Some((_, read)) = SECTIONS.iter().find(|(starts, _)| begins(&table.title, starts)) {
                read(report, table);
            }
        }
    }
    // Values of the second period are printed only if they differ from those of the first.
    let [first, second] = &mut reports;
    for (own, other) in second.parameters.iter_mut().zip(&first.parameters) {
        if own.begin.is_empty() {
            own.begin.clone_from(&other.begin);
        }
    }
    for report in &mut reports {
        if let Some((name, _)) = &document.db_inst {
            report.database.name.get_or_insert_with(|| name.clone());
        }
    }
    for (report, [elapsed, db_time]) in reports.iter_mut().zip(&document.periods) {
        report.interval.elapsed_s = Some(*elapsed);
        report.interval.db_time_s = Some(*db_time);
    }
    reports.iter_mut().for_each(count_waits);
    reports.into()
}

/// Lines of `Workload Comparison` that are no rates have a table of their own.
fn is_typed(table: &Table) -> bool {
    let is_of_rates = table.heads.iter().any(|head| head.name.contains("persec"));
    table.has("snapshotset")
        || (!is_detail(&table.title)
            && SECTIONS.iter().any(|(starts, _)| begins(&table.title, starts))
            && (is_of_rates || !begins(&table.title, &["workload"])))
}

fn word(report: &Report) -> &'static str {
    match report.period {
        Some(Period::Second) => "2nd",
        Some(Period::First) | None => "1st",
    }
}

fn own_head(head: &Head, word: &str) -> Head {
    let own = |text: &str| text.strip_prefix(word).map_or_else(|| text.to_owned(), |rest| format!("@{rest}"));
    Head { group: own(&head.group), name: own(&head.name) }
}

/// Waits are printed by the second; the top events have the number itself.
fn count_waits(report: &mut Report) {
    let elapsed = report.interval.elapsed_s;
    let lists = [&mut report.all_events, &mut report.background_events];
    let classes = [&mut report.wait_classes, &mut report.all_wait_classes];
    for event in lists.into_iter().chain(classes).flatten() {
        event.waits = event.waits_per_s.zip(elapsed).map(|(rate, elapsed)| Figure {
            value: (rate.value * elapsed.value).round(),
            resolution: rate.resolution * elapsed.value + rate.value * elapsed.resolution,
        });
        let top = report.top_events.iter().find(|top| top.name == event.name);
        event.waits = Figure::finer(event.waits, top.and_then(|top| top.waits));
    }
}

fn header(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.iter().find(|row| row.name().contains(word(report))) else { return };
    table.fill(row, report, DATABASE);
    if row.text(table.column("beginsnapid*")).is_some() {
        let mut interval = Interval::default();
        table.fill(row, &mut interval, INTERVAL);
        let by_clock = interval.by_clock().filter(|clock| clock.value > 0.0);
        interval.elapsed_s = Figure::finer(interval.elapsed_s, by_clock);
        report.interval = interval;
    }
}

fn host(report: &mut Report, table: &Table) {
    let column = table.column("@*");
    let mut cpu = HostCpu::default();
    for row in &table.rows {
        let figure = row.number(column);
        let value = figure.map(|figure| figure.value);
        match row.name().trim_end_matches(':') {
            "Number of CPUs" => report.host.cpus = value,
            "Number of CPU Cores" => report.host.cores = value,
            "Number of CPU Sockets" => report.host.sockets = value,
            "Physical Memory" => {
                let size = row.text(column).and_then(bytes);
                report.host.memory_gb = size.map(|size| size.value / 1024f64.powi(3));
            }
            "Load at Start Snapshot" => cpu.load_begin = figure,
            "Load at End Snapshot" => cpu.load_end = figure,
            "%User Time" => cpu.user_percent = figure,
            "%System Time" => cpu.system_percent = figure,
            "%Idle Time" => cpu.idle_percent = figure,
            "%IO Wait Time" => cpu.wait_percent = figure,
            _ => {}
        }
    }
    report.host_cpu = (cpu != HostCpu::default()).then_some(cpu);
}

fn top_events(report: &mut Report, table: &Table) {
    let is_first = |at: &usize| table.heads[*at].name.ends_with("event");
    let firsts: Vec<usize> = (0..table.heads.len()).filter(is_first).collect();
    let period = report.period.map_or(0, |period| period as usize);
    let Some(first) = firsts.get(period).copied() else { return };
    let end = firsts.get(period + 1).copied().unwrap_or(table.heads.len());
    let heads = table.columns().take(end).skip(first);
    // A dash marks events of the other period's list.
    let is_own =
        |event: &WaitEvent| !event.name.is_empty() && !event.name.starts_with('-') && event.total_s.is_some();
    let events = Columns::of(&heads, TOP_EVENT).lines(&table.rows).filter(is_own);
    report.top_events.extend(events.map(|event| WaitEvent { percent_of: Some(ShareOf::DbTime), ..event }));
}

fn waits(table: &Table) -> impl Iterator<Item = WaitEvent> {
    wait_lines(table).filter(|event| event.total_s.is_some() && !event.name.is_empty())
}

fn io(lines: &mut Vec<IoLine>, table: &Table) {
    let Some(row) = table.rows.first() else { return };
    let is_data = table.title.to_lowercase().contains("data rate");
    for (column, head) in table.columns().filter(|(_, head)| head.name == "@") {
        let Some(figure) = row.number(Some(column)) else { continue };
        let is_write = head.group.contains("write") || head.group == "dbwr" || head.group == "lgwr";
        let at = index_of(lines, io_name(&head.group), |line| &mut line.name);
        set_io_rate(&mut lines[at], figure, is_data, is_write);
    }
}
