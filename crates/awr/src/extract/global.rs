//! Global reports: a cluster's instances together. The rows of one instance begin with its number; `Sum` or `*` is all
//! of them.

use super::events::Columns;
use super::header::moment;
use super::profile::cell;
use crate::figure::Figure;
use crate::report::{Activity, Instance, IoLine, LoadLine, OsStatistic, Report, TimeModelLine, WaitEvent};
use crate::table::{Row, Table};

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

pub(super) fn fill(report: &mut Report, table: &Table, title: &str) {
    let is = |start: &str| title.starts_with(start);
    if table.heads.iter().any(|head| head.name.starts_with("elapsedtime")) && table.has("instance") {
        report.instances = table.rows.iter().filter_map(|row| instance(table, row)).collect();
    } else if is("database summary") || (table.has("id") && table.has("blocksize")) {
        summary(report, table);
    } else if is("system statistics") && title.contains("second") {
        rates(report, table);
    } else if is("top timed background") {
        report.background_events.extend(events(table));
    } else if is("top timed foreground") {
        report.foreground_events.extend(events(table));
    } else if is("top timed") {
        report.top_events.extend(events(table));
    } else if is("foreground wait class") || is("wait class") {
        report.wait_classes.extend(events(table));
    } else if is("sysstat and") {
        activity(report, table);
    } else if is("os statistics") {
        os_statistics(report, table);
    } else if is("time model") && !title.contains('%') {
        time_model(report, table);
    } else if is("iostat by") {
        io(report, table, title);
    } else if is("init.ora") {
        super::activity::parameters(report, table);
    }
}

fn instance(table: &Table, row: &Row) -> Option<Instance> {
    let text =
        |names: &[&str]| row.text(table.column(|head| names.iter().any(|name| head.starts_with(name))));
    let number = text(&["i#", "inst"])?.to_owned();
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let minutes =
        |names: &[&str]| text(names).and_then(crate::figure::number).map(|figure| figure.times(60.0));
    Some(Instance {
        name: text(&["instance"]).map(str::to_owned),
        host: text(&["host"]).map(str::to_owned),
        release: text(&["release"]).map(str::to_owned),
        platform: text(&["platform"]).map(str::to_owned),
        started: text(&["startup"]).and_then(moment),
        elapsed_s: minutes(&["elapsedtime"]),
        db_time_s: minutes(&["dbtime"]),
        per_second: Vec::new(),
        number,
    })
}

fn summary(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.last() else { return };
    let at = |fits: &dyn Fn(&str) -> bool| row.text(table.column(fits));
    report.database.id = at(&|head| head == "id").map(str::to_owned);
    report.database.name =
        at(&|head| head == "name").map(str::to_owned).or_else(|| report.database.name.take());
    report.database.unique_name = at(&|head| head == "uniquename" || head == "unqname").map(str::to_owned);
    report.database.is_rac = at(&|head| head == "rac").map(|word| word.eq_ignore_ascii_case("yes"));
    report.database.block_bytes =
        at(&|head| head == "blocksize").and_then(crate::figure::number).map(|size| size.value);
    let minutes = |fits: &dyn Fn(&str) -> bool| {
        at(fits).and_then(crate::figure::number).map(|figure| figure.times(60.0))
    };
    report.interval.elapsed_s = minutes(&|head| head.starts_with("elapsedtime"));
    report.interval.db_time_s = minutes(&|head| head.starts_with("dbtime"));
    let id = |name: &'static str| at(&move |head| head == name).and_then(|id| id.parse().ok());
    let snapshot = |id| crate::report::Snapshot { id, time: None, sessions: None, cursors_per_session: None };
    report.interval.begin = Some(snapshot(id("begin")));
    report.interval.end = Some(snapshot(id("end")));
}

fn rates(report: &mut Report, table: &Table) {
    for row in &table.rows {
        let lines: Vec<LoadLine> = RATES
            .iter()
            .filter_map(|(head, name, factor)| {
                let column = table.column(|own| own == *head);
                let per_second = Some(cell(row, column)?.times(*factor));
                Some(LoadLine {
                    name: (*name).to_owned(),
                    per_second,
                    per_transaction: None,
                    per_exec: None,
                    per_call: None,
                })
            })
            .collect();
        if row.name().eq_ignore_ascii_case("sum") {
            report.load_profile = lines;
        } else if let Some(instance) =
            report.instances.iter_mut().find(|instance| instance.number == row.name())
        {
            instance.per_second = lines;
        }
    }
}

/// The events of all instances together: rows from `*` to the next number. HTML has every cell in its own column; the
/// first of them is blank where it is the same as above.
fn events(table: &Table) -> Vec<WaitEvent> {
    let mut columns = Columns::of(table);
    let name = table.column(|head| head == "event").or_else(|| table.column(|head| head.contains("class")));
    columns.class = columns.class.filter(|class| Some(*class) != name);
    let mut is_all = false;
    let mut events: Vec<WaitEvent> = Vec::new();
    for row in &table.rows {
        if !row.name().is_empty() {
            is_all = row.name() == "*";
        }
        let Some(text) = row.text(name).filter(|_| is_all) else { continue };
        let event = columns.event(row, text);
        if event.waits.is_some() || event.total_s.is_some() {
            events.push(event);
        }
    }
    events
}

/// Statistics of each instance in columns of their own names come as rows of totals, then per second.
fn activity(report: &mut Report, table: &Table) {
    let total = table.column(|head| head == "total");
    let second = table.column(|head| head.starts_with("persec"));
    let transaction = table.column(|head| head.starts_with("pertr") || head.starts_with("pertx"));
    for row in table.rows.iter().filter(|row| !row.name().is_empty()) {
        let line = Activity {
            name: row.name().to_owned(),
            total: cell(row, total),
            per_second: cell(row, second),
            per_transaction: cell(row, transaction),
        };
        if line.total.is_some() || line.per_second.is_some() {
            report.activity.push(line);
        }
    }
}

/// The host's CPUs are summed over instances; percentages are not.
fn os_statistics(report: &mut Report, table: &Table) {
    let cpus = table.column(|head| matches!(head, "#cpus" | "numcpus" | "cpus" | "#cpu"));
    let is_instance =
        |row: &&Row| row.name().bytes().all(|byte| byte.is_ascii_digit()) && !row.name().is_empty();
    let all: Vec<f64> =
        table.rows.iter().filter(is_instance).filter_map(|row| Some(cell(row, cpus)?.value)).collect();
    if !all.is_empty() {
        let sum = all.iter().sum();
        report.host.cpus = Some(sum);
        report.os_statistics.push(OsStatistic {
            name: "NUM_CPUS".into(),
            value: Some(Figure::exact(sum)),
            end: None,
        });
    }
}

/// Headings that are statistics: `DB time (s)`, `DB CPU (s)`.
fn time_model(report: &mut Report, table: &Table) {
    let Some(row) = table.rows.iter().find(|row| row.name().eq_ignore_ascii_case("sum")) else { return };
    let names = [
        ("dbtime", "DB time"),
        ("dbcpu", "DB CPU"),
        ("sqlexec", "sql execute elapsed time"),
        ("bgcpu", "background cpu time"),
    ];
    for (start, name) in names {
        let column = table.column(|head| head.starts_with(start));
        if let Some(seconds) = cell(row, column) {
            let line = TimeModelLine { name: name.into(), seconds: Some(seconds), percent_of_db_time: None };
            if !report.time_model.iter().any(|known| known.name == line.name) {
                report.time_model.push(line);
            }
        }
    }
}

fn io(report: &mut Report, table: &Table, title: &str) {
    let name = table
        .column(|head| head.contains("function") || head.contains("filetype") || head.contains("file type"));
    let name = name.or_else(|| table.column(|head| head.contains("name")));
    let at = |group: &str, word: &str| {
        table.heads.iter().position(|head| {
            let all = format!("{}{}", head.group, head.name);
            all.contains(group) && all.contains(word)
        })
    };
    let (reads, writes) = (at("read", "req"), at("write", "req"));
    let (read_mb, written_mb) = (at("read", "mb"), at("write", "mb"));
    let mb = |figure: Figure| figure.times(1024.0 * 1024.0);
    let mut is_all = false;
    for row in &table.rows {
        if !row.name().is_empty() {
            is_all = row.name() == "*";
        }
        let Some(text) = row.text(name).filter(|_| is_all) else { continue };
        let line = IoLine {
            name: text.to_owned(),
            reads_per_s: cell(row, reads),
            writes_per_s: cell(row, writes),
            read_bytes_per_s: cell(row, read_mb).map(mb),
            written_bytes_per_s: cell(row, written_mb).map(mb),
            ..IoLine::default()
        };
        if title.contains("function") {
            report.io_by_function.push(line);
        } else {
            report.io_by_file_type.push(line);
        }
    }
}

/// What a cluster's report says only by instance.
pub(super) fn finish(report: &mut Report) {
    let sum = |of: fn(&Instance) -> Option<Figure>| {
        let all: Vec<Figure> = report.instances.iter().filter_map(of).collect();
        let total = Figure {
            value: all.iter().map(|figure| figure.value).sum(),
            resolution: all.iter().map(|figure| figure.resolution).sum(),
        };
        (!all.is_empty()).then_some(total)
    };
    let db_time = sum(|instance| instance.db_time_s);
    let elapsed = report
        .instances
        .iter()
        .filter_map(|instance| instance.elapsed_s)
        .max_by(|a, b| a.value.total_cmp(&b.value));
    report.interval.db_time_s = report.interval.db_time_s.or(db_time);
    report.interval.elapsed_s = report.interval.elapsed_s.or(elapsed);
    let first = report.instances.first();
    report.database.release = report.database.release.take().or_else(|| first?.release.clone());
    report.host.platform = report.host.platform.take().or_else(|| first?.platform.clone());
    let hosts: Vec<&str> = report.instances.iter().filter_map(|instance| instance.host.as_deref()).collect();
    if !hosts.is_empty() {
        report.host.name = Some(hosts.join(" "));
    }
    report.database.instance = None;
    if report.load_profile.is_empty() || report.interval.elapsed_s.is_none() {
        return;
    }
    let per_second = report
        .interval
        .db_time_s
        .zip(report.interval.elapsed_s)
        .and_then(|(db, elapsed)| db.per(elapsed.value));
    let line = |name: &str, per_second| LoadLine {
        name: name.into(),
        per_second,
        per_transaction: None,
        per_exec: None,
        per_call: None,
    };
    report.load_profile.insert(0, line("DB Time(s)", per_second));
    let cpu = report.time_model.iter().find(|line| line.name == "DB CPU").and_then(|line| line.seconds);
    if let Some(cpu) = cpu.zip(report.interval.elapsed_s).and_then(|(cpu, elapsed)| cpu.per(elapsed.value)) {
        report.load_profile.insert(1, line("DB CPU(s)", Some(cpu)));
    }
}
