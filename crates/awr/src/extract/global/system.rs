//! Tables of a global report with a row for each instance: rates, times, the hosts.

use std::collections::BTreeSet;

use super::{is_instance, of_all, row_of_all, sum};
use crate::extract::profile::cell;
use crate::figure::{Figure, bytes};
use crate::report::{
    AbsoluteValue, CacheSize, HostCpu, LoadLine, OsStatistic, Report, ShareOf, TimeModelLine, WaitEvent,
};
use crate::table::{Row, Table};

const MIB: f64 = 1024.0 * 1024.0;

/// Headings of `System Statistics - Per Second`, and the load profile's names for them.
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

pub(super) fn rates(report: &mut Report, table: &Table) {
    let lines = |row: &Row| -> Vec<LoadLine> {
        let line = |(head, name, factor): &(&str, &str, f64)| {
            let column = table.column(|own| own == *head);
            Some(LoadLine {
                name: (*name).to_owned(),
                per_second: Some(cell(row, column)?.times(*factor)),
                per_transaction: None,
                per_exec: None,
                per_call: None,
            })
        };
        RATES.iter().filter_map(line).collect()
    };
    if let Some(row) = row_of_all(table) {
        report.load_profile = lines(row);
    }
    for row in table.rows.iter().filter(|row| is_instance(row)) {
        if let Some(instance) = report.instances.iter_mut().find(|own| own.number == row.name()) {
            instance.per_second = lines(row);
        }
    }
}

/// Sessions and cursors at the begin and at the end, of all instances.
pub(super) fn absolute(report: &mut Report, table: &Table) {
    let mut groups: Vec<&str> = table.heads.iter().map(|head| head.group.as_str()).collect();
    groups.retain(|group| !group.is_empty());
    groups.dedup();
    for group in groups {
        let total = |moment: &str| {
            let column = table.heads.iter().position(|head| head.group == group && head.name == moment);
            sum(table.rows.iter().filter(|row| is_instance(row)).filter_map(|row| cell(row, column)))
        };
        let (begin, end) = (total("begin"), total("end"));
        let name = match group {
            "sessions" => "sessions",
            "opencursors" => "open cursors",
            "sessioncachedcursors" => "session cached cursors",
            other => other,
        };
        if group == "sessions" {
            let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
            if let Some(snapshot) = &mut report.interval.begin {
                snapshot.sessions = value(begin);
            }
            if let Some(snapshot) = &mut report.interval.end {
                snapshot.sessions = value(end);
            }
        }
        report.absolute_values.push(AbsoluteValue { name: name.to_owned(), begin, end });
    }
}

/// Classes are columns here.
const CLASSES: [(&str, &str); 11] = [
    ("useri/o", "User I/O"),
    ("sysi/o", "System I/O"),
    ("other", "Other"),
    ("applic", "Application"),
    ("commit", "Commit"),
    ("network", "Network"),
    ("concurcy", "Concurrency"),
    ("config", "Configuration"),
    ("cluster", "Cluster"),
    ("admin", "Administrative"),
    ("scheduler", "Scheduler"),
];

/// Seconds and shares of DB time come in tables of their own.
pub(super) fn wait_classes(report: &mut Report, table: &Table, title: &str) {
    let is_share = title.contains('%') || table.heads.iter().any(|head| head.group.contains('%'));
    // The cluster's shares stand in the only row of a table, whose first cell is blank.
    let only = || table.rows.first().filter(|_| table.rows.len() == 1);
    let Some(row) = row_of_all(table).or_else(only) else { return };
    for (head, name) in CLASSES {
        let column = table.column(|own| own.starts_with(head));
        let Some(figure) = cell(row, column) else { continue };
        let at = report.wait_classes.iter().position(|own| own.name == name).unwrap_or_else(|| {
            report.wait_classes.push(WaitEvent { name: name.to_owned(), ..WaitEvent::default() });
            report.wait_classes.len() - 1
        });
        let class = &mut report.wait_classes[at];
        if is_share {
            class.percent = Figure::finer(class.percent, Some(figure));
            class.percent_of = Some(ShareOf::DbTime);
        } else {
            class.total_s = Some(figure);
        }
    }
}

/// CPUs, memory and times of the hosts: of each host once, whichever of its instances says so.
pub(super) fn os_statistics(report: &mut Report, table: &Table) {
    let mut seen = BTreeSet::new();
    let host_of = |row: &Row| {
        let own = report.instances.iter().find(|own| own.number == row.name());
        own.and_then(|own| own.host.clone()).unwrap_or_else(|| row.name().to_owned())
    };
    let rows: Vec<&Row> =
        table.rows.iter().filter(|row| is_instance(row)).filter(|row| seen.insert(host_of(row))).collect();
    let column = |groups: &[&str], names: &[&str]| {
        table.heads.iter().position(|head| {
            let of_group = groups.is_empty() || groups.iter().any(|group| head.group == *group);
            of_group && !head.group.contains("endvalue") && names.contains(&head.name.as_str())
        })
    };
    let total = |column: Option<usize>| sum(rows.iter().filter_map(|row| cell(row, column)));
    let cpus = total(column(&[], &["#cpus", "numcpus", "cpus", "#cpu"]));
    let cores = total(column(&[], &["#cores", "numcores", "cores"]));
    let sockets = total(column(&[], &["#sckts", "numsckts", "numsockets", "sockets", "#skts", "numskts"]));
    let megabytes = total(column(&[], &["mb", "memory(m)"]));
    let (busy, idle) = (total(column(&[], &["busy"])), total(column(&[], &["idle"])));
    let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
    report.host.cpus = value(cpus).or(report.host.cpus);
    report.host.cores = value(cores).or(report.host.cores);
    report.host.sockets = value(sockets).or(report.host.sockets);
    report.host.memory_gb = value(megabytes).map(|mb| mb / 1024.0).or(report.host.memory_gb);
    let statistics = [
        ("NUM_CPUS", cpus),
        ("NUM_CPU_CORES", cores),
        ("NUM_CPU_SOCKETS", sockets),
        ("PHYSICAL_MEMORY_BYTES", megabytes.map(|mb| mb.times(MIB))),
        // Operating systems count centiseconds, this table seconds.
        ("BUSY_TIME", busy.map(|seconds| seconds.times(100.0))),
        ("IDLE_TIME", idle.map(|seconds| seconds.times(100.0))),
    ];
    for (name, value) in statistics.into_iter().filter(|(_, value)| value.is_some()) {
        report.os_statistics.push(OsStatistic { name: name.into(), value, end: None });
    }
    report.host_cpu = host_cpu(table, &rows);
}

/// Loads are added up; percentages are those of all CPUs together.
fn host_cpu(table: &Table, rows: &[&Row]) -> Option<HostCpu> {
    let at = |names: &[&str]| table.column(|head| names.contains(&head));
    let load = |moment: &str| {
        let column = table.heads.iter().position(|head| head.group == "load" && head.name == moment);
        sum(rows.iter().filter_map(|row| cell(row, column)))
    };
    let all = at(&["total"]);
    let share = |names: &[&str]| {
        let column = at(names);
        let parts =
            rows.iter().map(|row| Some((cell(row, column)?, cell(row, all).map_or(1.0, |all| all.value))));
        let parts: Vec<(Figure, f64)> = parts.collect::<Option<_>>()?;
        let weights: f64 = parts.iter().map(|(_, weight)| weight).sum();
        let value = parts.iter().map(|(share, weight)| share.value * weight).sum::<f64>() / weights;
        let resolution = parts.iter().map(|(share, _)| share.resolution).fold(0.0, f64::max);
        value.is_finite().then_some(Figure { value, resolution })
    };
    let cpu = HostCpu {
        load_begin: load("begin"),
        load_end: load("end"),
        user_percent: share(&["%usr", "%user"]),
        system_percent: share(&["%sys", "%system"]),
        wait_percent: share(&["%wio"]),
        idle_percent: share(&["%idl", "%idle"]),
    };
    (cpu != HostCpu::default()).then_some(cpu)
}

/// Headings that are statistics, in seconds and as shares: `DB time (s)`, `DB CPU`.
pub(super) fn time_model(report: &mut Report, table: &Table, title: &str) {
    const NAMES: [(&str, &str); 9] = [
        ("dbtime", "DB time"),
        ("dbcpu", "DB CPU"),
        ("sqlexec", "sql execute elapsed time"),
        ("parse", "parse time elapsed"),
        ("hardparse", "hard parse elapsed time"),
        ("pl/sql", "PL/SQL execution elapsed time"),
        ("java", "Java execution elapsed time"),
        ("bgtime", "background elapsed time"),
        ("bgcpu", "background cpu time"),
    ];
    let is_share = title.contains('%') || table.heads.iter().any(|head| head.group.contains('%'));
    for (start, name) in NAMES {
        let column = table
            .heads
            .iter()
            .position(|head| head.name.starts_with(start) && !(is_share && head.group.contains("bg")));
        let Some(figure) = of_all(table, column) else { continue };
        match report.time_model.iter_mut().find(|known| known.name == name) {
            Some(known) if is_share => known.percent_of_db_time = Some(figure),
            None if !is_share => report.time_model.push(TimeModelLine {
                name: name.into(),
                seconds: Some(figure),
                percent_of_db_time: None,
            }),
            _ => {}
        }
    }
}

/// Megabytes of each instance, added up, under the names that reports of one instance have.
pub(super) fn cache_sizes(report: &mut Report, table: &Table) {
    const NAMES: [(&str, &str); 9] = [
        ("dbcache", "Buffer Cache"),
        ("sharedpool", "Shared Pool Size"),
        ("logbuffer", "Log Buffer"),
        ("memorytarget", "Memory Target"),
        ("sgatarget", "SGA Target"),
        ("largepool", "Large Pool"),
        ("javapool", "Java Pool"),
        ("streamspool", "Streams Pool"),
        ("pgatarget", "PGA Target"),
    ];
    let total = |column: Option<usize>| {
        let rows = table.rows.iter().filter(|row| is_instance(row));
        sum(rows.filter_map(|row| bytes(row.text(column)?)).map(|figure| figure.times(MIB)))
    };
    for (start, name) in NAMES {
        let at = |moment: &str| {
            table.heads.iter().position(|head| {
                let all = format!("{}{}", head.group, head.name);
                all.starts_with(start) && (head.name == moment || head.name == start)
            })
        };
        let begin_bytes = total(at("begin"));
        if begin_bytes.is_some() {
            let end_bytes = total(at("end")).filter(|_| at("end") != at("begin"));
            report.cache_sizes.push(CacheSize { name: name.to_owned(), begin_bytes, end_bytes });
        }
    }
}
