//! Tables to types: each section has a reader that finds its columns by their headings.

mod activity;
mod advice;
mod events;
mod global;
mod header;
mod histograms;
mod io;
mod profile;
mod sql;

use crate::kind::{Format, Kind};
use crate::report::{Database, Host, Interval, Report, Section, Sheet};
use crate::table::{Document, Table};

pub(crate) use header::moment;
pub(crate) use histograms::histograms;
pub(crate) use sql::is_id;

/// How titles of sections that are read begin, in lower case.
const WANTED: [&str; 48] = [
    "load profile",
    "instance efficiency",
    "top 5 ",
    "top 10 foreground",
    "top 10 timed",
    "top timed",
    "wait class",
    "wait events",
    "foreground wait",
    "background wait events",
    "wait event histogram",
    "time model",
    "operating system statistics",
    "os statistics",
    "instance activity",
    "key instance activity",
    "other instance activity",
    "iostat by function",
    "iostat by file",
    "io stat by function - summary",
    "io profile",
    "tablespace io",
    "file io",
    "cache sizes",
    "init.ora",
    "modified parameters",
    "parameters modified",
    "initialization parameters",
    "host cpu",
    "host name",
    "database",
    "snapshot",
    "system statistics",
    "host configuration",
    "workload comparison",
    "sysstat and",
    "global activity load",
    "report summary",
    "rac statistics",
    "sql ordered by",
    "segments by",
    "segment statistics",
    "buffer pool advisory",
    "pga memory advisory",
    "top events",
    "top user events",
    "top background events",
    "top sql with top events",
];

/// How titles of sections begin that no row is made of, in lower case.
const NOT_OF_ROW: [&str; 16] = [
    "wait event histogram",
    "iostat by",
    "io stat by",
    "tablespace io",
    "file io",
    "init.ora",
    "modified parameters",
    "parameters modified",
    "initialization parameters",
    "sql ordered by",
    "segments by",
    "segment statistics",
    "buffer pool advisory",
    "pga memory advisory",
    "top sql",
    "complete list of sql",
];

/// Whether a section may hold anything of a row.
pub(crate) fn is_of_row(title: &str) -> bool {
    !NOT_OF_ROW.iter().any(|other| begins(title, other))
}

/// Whether a title begins like this, in upper or lower case.
fn begins(title: &str, start: &str) -> bool {
    title.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

/// Whether a section is read.
pub(crate) fn is_wanted(title: &str) -> bool {
    if !WANTED.iter().any(|wanted| begins(title, wanted)) {
        return false;
    }
    let start: String = title.chars().take(40).flat_map(char::to_lowercase).collect();
    // Samples of the load, figures by file within a function, and parts of parameters add nothing.
    let is_detail =
        start.contains("- detail") || start.contains("function/file") || start.contains("multi-valued");
    // Of statements neither time nor work.
    const NO_WORK: [&str; 3] = ["sql ordered by parse", "sql ordered by sharable", "sql ordered by version"];
    !is_detail && !NO_WORK.iter().any(|title| start.starts_with(title))
}

/// An empty report.
pub(crate) fn empty(kind: Kind, format: Format) -> Report {
    Report {
        kind,
        format,
        period: None,
        database: Database { started_to_the_minute: true, ..Database::default() },
        host: Host::default(),
        interval: Interval::default(),
        instances: Vec::new(),
        load_profile: Vec::new(),
        efficiency: Vec::new(),
        top_events: Vec::new(),
        time_model: Vec::new(),
        os_statistics: Vec::new(),
        host_cpu: None,
        wait_classes: Vec::new(),
        all_wait_classes: Vec::new(),
        foreground_events: Vec::new(),
        background_events: Vec::new(),
        all_events: Vec::new(),
        histograms: Vec::new(),
        activity: Vec::new(),
        absolute_values: Vec::new(),
        thread_activity: Vec::new(),
        io_by_function: Vec::new(),
        io_by_file_type: Vec::new(),
        io_profile: Vec::new(),
        tablespaces: Vec::new(),
        files: Vec::new(),
        cache_sizes: Vec::new(),
        parameters: Vec::new(),
        units_were_restored: false,
        top_sql: Vec::new(),
        segments: Vec::new(),
        buffer_pool_advice: Vec::new(),
        pga_advice: Vec::new(),
        ash_events: Vec::new(),
        tables: Vec::new(),
        sections: Vec::new(),
        notes: Vec::new(),
    }
}

/// The report of one period.
pub(crate) fn report(document: &Document, kind: Kind, format: Format) -> Report {
    let mut report = empty(kind, format);
    report.sections = sections(document);
    report.notes.extend(document.cut_tables.iter().map(|title| {
        format!("the table '{title}' is larger than any that Oracle writes: only its beginning was read")
    }));
    header::fill(&mut report, document);
    for table in &document.tables {
        let title = table.title.to_lowercase();
        if of_all_kinds(&mut report, table, &title) {
            continue;
        }
        match kind {
            Kind::AwrGlobal => global::fill(&mut report, table, &title),
            _ => fill(&mut report, table, &title),
        }
    }
    profile::pairs(&mut report, document);
    report.histograms = histograms(&document.tables);
    if kind == Kind::AwrGlobal {
        global::finish(&mut report);
        report.tables = document.tables.iter().map(sheet).collect();
    }
    let seconds = report.elapsed_s();
    let lines = [&mut report.io_by_function, &mut report.io_by_file_type];
    let restored = lines.map(|lines| io::restore_units(lines, seconds));
    report.units_were_restored = format == Format::Text && restored.contains(&true);
    report.notes.extend(io::repair_tablespaces(&mut report.tablespaces, &report.files));
    for classes in [&mut report.wait_classes, &mut report.all_wait_classes] {
        report.notes.extend(events::repair_classes(classes));
    }
    report
}

fn sheet(table: &Table) -> Sheet {
    let head = |head: &crate::table::Head| match head.group.is_empty() {
        true => head.name.clone(),
        false => format!("{}: {}", head.group, head.name),
    };
    Sheet {
        title: table.title.clone(),
        heads: table.heads.iter().map(head).collect(),
        rows: table.rows.iter().map(|row| row.cells.clone()).collect(),
    }
}

/// Every section once, with the line where it begins first.
pub(crate) fn sections(document: &Document) -> Vec<Section> {
    let mut seen = std::collections::BTreeSet::new();
    let mut sections = Vec::new();
    for (title, line) in &document.sections {
        if seen.insert(title) {
            sections.push(Section { title: title.clone(), line: *line });
        }
    }
    sections
}

/// Sections that are the same in reports of one instance and of a cluster. Whether it is one of them.
fn of_all_kinds(report: &mut Report, table: &Table, title: &str) -> bool {
    let is = |start: &str| title.starts_with(start);
    if is("sql ordered by") {
        sql::fill(report, table);
    } else if is("top sql with top events") {
        sql::plans(report, table);
    } else if is("segments by") || is("segment statistics") {
        advice::segments(report, table);
    } else if is("buffer pool advisory") {
        advice::buffer_pool(report, table);
    } else if is("pga memory advisory") {
        advice::pga(report, table);
    } else if is("top events") || is("top user events") || is("top background events") {
        advice::events(report, table);
    } else {
        return false;
    }
    true
}

/// What a table adds to the report of one instance.
fn fill(report: &mut Report, table: &Table, title: &str) {
    let is = |start: &str| title.starts_with(start);
    if is("load profile") {
        report.load_profile.extend(profile::load(table));
    } else if is("top 5 ") || is("top 10 ") || is("top timed") {
        report.top_events.extend(events::events(table));
    } else if is("wait classes by") {
        report.all_wait_classes.extend(events::events(table));
    } else if is("foreground wait class") {
        report.wait_classes.extend(events::events(table));
    } else if is("foreground wait events") {
        report.foreground_events.extend(events::events(table));
    } else if is("background wait events") {
        report.background_events.extend(events::events(table));
    } else if is("wait events") {
        report.all_events.extend(events::events(table));
    } else if is("wait class") {
        report.all_wait_classes.extend(events::events(table));
    } else if is("time model") {
        report.time_model.extend(profile::time_model(table));
    } else if is("operating system statistics") || is("os statistics") {
        report.os_statistics.extend(profile::os_statistics(table));
    } else if is("host cpu") {
        report.host_cpu = report.host_cpu.take().or_else(|| profile::host_cpu(table));
    } else if is("instance activity") || is("key instance") || is("other instance") {
        activity::fill(report, table);
    } else if is("iostat by function") || is("io stat by function") {
        report.io_by_function.extend(io::lines(table));
    } else if is("iostat by file") {
        report.io_by_file_type.extend(io::lines(table));
    } else if is("io profile") {
        report.io_profile.extend(io::profile(table));
    } else if is("tablespace io") {
        report.tablespaces.extend(io::files(table));
    } else if is("file io") {
        report.files.extend(io::files(table));
    } else if is("init.ora") || is("modified") || is("parameters modified") || is("initialization") {
        activity::parameters(report, table);
    }
}
