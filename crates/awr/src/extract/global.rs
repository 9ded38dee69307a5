//! Global reports: a cluster's instances together. The rows of one instance begin with its number; `Sum` or `*` is all of
//! them. A report of a single instance has rows of that instance alone, which then are all.

mod io;
mod system;

use super::events::Columns;
use super::header::moment;
use super::profile::cell;
use crate::figure::{Figure, number};
use crate::report::{Instance, LoadLine, Report, ShareOf, Snapshot, WaitEvent};
use crate::table::{Row, Table};

pub(super) fn fill(report: &mut Report, table: &Table, title: &str) {
    let is = |start: &str| title.starts_with(start);
    if table.heads.iter().any(|head| head.name.starts_with("elapsedtime")) && table.has("instance") {
        report.instances = table.rows.iter().filter_map(|row| instance(table, row)).collect();
    } else if is("database summary") || (table.has("id") && table.has("blocksize")) {
        summary(report, table);
    } else if is("system statistics (absolute") {
        system::absolute(report, table);
    } else if is("system statistics") && title.contains("second") {
        system::rates(report, table);
    } else if is("system statistics (global") || is("global messaging statistics") {
        super::activity::fill(report, table);
    } else if is("top timed background") {
        report.background_events.extend(background(events(table)));
    } else if is("top timed foreground") {
        report.foreground_events.extend(events(table));
    } else if is("top timed") {
        report.top_events.extend(events(table));
    } else if is("foreground wait events") {
        replace_by_all(&mut report.foreground_events, super::events::named(table));
    } else if is("background wait events") {
        replace_by_all(&mut report.background_events, background(super::events::named(table)));
    } else if is("foreground wait class") || is("wait class") {
        system::wait_classes(report, table, title);
    } else if is("os statistics") {
        system::os_statistics(report, table);
    } else if is("time model") {
        system::time_model(report, table, title);
    } else if is("cache sizes") {
        system::cache_sizes(report, table);
    } else if is("io profile") {
        report.io_profile.extend(super::io::profile(table));
    } else if is("iostat by") {
        io::fill(report, table, title);
    } else if is("init.ora") {
        parameters(report, table);
    }
}

/// Tables of all events go before those of the top ones, but for CPU, which only the latter have.
fn replace_by_all(events: &mut Vec<WaitEvent>, all: Vec<WaitEvent>) {
    if all.is_empty() {
        return;
    }
    events.retain(|event| event.waits.is_none());
    events.extend(all);
}

/// Whatever the heading says, shares of background events are of the background's time.
fn background(mut events: Vec<WaitEvent>) -> Vec<WaitEvent> {
    for event in &mut events {
        event.percent_of = event.percent_of.map(|_| ShareOf::BackgroundTime);
    }
    events
}

/// The row that is of all instances: `Sum`, or the only one that there is.
fn row_of_all(table: &Table) -> Option<&Row> {
    let sum = table.rows.iter().find(|row| row.name().eq_ignore_ascii_case("sum"));
    let mut instances = table.rows.iter().filter(|row| is_instance(row));
    sum.or_else(|| match (instances.next(), instances.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    })
}

fn is_instance(row: &Row) -> bool {
    !row.name().is_empty() && row.name().bytes().all(|byte| byte.is_ascii_digit())
}

fn instance(table: &Table, row: &Row) -> Option<Instance> {
    let text =
        |names: &[&str]| row.text(table.column(|head| names.iter().any(|name| head.starts_with(name))));
    let number_of = text(&["i#", "inst"])?.to_owned();
    if !number_of.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let minutes = |names: &[&str]| text(names).and_then(number).map(|figure| figure.times(60.0));
    let name = row.text(table.column(|head| head == "instance"));
    Some(Instance {
        name: name.map(str::to_owned),
        host: text(&["host"]).map(str::to_owned),
        release: text(&["release"]).map(str::to_owned),
        platform: text(&["platform"]).map(str::to_owned),
        started: text(&["startup"]).and_then(moment),
        begin: text(&["beginsnap"]).and_then(moment),
        end: text(&["endsnap"]).and_then(moment),
        elapsed_s: minutes(&["elapsedtime"]),
        db_time_s: minutes(&["dbtime"]),
        average_active_sessions: text(&["avgactive"]).and_then(number),
        up_hours: text(&["uptime"]).and_then(number),
        per_second: Vec::new(),
        number: number_of,
    })
}

fn summary(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.last() else { return };
    let at = |fits: &dyn Fn(&str) -> bool| row.text(table.column(fits));
    let text = |name: &'static str| at(&move |head| head == name).map(str::to_owned);
    let yes = |name: &'static str| at(&move |head| head == name).map(|word| word.eq_ignore_ascii_case("yes"));
    let database = &mut report.database;
    database.id = text("id");
    database.name = text("name").or_else(|| database.name.take());
    database.unique_name = text("uniquename").or_else(|| text("unqname"));
    database.role = text("role");
    database.edition = text("edition");
    database.is_rac = yes("rac");
    database.is_cdb = yes("cdb");
    database.block_bytes = text("blocksize").and_then(|size| number(&size)).map(|size| size.value);
    let group = |group: &'static str, name: &'static str| {
        let column = table.heads.iter().position(|head| head.group.contains(group) && head.name == name);
        row.text(column).and_then(number).map(|figure| figure.value)
    };
    database.instances = group("instances", "inreport").or(database.instances);
    let minutes = |start: &'static str| {
        at(&move |head| head.starts_with(start)).and_then(number).map(|figure| figure.times(60.0))
    };
    report.interval.elapsed_s = minutes("elapsedtime");
    report.interval.db_time_s = minutes("dbtime");
    let id =
        |name: &'static str| at(&move |head| head == name).and_then(|id| id.replace(',', "").parse().ok());
    let snapshot = |id| Snapshot { id, time: None, sessions: None, cursors_per_session: None };
    report.interval.begin = Some(snapshot(id("begin")));
    report.interval.end = Some(snapshot(id("end")));
}

/// The events of all instances together: rows from `*` to the next number. HTML has every cell in its own column; the
/// first of them is blank where it is the same as above. Of a single instance there may be no `*`.
fn events(table: &Table) -> Vec<WaitEvent> {
    let mut columns = Columns::of(table);
    let name = table.column(|head| head == "event").or_else(|| table.column(|head| head.contains("class")));
    columns.class = columns.class.filter(|class| Some(*class) != name);
    let wanted = all_of(table);
    let mut is_all = false;
    let mut events: Vec<WaitEvent> = Vec::new();
    for row in &table.rows {
        if !row.name().is_empty() {
            is_all = Some(row.name()) == wanted;
        }
        let Some(text) = row.text(name).filter(|_| is_all) else { continue };
        let event = columns.event(row, text);
        if event.waits.is_some() || event.total_s.is_some() {
            events.push(event);
        }
    }
    events
}

/// What the rows of all instances begin with: `*`, or the number of the only one.
fn all_of(table: &Table) -> Option<&str> {
    let first = || table.rows.iter().map(Row::name).filter(|name| !name.is_empty());
    if first().any(|name| name == "*") {
        return Some("*");
    }
    let only = first().next()?;
    first().all(|name| name == only).then_some(only)
}

/// `*` is a value that all instances have; others have a row for each instance that has one of its own.
fn parameters(report: &mut Report, table: &Table) {
    let Some(begin) = table.column(|head| head.starts_with("beginvalue") || head == "value") else { return };
    let end = table.column(|head| head.starts_with("endvalue"));
    let own = table.column(|head| head == "i#" || head.starts_with("inst"));
    if own.is_none() {
        return super::activity::parameters(report, table);
    }
    let mut name = "";
    for row in &table.rows {
        if !row.name().is_empty() {
            name = row.name().trim_end_matches('*');
        }
        let value = row.text(Some(begin)).unwrap_or_default().to_owned();
        let end = row.text(end).map(str::to_owned);
        let instance = row.text(own).filter(|instance| *instance != "*");
        let known = report.parameters.iter_mut().find(|known| known.name == name);
        match (known, instance) {
            (Some(known), None) if row.name().is_empty() => known.begin.push_str(&value),
            (Some(known), Some(instance)) => {
                known.begin.push_str(&format!("; {instance}: {value}"));
            }
            (Some(_), None) => {}
            (None, Some(instance)) => {
                let begin = format!("{instance}: {value}");
                report.parameters.push(crate::report::Parameter { name: name.to_owned(), begin, end });
            }
            (None, None) => {
                report.parameters.push(crate::report::Parameter { name: name.to_owned(), begin: value, end });
            }
        }
    }
}

/// A figure of each instance, added up.
fn sum(figures: impl Iterator<Item = Figure>) -> Option<Figure> {
    figures.reduce(|one, other| Figure {
        value: one.value + other.value,
        resolution: one.resolution + other.resolution,
    })
}

/// What a cluster's report says only by instance.
pub(super) fn finish(report: &mut Report) {
    let instances = &report.instances;
    let db_time = sum(instances.iter().filter_map(|instance| instance.db_time_s));
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
    let database = &mut report.database;
    database.release = database.release.take().or_else(|| first?.release.clone());
    report.host.platform = report.host.platform.take().or_else(|| first?.platform.clone());
    let mut hosts: Vec<&str> = instances.iter().filter_map(|instance| instance.host.as_deref()).collect();
    hosts.dedup();
    if !hosts.is_empty() {
        report.host.name = Some(hosts.join(" "));
    }
    if database.instances.is_none() && !instances.is_empty() {
        database.instances = Some(instances.len() as f64);
    }
    database.instance = first.filter(|_| instances.len() == 1).and_then(|only| only.name.clone());
    database.started = first.filter(|_| instances.len() == 1).and_then(|only| only.started);
    let elapsed = report.interval.elapsed_s.map(|elapsed| elapsed.value);
    let per_second = |seconds: Option<Figure>| seconds.zip(elapsed).and_then(|(figure, s)| figure.per(s));
    let db_time = per_second(report.time_model_s("DB time").or(report.interval.db_time_s));
    let db_cpu = per_second(report.time_model_s("DB CPU"));
    let background = per_second(report.time_model_s("background cpu time"));
    let line = |(name, per_second): (&str, Option<Figure>)| {
        per_second.map(|_| LoadLine {
            name: name.to_owned(),
            per_second,
            per_transaction: None,
            per_exec: None,
            per_call: None,
        })
    };
    let lines = [("DB Time(s)", db_time), ("DB CPU(s)", db_cpu), ("Background CPU(s)", background)];
    report.load_profile.splice(0..0, lines.into_iter().filter_map(line));
}

fn of_all(table: &Table, column: Option<usize>) -> Option<Figure> {
    cell(row_of_all(table)?, column)
}
