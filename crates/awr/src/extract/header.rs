//! The database, its host, and the snapshots.

use jiff::civil::{DateTime, date};

use crate::figure::{Figure, prefix};
use crate::kind::Format;
use crate::report::{Interval, Report, Snapshot};
use crate::table::{Document, Row, Table};

pub(super) fn fill(report: &mut Report, document: &Document) {
    for table in &document.tables {
        if table.has("dbid") {
            database(report, table);
        }
        if table.has("instance") && table.has("startuptime") {
            instance(report, table);
        }
        if table.has("platform") && table.has("cpus") {
            host(report, table);
        }
        if table.has("snapid") && table.has("snaptime") {
            snapshots(&mut report.interval, table);
        }
        if let Some(column) = table.column(|head| head == "containername") {
            let names = table.rows.iter().filter_map(|row| row.text(Some(column)));
            report.database.containers.extend(names.map(str::to_owned));
        }
    }
    if let Some((name, instance)) = &document.db_inst {
        report.database.name.get_or_insert_with(|| name.clone());
        report.database.instance.get_or_insert_with(|| instance.clone());
    }
    container(report);
    let instances = document.pairs.iter().find(|pair| pair.label == "Number of Instances");
    let instances = instances.and_then(|pair| crate::figure::number(pair.values.first()?));
    report.database.instances = instances.map(|count| count.value);
    times(&mut report.interval, document);
    doubt_startup(report);
}

/// The root of a container database, by which a report of all of it goes.
const ROOT: &str = "CDB$ROOT";

/// A report of a whole container database may list its containers, none of which it is of.
fn container(report: &mut Report) {
    let database = &mut report.database;
    let lists_several = database.containers.len() > 1 || database.containers.iter().any(|name| name == ROOT);
    let is_of_a_pdb = report.kind == crate::kind::Kind::AwrPdb;
    // The heading of 12.1 does not say that it is one.
    database.is_cdb = database.is_cdb.or((!database.containers.is_empty()).then_some(true));
    database.container = match database.containers.first() {
        Some(_) if lists_several && !is_of_a_pdb => Some(ROOT.to_owned()),
        Some(only) => Some(only.clone()),
        None => (database.is_cdb == Some(true) && !is_of_a_pdb).then(|| ROOT.to_owned()),
    };
}

fn database(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.first() else { return };
    let text = |names: &[&str]| {
        let column = names.iter().find_map(|name| table.column(|head| head == *name));
        row.text(column).map(str::to_owned)
    };
    let yes = |names: &[&str]| text(names).and_then(|word| yes_or_no(&word));
    let database = &mut report.database;
    database.name = database.name.take().or_else(|| text(&["dbname", "database"]));
    database.id = text(&["dbid"]);
    database.unique_name = text(&["uniquename"]);
    database.role = text(&["role", "dbrole"]);
    database.edition = text(&["edition"]);
    database.release = text(&["release"]);
    database.is_rac = yes(&["rac", "cluster"]);
    database.is_cdb = yes(&["cdb"]);
    report.host.name = report.host.name.take().or_else(|| text(&["host"]));
}

fn instance(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.first() else { return };
    let text = |name: &str| row.text(table.column(|head| head == name));
    report.database.instance = text("instance").map(str::to_owned);
    report.database.instance_number = text("instnum").and_then(|number| number.parse().ok());
    report.database.started = text("startuptime").and_then(moment);
}

/// `YES` and `NO`.
fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_ascii_uppercase().as_str() {
        "YES" => Some(true),
        "NO" => Some(false),
        _ => None,
    }
}

fn host(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.first() else { return };
    let platform = table.column(|head| head == "platform");
    // Statspack's heading for the name stands over two columns.
    let name = table.column(|head| head == "hostname").or_else(|| platform?.checked_sub(1));
    let number = |fits: &dyn Fn(&str) -> bool| {
        row.text(table.column(fits)).and_then(crate::figure::number).map(|figure| figure.value)
    };
    report.host.name = row.text(name).map(str::to_owned).or_else(|| report.host.name.take());
    report.host.platform = row.text(platform).map(str::to_owned);
    report.host.cpus = number(&|head| head == "cpus");
    report.host.cores = number(&|head| head == "cores");
    report.host.sockets = number(&|head| head == "sockets");
    report.host.memory_gb = number(&|head| head.starts_with("memory"));
}

fn snapshots(interval: &mut Interval, table: &Table) {
    for row in &table.rows {
        let label = row.name().to_ascii_lowercase();
        if label.starts_with("begin snap") {
            interval.begin = Some(snapshot(table, row));
        } else if label.starts_with("end snap") {
            interval.end = Some(snapshot(table, row));
        }
    }
}

fn snapshot(table: &Table, row: &Row) -> Snapshot {
    let text = |fits: &dyn Fn(&str) -> bool| row.text(table.column(fits));
    let number =
        |fits: &dyn Fn(&str) -> bool| text(fits).and_then(crate::figure::number).map(|figure| figure.value);
    Snapshot {
        id: text(&|head| head == "snapid").and_then(|id| id.replace(',', "").parse().ok()),
        time: text(&|head| head == "snaptime").and_then(moment),
        sessions: number(&|head| head == "sessions"),
        cursors_per_session: number(&|head| head.starts_with("curs")),
    }
}

/// Elapsed and DB time are printed in hundredths of a minute; the times of the snapshots say the former in seconds.
fn times(interval: &mut Interval, document: &Document) {
    let minutes = |label: &str| {
        let pair = document
            .pairs
            .iter()
            .find(|pair| pair.label.eq_ignore_ascii_case(label) && !pair.values.is_empty());
        let (figure, _) = prefix(pair?.values.first()?)?;
        Some(figure.times(60.0))
    };
    interval.db_time_s = interval.db_time_s.or_else(|| minutes("DB Time"));
    let printed = minutes("Elapsed");
    let moments = || interval.begin.as_ref()?.time.zip(interval.end.as_ref()?.time);
    let seconds = moments().map(|(begin, end)| seconds_between(begin, end)).filter(|seconds| *seconds > 0.0);
    let by_clock = seconds.map(|value| Figure { value, resolution: 1.0 });
    // Half a minute apart, the clock was moved between the snapshots: the printed figure is the database's own.
    let agree = |printed: Figure, clock: Figure| (printed.value - clock.value).abs() < 30.0;
    interval.elapsed_s = match (printed, by_clock) {
        (Some(printed), Some(clock)) if !agree(printed, clock) => Some(printed),
        (printed, clock) => Figure::finer(printed, clock),
    };
}

pub(super) fn seconds_between(begin: DateTime, end: DateTime) -> f64 {
    end.duration_since(begin).as_secs_f64()
}

/// HTML of 11.1 to 12.2 prints the month where the minutes of the start-up time belong.
fn doubt_startup(report: &mut Report) {
    let release = report.database.release.as_deref().unwrap_or_default();
    let has_fault = ["11.", "12.1", "12.2"].iter().any(|start| release.starts_with(start));
    let Some(started) = report.database.started else { return };
    if report.format == Format::Html && has_fault && started.minute() == started.month() {
        report.database.started_to_the_minute = false;
        report.notes.push(format!(
            "the minutes of the start-up time ({}) are those of no clock: HTML reports of release {release} print the month there",
            started.strftime("%d-%b-%y %H:%M")
        ));
    }
}

/// `10-Jul-14 04:00:45`, `29-Nov-24 21:49`, `23-Apr-14 18:30:05 (Wed)`; months in a few languages.
pub(crate) fn moment(text: &str) -> Option<DateTime> {
    let mut words = text.split_whitespace();
    let mut day = words.next()?.split(['-', '.', '/']);
    let (number, month, year) = (day.next()?, day.next()?, day.next()?);
    let mut clock = words.next()?.split(':').map(|part| part.split('.').next().unwrap_or(part).parse::<i8>());
    let year: i16 = year.parse().ok()?;
    let year = if year < 100 { 2000 + year } else { year };
    let (hour, minute) = (clock.next()?.ok()?, clock.next()?.ok()?);
    let second = clock.next().and_then(Result::ok).unwrap_or(0);
    let month = month_of(month)?;
    let day: i8 = number.parse().ok()?;
    let is_real = (1..=31).contains(&day) && (0..24).contains(&hour) && (0..60).contains(&minute);
    if !is_real || !(0..60).contains(&second) || !(1900..=2100).contains(&year) {
        return None;
    }
    let last = date(year, month, 1).days_in_month();
    (day <= last).then(|| date(year, month, day).at(hour, minute, second, 0))
}

fn month_of(word: &str) -> Option<i8> {
    const MONTHS: [&[&str]; 12] = [
        &["jan", "ene", "gen", "01"],
        &["feb", "fev", "fév", "02"],
        &["mar", "mär", "mrz", "03"],
        &["apr", "abr", "avr", "04"],
        &["may", "mai", "mag", "05"],
        &["jun", "giu", "06"],
        &["jul", "lug", "07"],
        &["aug", "ago", "aoû", "08"],
        &["sep", "set", "09"],
        &["oct", "okt", "out", "ott", "10"],
        &["nov", "11"],
        &["dec", "dez", "dic", "déc", "12"],
    ];
    let word = word.to_lowercase();
    if word.starts_with("jui") {
        return Some(if word.starts_with("juil") { 7 } else { 6 });
    }
    let at = MONTHS.iter().position(|names| names.iter().any(|name| word.starts_with(name)))?;
    i8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_all_forms() {
        let read = |text: &str| moment(text).map(|moment| moment.to_string());
        assert_eq!(read("10-Jul-14 04:00:45").as_deref(), Some("2014-07-10T04:00:45"));
        assert_eq!(read("29-Nov-24 21:49").as_deref(), Some("2024-11-29T21:49:00"));
        assert_eq!(read("23-Apr-14 18:30:05 (Wed)").as_deref(), Some("2014-04-23T18:30:05"));
        assert_eq!(read("04-Okt-23 15:30").as_deref(), Some("2023-10-04T15:30:00"));
        for text in ["", "31-Feb-20 00:00", "10-Jul-14", "x-y-z 1:2", "10-Jul-14 25:00", "10-Jul-32000 01:00"]
        {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
