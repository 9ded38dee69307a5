//! The database, its host, and the snapshots. Their tables have no titles: headings tell them apart.

use jiff::civil::{DateTime, date};

use crate::figure::{Figure, number, prefix};
use crate::kind::{Format, Kind};
use crate::report::{Interval, Report, Snapshot};
use crate::table::{Document, Field, Table};

pub(super) const DATABASE: &[Field<Report>] = &[
    ("dbname*|database|name", |own, cell| own.database.name = cell.words().or(own.database.name.take())),
    ("dbid*|id", |own, cell| own.database.id = cell.words().or(own.database.id.take())),
    ("uniquename*|unqname", |own, cell| {
        own.database.unique_name = cell.words().or(own.database.unique_name.take());
    }),
    ("role*|dbrole*", |own, cell| own.database.role = cell.words().or(own.database.role.take())),
    ("edition*", |own, cell| own.database.edition = cell.words().or(own.database.edition.take())),
    ("release*", |own, cell| own.database.release = cell.words().or(own.database.release.take())),
    ("rac*|cluster*", |own, cell| own.database.is_rac = cell.is_yes().or(own.database.is_rac)),
    ("cdb*", |own, cell| own.database.is_cdb = cell.is_yes().or(own.database.is_cdb)),
    ("instance*", |own, cell| own.database.instance = cell.words().or(own.database.instance.take())),
    ("instnum*", |own, cell| own.database.instance_number = cell.id().or(own.database.instance_number)),
    ("startuptime", |own, cell| own.database.started = cell.moment().or(own.database.started)),
    ("blocksize|stdblocksize*", |own, cell| {
        own.database.block_bytes = cell.value().or(own.database.block_bytes);
    }),
    ("host*", |own, cell| own.host.name = cell.words().or(own.host.name.take())),
];

const HOST: &[Field<Report>] = &[
    ("hostname", |own, cell| own.host.name = cell.words().or_else(|| own.host.name.take())),
    ("platform", |own, cell| own.host.platform = cell.words()),
    ("cpus", |own, cell| own.host.cpus = cell.value()),
    ("cores", |own, cell| own.host.cores = cell.value()),
    ("sockets", |own, cell| own.host.sockets = cell.value()),
    ("memory*", |own, cell| own.host.memory_gb = cell.value()),
];

/// A report of the whole database names the root as its container.
const ROOT: &str = "CDB$ROOT";

pub(super) fn fill(report: &mut Report, document: &Document) {
    for table in &document.tables {
        let has = |heads: [&str; 2]| heads.iter().all(|head| table.has(head));
        if let Some(row) = table.rows.first() {
            if table.has("dbid") || has(["instance", "startuptime"]) {
                table.fill(row, report, DATABASE);
            }
            if has(["platform", "cpus"]) {
                table.fill(row, report, HOST);
                // Statspack's heading of the name covers two columns.
                if !table.has("hostname") {
                    let before = table.column("platform").and_then(|at| at.checked_sub(1));
                    let name = row.text(before).map(str::to_owned);
                    report.host.name = name.or_else(|| report.host.name.take());
                }
            }
        }
        if has(["snapid", "snaptime"]) {
            snapshots(report, table);
        }
        if let Some(column) = table.column("containername") {
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
    let instances = instances.and_then(|pair| number(pair.values.first()?));
    report.database.instances = instances.map(|count| count.value);
    times(&mut report.interval, document);
    doubt_startup(report);
}

/// A report of a whole container database may list its containers and is of none of them.
fn container(report: &mut Report) {
    let database = &mut report.database;
    let lists_several = database.containers.len() > 1 || database.containers.iter().any(|name| name == ROOT);
    let is_of_a_pdb = report.kind == Kind::AwrPdb;
    // The header of 12.1 does not say whether the database is a container.
    database.is_cdb = database.is_cdb.or((!database.containers.is_empty()).then_some(true));
    database.container = match database.containers.first() {
        Some(_) if lists_several && !is_of_a_pdb => Some(ROOT.to_owned()),
        Some(only) => Some(only.clone()),
        None => (database.is_cdb == Some(true) && !is_of_a_pdb).then(|| ROOT.to_owned()),
    };
}

/// Notes once that a time is not understood, as with the month of an unknown language.
fn snapshots(report: &mut Report, table: &Table) {
    let column = table.column("snaptime");
    let mut unknown = None;
    for (row, snapshot) in table.rows.iter().zip(table.lines::<Snapshot>()) {
        let label = row.name().to_ascii_lowercase();
        let printed = row.text(column).filter(|_| snapshot.time.is_none());
        let known = if label.starts_with("begin snap") {
            &mut report.interval.begin
        } else if label.starts_with("end snap") {
            &mut report.interval.end
        } else {
            continue;
        };
        *known = Some(snapshot);
        unknown = unknown.or(printed.map(|time| (row.line, time)));
    }
    report.notes.extend(unknown.map(|(line, time)| {
        format!("line {line}: the time '{time}' of a snapshot is not understood: its month is in no known language")
    }));
}

fn times(interval: &mut Interval, document: &Document) {
    let minutes = |label: &str| {
        let is_own = |label_of: &str| label_of.eq_ignore_ascii_case(label);
        let pair = document.pairs.iter().find(|pair| is_own(&pair.label) && !pair.values.is_empty());
        let (figure, _) = prefix(pair?.values.first()?)?;
        Some(figure.times(60.0))
    };
    interval.db_time_s = interval.db_time_s.or_else(|| minutes("DB Time"));
    let printed = minutes("Elapsed");
    // If the clock differs by half a minute, it was moved: the printed figure is the database's own.
    let agree = |printed: Figure, clock: Figure| (printed.value - clock.value).abs() < 30.0;
    let by_clock = interval.by_clock().filter(|clock| clock.value > 0.0);
    interval.elapsed_s = match (printed, by_clock) {
        (Some(printed), Some(clock)) if !agree(printed, clock) => Some(printed),
        (printed, clock) => Figure::finer(printed, clock),
    };
}

/// HTML of 11.1 to 12.2 prints the month in place of the minutes.
fn doubt_startup(report: &mut Report) {
    let release = report.database.release.as_deref().unwrap_or_default();
    let has_fault = ["11.", "12.1", "12.2"].iter().any(|start| release.starts_with(start));
    let Some(started) = report.database.started else { return };
    if report.format != Format::Text && has_fault && started.minute() == started.month() {
        report.database.started_to_the_minute = false;
        report.notes.push(format!(
            "the minutes of the start-up time ({}) are those of no clock: HTML reports of release {release} print the month there",
            started.strftime("%d-%b-%y %H:%M")
        ));
    }
}

/// `10-Jul-14 04:00:45`, `29-Nov-24 21:49` and `23-Apr-14 18:30:05 (Wed)`, with months in a few languages.
pub(crate) fn moment(text: &str) -> Option<DateTime> {
    // Some languages pad the month: `23-4월 -14`.
    let text = text.replace(" -", "-");
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
        &["jan", "ene", "gen", "янв", "sty", "oca", "led"],
        &["feb", "fev", "fév", "фев", "lut", "şub", "úno"],
        &["mar", "mär", "mrz", "мар", "bře", "már", "maa", "mrt"],
        &["apr", "abr", "avr", "апр", "kwi", "nis", "dub", "ápr"],
        &["may", "mai", "mag", "май", "мая", "maj", "kvě", "máj", "mei"],
        &["jun", "jui", "giu", "июн", "cze", "haz", "čvn", "jún"],
        &["jul", "juil", "lug", "июл", "lip", "tem", "čvc", "júl"],
        &["aug", "ago", "aoû", "авг", "sie", "ağu", "srp"],
        &["sep", "set", "сен", "wrz", "eyl", "zář", "sze"],
        &["oct", "okt", "out", "ott", "окт", "paź", "eki", "říj"],
        &["nov", "ноя", "lis", "kas"],
        &["dec", "dez", "dic", "déc", "дек", "gru", "ara", "pro"],
    ];
    // `04`, and `4월` or `4月`.
    let digits = word.trim_end_matches(['월', '月', '.']);
    if let Ok(number) = digits.parse::<i8>() {
        return (1..=12).contains(&number).then_some(number);
    }
    let word = word.to_lowercase();
    // July comes before June: `juil` is no `jui`.
    let at = MONTHS.iter().rposition(|names| names.iter().any(|name| word.starts_with(name)))?;
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
