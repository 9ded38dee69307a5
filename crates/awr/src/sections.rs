//! Tables to types: the titles, use and reader of each section.

mod compare;
mod global;
mod header;
mod histograms;

use std::collections::BTreeSet;

use SectionUse::{Details, Row as InRow, Unread};

use crate::Scope;
use crate::figure::{Figure, MIB, bytes, number};
use crate::kind::{Format, Kind};
use crate::report::{
    AVERAGE_COLUMN, Activity, CacheSize, FileIo, IoLine, IoProfileLine, LoadLine, Parameter, Percentage,
    Report, Section, Segment, Sheet, SqlSection, SqlStatement, TOTAL_COLUMN, WAITS_COLUMN, WaitEvent,
};
use crate::table::{Columns, Document, FIRST, Field, FromRow, Head, Row, Table};

pub(crate) use compare::reports as periods;
pub(crate) use header::moment;

type Starts = &'static [&'static str];

type Reader = fn(&mut Report, &Table);

#[derive(Clone, Copy, PartialEq)]
enum SectionUse {
    /// The row of `awr_info` needs the section.
    Row,
    /// Other views need it.
    Details,
    /// No view of a report of one instance needs it.
    Unread,
}

const OF_ALL: &[(Starts, SectionUse, Reader)] = &[
    (&["sql ordered by"], Details, sql),
    (&["top sql with top events"], Details, sql_plans),
    (&["top sql", "complete list of sql"], Unread, |_, _| {}),
    (&["segments by", "segment statistics"], Details, segments),
    (&["buffer pool advisory"], Details, |report, table| report.buffer_pool_advice.extend(table.lines())),
    (&["pga memory advisory"], Details, |report, table| report.pga_advice.extend(table.lines())),
    (&["top events", "top user events", "top background events"], InRow, |report, table| {
        if table.column("%activity|%event|activity%").is_some() && table.column("event") == Some(0) {
            report.ash_events.extend(table.lines());
        }
    }),
];

const OF_INSTANCE: &[(Starts, SectionUse, Reader)] = &[
    (&["load profile"], InRow, load_profile),
    (&["top 5 ", "top 10 foreground", "top 10 timed", "top timed"], InRow, |report, table| {
        report.top_events.extend(waits(table));
    }),
    (&["foreground wait class"], InRow, |report, table| report.wait_classes.extend(waits(table))),
    (&["foreground wait events"], InRow, |report, table| report.foreground_events.extend(waits(table))),
    (&["background wait events"], InRow, |report, table| report.background_events.extend(waits(table))),
    (&["wait event histogram"], Details, |_, _| {}),
    (&["wait events"], InRow, |report, table| report.all_events.extend(waits(table))),
    (&["wait class"], InRow, |report, table| report.all_wait_classes.extend(waits(table))),
    (&["time model"], InRow, |report, table| report.time_model.extend(table.lines())),
    (&["operating system statistics", "os statistics"], InRow, |report, table| {
        report.os_statistics.extend(table.lines());
    }),
    (&["host cpu"], InRow, |report, table| {
        report.host_cpu = report.host_cpu.take().or_else(|| table.lines().next());
    }),
    (&["instance activity", "key instance activity", "other instance activity"], InRow, activity),
    (&["iostat by function", "io stat by function - summary"], Details, |report, table| {
        report.io_by_function.extend(io_lines(table));
    }),
    (&["iostat by file"], Details, |report, table| report.io_by_file_type.extend(io_lines(table))),
    (&["io profile"], InRow, io_profile),
    (&["tablespace io"], Details, |report, table| report.tablespaces.extend(table.lines())),
    (&["file io"], Details, |report, table| report.files.extend(table.lines())),
    (
        &["init.ora", "modified parameters", "parameters modified", "initialization parameters"],
        Details,
        parameters,
    ),
    // Labels with values instead of columns.
    (&["instance efficiency", "cache sizes", "rac statistics", "report summary"], InRow, |_, _| {}),
    (&["host name", "host configuration", "database", "snapshot"], InRow, |_, _| {}),
    (&["workload comparison", "global activity load", "sysstat and", "system statistics"], InRow, |_, _| {}),
];

const WAIT_NAME: &[Field<WaitEvent>] =
    &[(FIRST, |event, cell| event.name = cell.name()), ("*class*", |event, cell| event.class = cell.words())];

const SQL_TOTALS: &[Field<SqlStatement>] = &[
    ("elapsedtime(s)|elapsed(s)", |sql, cell| sql.elapsed_s = Figure::finer(sql.elapsed_s, cell.number())),
    ("cputime(s)|cpu(s)", |sql, cell| sql.cpu_s = Figure::finer(sql.cpu_s, cell.number())),
    ("useri/otime(s)|iowait(s)", |sql, cell| sql.io_wait_s = Figure::finer(sql.io_wait_s, cell.number())),
    ("buffergets|gets", |sql, cell| sql.gets = Figure::finer(sql.gets, cell.number())),
    ("physicalreads|diskreads|reads", |sql, cell| sql.reads = Figure::finer(sql.reads, cell.number())),
    ("executions|execs", |sql, cell| sql.executions = Figure::finer(sql.executions, cell.number())),
    ("rowsprocessed|rows", |sql, cell| sql.rows = Figure::finer(sql.rows, cell.number())),
    ("parsecalls", |sql, cell| sql.parse_calls = Figure::finer(sql.parse_calls, cell.number())),
    ("sharablemem(b)", |sql, cell| sql.sharable_bytes = Figure::finer(sql.sharable_bytes, cell.number())),
    ("versioncount", |sql, cell| sql.versions = Figure::finer(sql.versions, cell.number())),
];

const CONTAINER: &str = "pdbname|containername";

const SQL_TEXTS: &[Field<SqlStatement>] = &[
    ("sqlmodule", |sql, cell| sql.module = sql.module.take().or_else(|| cell.words())),
    ("sqltext", |sql, cell| {
        if let Some(text) = cell.text.filter(|text| text.len() > sql.text.len()) {
            sql.text = text.to_owned();
        }
    }),
];

fn begins(title: &str, starts: &[&str]) -> bool {
    let title = title.as_bytes();
    let begins =
        |start: &&str| title.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start.as_bytes()));
    starts.iter().any(begins)
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TablesWanted {
    Nothing,
    Print,
    Types,
}

/// All sections of global reports are wanted, for [`Report::tables`].
pub(crate) fn want(title: &str, kind: Kind, scope: Scope) -> TablesWanted {
    let own_use = use_of(title);
    match scope {
        Scope::Row if own_use.is_some_and(|own| own != InRow) => TablesWanted::Nothing,
        _ if kind == Kind::AwrGlobal || (own_use.is_some_and(|own| own != Unread) && !is_detail(title)) => {
            TablesWanted::Types
        }
        Scope::Tables => TablesWanted::Print,
        Scope::Row | Scope::All => TablesWanted::Nothing,
    }
}

fn use_of(title: &str) -> Option<SectionUse> {
    let mut sections = OF_ALL.iter().chain(OF_INSTANCE);
    sections.find(|(starts, ..)| begins(title, starts)).map(|(_, own_use, _)| *own_use)
}

fn is_detail(title: &str) -> bool {
    let start: String = title.chars().take(40).flat_map(char::to_lowercase).collect();
    ["- detail", "function/file", "multi-valued"].iter().any(|part| start.contains(part))
}

fn empty(document: &Document, kind: Kind, format: Format) -> Report {
    let mut report = Report { kind, format, ..Report::default() };
    report.database.started_to_the_minute = true;
    let mut seen = BTreeSet::new();
    let sections = document.sections.iter().filter(|(title, _)| seen.insert(title));
    report.sections = sections.map(|(title, line)| Section { title: title.clone(), line: *line }).collect();
    report
}

pub(crate) fn report(document: &Document, kind: Kind, format: Format, scope: Scope) -> Report {
    let mut report = empty(document, kind, format);
    report.notes.extend(document.cut_tables.iter().map(|title| {
        format!("the table '{title}' is larger than any that Oracle writes: only its beginning was read")
    }));
    header::fill(&mut report, document);
    let is_global = kind == Kind::AwrGlobal;
    for table in document.tables.iter().filter(|table| is_global || !is_detail(&table.title)) {
        let title = table.title.as_str();
        if let Some((.., read)) = OF_ALL.iter().find(|(starts, ..)| begins(title, starts)) {
            read(&mut report, table);
        } else if is_global {
            global::read(&mut report, table);
        } else if let Some((.., read)) = OF_INSTANCE.iter().find(|(starts, ..)| begins(title, starts)) {
            read(&mut report, table);
        }
    }
    labels(&mut report, document);
    report.histograms = histograms::histograms(&document.tables);
    if is_global {
        global::finish(&mut report);
    }
    if is_global || scope == Scope::Tables {
        let is_typed = |table: &Table| match is_global {
            true => {
                global::is_typed(table)
                    || OF_ALL.iter().any(|(starts, own, _)| *own != Unread && begins(&table.title, starts))
            }
            false => is_typed(table),
        };
        report.tables = sheets(document, is_typed);
    }
    repair(&mut report);
    report
}

fn is_typed(table: &Table) -> bool {
    let own_use = use_of(&table.title).filter(|own| *own != Unread && !is_detail(&table.title));
    own_use.is_some() && !begins(&table.title, &["rac statistics", "report summary"])
}

fn sheets(document: &Document, is_typed: impl Fn(&Table) -> bool) -> Vec<Sheet> {
    let head = |head: &Head| match head.group.is_empty() {
        true => head.name.clone(),
        false => format!("{}: {}", head.group, head.name),
    };
    let sheet = |table: &Table| Sheet {
        title: table.title.clone(),
        is_typed: is_typed(table),
        heads: table.heads.iter().map(head).collect(),
        rows: table.rows.iter().map(|row| row.cells.clone()).collect(),
    };
    let mut sheets: Vec<Sheet> = document.tables.iter().map(sheet).collect();
    let with_table: BTreeSet<&str> = document.tables.iter().map(|table| table.title.as_str()).collect();
    for pair in document.pairs.iter().filter(|pair| !with_table.contains(pair.section.as_str())) {
        let row = [pair.label.clone()].into_iter().chain(pair.values.iter().cloned()).collect();
        match sheets.last_mut().filter(|last| last.title == pair.section && last.heads.is_empty()) {
            Some(last) => last.rows.push(row),
            None => {
                let is_typed = begins(&pair.section, &["instance efficiency", "cache sizes"]);
                let title = pair.section.clone();
                sheets.push(Sheet { title, is_typed, heads: Vec::new(), rows: vec![row] });
            }
        }
    }
    sheets
}

fn labels(report: &mut Report, document: &Document) {
    for pair in &document.pairs {
        let value = |at: usize| pair.values.get(at).map(String::as_str);
        if begins(&pair.section, &["instance efficiency"]) && pair.label.contains('%') {
            let percent = value(0).and_then(number);
            report.efficiency.push(Percentage { name: pair.label.clone(), percent });
        } else if begins(&pair.section, &["cache sizes"]) && !pair.values.is_empty() {
            let begin_bytes = value(0).and_then(bytes);
            if pair.label.eq_ignore_ascii_case("Std Block Size") {
                report.database.block_bytes = begin_bytes.map(|size| size.value);
            } else if !report.cache_sizes.iter().any(|size| size.name == pair.label) {
                let end_bytes = value(1).and_then(bytes);
                report.cache_sizes.push(CacheSize { name: pair.label.clone(), begin_bytes, end_bytes });
            }
        }
    }
}

fn label(name: &str) -> Option<&str> {
    name.strip_suffix(':').map(str::trim)
}

fn index_of<T: Default>(lines: &mut Vec<T>, name: &str, name_of: fn(&mut T) -> &mut String) -> usize {
    lines.iter_mut().position(|line| name_of(line) == name).unwrap_or_else(|| {
        let mut line = T::default();
        name_of(&mut line).push_str(name);
        lines.push(line);
        lines.len() - 1
    })
}

fn load_profile(report: &mut Report, table: &Table) {
    let line = |line: LoadLine| Some(LoadLine { name: label(&line.name)?.to_owned(), ..line });
    report.load_profile.extend(table.lines::<LoadLine>().filter_map(line));
}

fn waits(table: &Table) -> impl Iterator<Item = WaitEvent> {
    let has = |patterns: &str| table.column(patterns).is_some();
    let is_of_waits = has(WAITS_COLUMN) && (has(TOTAL_COLUMN) || has(AVERAGE_COLUMN));
    let is_event = |event: &WaitEvent| {
        !event.name.is_empty()
            && (event.waits.is_some() || event.total_s.is_some() || event.percent.is_some())
    };
    wait_lines(table).filter(move |event| is_of_waits && is_event(event))
}

fn wait_lines(table: &Table) -> impl Iterator<Item = WaitEvent> {
    Columns::of(&table.columns(), WAIT_NAME.iter().chain(WaitEvent::FIELDS)).lines(&table.rows)
}

const KEY_STATISTICS: usize = 64;

/// Instance activity has three kinds of tables.
fn activity(report: &mut Report, table: &Table) {
    if table.has("beginvalue") {
        report.absolute_values.extend(table.lines());
    } else if table.has("perhour") {
        report.thread_activity.extend(table.lines());
    } else if table.has("total") {
        for line in table.lines::<Activity>() {
            // The table of all statistics repeats the key statistics.
            let is_same = |known: &Activity| *known == line;
            if !report.activity.iter().take(KEY_STATISTICS).any(is_same) {
                report.activity.push(line);
            }
        }
    }
}

fn parameters(report: &mut Report, table: &Table) {
    let Some(begin) = table.column("beginvalue*|value") else { return };
    let end = table.column("endvalue*");
    let is_multi_valued = table.title.to_lowercase().contains("multi");
    for row in &table.rows {
        let text = row.text(Some(begin)).unwrap_or_default();
        let end = row.text(end).map(str::to_owned);
        if row.name().is_empty() {
            // Text wraps long values; HTML and multi-valued parameters leave the name out.
            if let Some(last) = report.parameters.last_mut() {
                last.begin.push_str(text);
                if let Some(more) = end {
                    last.end.get_or_insert_default().push_str(&more);
                }
            }
            continue;
        }
        let name = row.name().trim_end_matches('*');
        if !is_multi_valued || !report.parameters.iter().any(|known| known.name == name) {
            report.parameters.push(Parameter { name: name.to_owned(), begin: text.to_owned(), end });
        }
    }
}

/// Headings come twice, `Reads: Data | Reqs per sec | Writes: Data | ...`: a column is of the side named last.
fn io_lines(table: &Table) -> Vec<IoLine> {
    let mut side = "";
    let with_side = |(column, head): (usize, &Head)| {
        let names = |side: &&str| head.name.starts_with(&format!("{side}s:")) || head.group == *side;
        side = ["read", "write", "wait"].into_iter().filter(|_| column > 0).find(names).unwrap_or(side);
        Head { group: format!("{side}/{}", head.group), name: head.name.clone() }
    };
    let heads: Vec<Head> = table.columns().map(with_side).collect();
    let columns = Columns::of(&heads.iter().enumerate(), IoLine::FIELDS);
    columns.lines(&table.rows).filter(IoLine::is_complete).collect()
}

fn io_profile(report: &mut Report, table: &Table) {
    if table.column("read+write*|read*&!*+*").is_some() {
        let line = |line: IoProfileLine| {
            let name = label(&line.name).unwrap_or(line.name.trim()).to_owned();
            IoProfileLine { name, ..line }
        };
        report.io_profile.extend(table.lines::<IoProfileLine>().map(line));
    }
}

fn io_name(heading: &str) -> &str {
    match heading {
        "total" | "totalreads" | "totalwrites" => "TOTAL:",
        "buffercache" | "cache" | "buffercachereads" => "Buffer Cache Reads",
        "directreads" => "Direct Reads",
        "directwrites" => "Direct Writes",
        "direct" => "Direct",
        "dbwr" => "DBWR",
        "lgwr" => "LGWR",
        "datafile" | "datafilereads" | "datafilewrites" => "Data File",
        "tempfile" | "tempfilereads" | "tempfilewrites" => "Temp File",
        "logfile" | "logfilereads" | "logfilewrites" => "Log File",
        other => other,
    }
}

fn set_io_rate(line: &mut IoLine, rate: Figure, is_data: bool, is_write: bool) {
    let field = match (is_data, is_write) {
        (true, false) => &mut line.read_bytes_per_s,
        (true, true) => &mut line.written_bytes_per_s,
        (false, false) => &mut line.reads_per_s,
        (false, true) => &mut line.writes_per_s,
    };
    *field = Some(if is_data { rate.times(MIB) } else { rate });
}

/// 13 letters and digits.
pub(crate) fn is_sql_id(text: &str) -> bool {
    text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

fn sql(report: &mut Report, table: &Table) {
    let Some(id) = table.column("sqlid") else { return };
    if report.kind != Kind::AwrGlobal {
        // Page heads cut a section of a text into several tables.
        if report.sql_sections.last().is_none_or(|last| last.title != table.title) {
            let title = table.title.clone();
            report.sql_sections.push(SqlSection { title, rows: Vec::new() });
        }
        report.sql_sections.last_mut().into_iter().for_each(|last| last.rows.extend(table.lines()));
    }
    let heads = table.columns();
    // A global report has the same headings three times: totals, by execution, and shares.
    let is_total = |(_, head): &(usize, &Head)| head.group.is_empty() || head.group == "total";
    let totals = Columns::of(&heads.clone().filter(is_total), SQL_TOTALS);
    let texts = Columns::of(&heads, SQL_TEXTS);
    let container = table.column(CONTAINER);
    let mut last = None;
    for (at, row) in table.rows.iter().enumerate() {
        let Some(name) = row.text(Some(id)).filter(|name| is_sql_id(name)) else {
            if let Some(at) = last {
                continue_sql(&mut report.top_sql[at], row);
            }
            continue;
        };
        let container = row.text(container).or_else(|| container_below(&table.rows[at + 1..]));
        let at = index_of_sql(&mut report.top_sql, name, container);
        let sql = &mut report.top_sql[at];
        // Text repeats a statement in each section.
        last = sql.text.is_empty().then_some(at);
        totals.fill(row, sql);
        texts.fill(row, sql);
    }
}

/// A section without containers means the only record with the id.
fn index_of_sql(statements: &mut Vec<SqlStatement>, id: &str, container: Option<&str>) -> usize {
    let mut same_id = statements.iter().enumerate().filter(|(_, sql)| sql.id == id);
    let found = match container {
        Some(_) => same_id.find(|(_, sql)| sql.container.as_deref() == container),
        None => same_id.next().filter(|_| same_id.next().is_none()),
    };
    let found = found.map(|(at, _)| at);
    let of_none = || {
        let is_own = |sql: &SqlStatement| sql.id == id && sql.container.is_none() && container.is_none();
        statements.iter().position(is_own)
    };
    found.or_else(of_none).unwrap_or_else(|| {
        let container = container.map(str::to_owned);
        statements.push(SqlStatement { id: id.to_owned(), container, ..SqlStatement::default() });
        statements.len() - 1
    })
}

fn container_below(rows: &[Row]) -> Option<&str> {
    let mut lines =
        rows.iter().take(2).take_while(|row| row.cells.len() == 1).map(|row| row.cells[0].as_str());
    lines.find_map(|line| line.trim_start().strip_prefix("PDB: ")).map(str::trim)
}

fn continue_sql(sql: &mut SqlStatement, row: &Row) {
    // Text breaks statements anywhere, and blanks at the break belong to them.
    let line = row.cells.first().map_or("", String::as_str);
    match line.strip_prefix("Module: ") {
        Some(module) if sql.text.is_empty() => sql.module = Some(module.trim().to_owned()),
        None if sql.text.is_empty() && line.trim_start().starts_with("PDB: ") => {}
        _ => sql.text.push_str(line),
    }
}

fn sql_plans(report: &mut Report, table: &Table) {
    let (Some(id), Some(plan)) = (table.column("sqlid"), table.column("planhash*")) else { return };
    let container = table.column(CONTAINER);
    let is_plan = |plan: &&str| plan.bytes().all(|byte| byte.is_ascii_digit());
    for row in &table.rows {
        let id = row.text(Some(id)).filter(|id| is_sql_id(id));
        if let Some((id, plan)) = id.zip(row.text(Some(plan)).filter(is_plan)) {
            let at = index_of_sql(&mut report.top_sql, id, row.text(container));
            let plans = &mut report.top_sql[at].plans;
            if !plans.iter().any(|known| known == plan) {
                plans.push(plan.to_owned());
            }
        }
    }
}

/// In `Segment Statistics (Global)` the statistic is a column.
fn segments(report: &mut Report, table: &Table) {
    // The value precedes its share.
    let value = table.column("value").or_else(|| table.column("%*|pcttotal")?.checked_sub(1));
    let mut statistic = table.title.split_once(" by ").map_or("", |(_, own)| own.trim()).to_owned();
    let mut above = Segment::default();
    for (row, line) in table.rows.iter().zip(table.lines::<Segment>()) {
        if !line.statistic.is_empty() {
            statistic.clone_from(&line.statistic);
        }
        if line.object.is_empty() {
            continue;
        }
        let value = row.number(value);
        if value.is_none() {
            // Text of 12.2 prints owner and tablespace in a line above the object and its part.
            above = Segment { owner: Some(line.object), tablespace: line.subobject, ..Segment::default() };
            continue;
        }
        let Segment { owner, tablespace, .. } = std::mem::take(&mut above);
        report.segments.push(Segment {
            statistic: statistic.clone(),
            owner: line.owner.or(owner),
            tablespace: line.tablespace.or(tablespace),
            value,
            ..line
        });
    }
}

/// Notes each repair.
fn repair(report: &mut Report) {
    let seconds = report.elapsed_s();
    let lines = [&mut report.io_by_function, &mut report.io_by_file_type];
    let restored = lines.map(|lines| restore_units(lines, seconds));
    report.units_were_restored = report.format == Format::Text && restored.contains(&true);
    report.notes.extend(repair_tablespaces(&mut report.tablespaces, &report.files));
    for classes in [&mut report.wait_classes, &mut report.all_wait_classes] {
        report.notes.extend(repair_classes(classes));
    }
}

/// Text of 11.2 prints `551.641M` without its last character. The unit is the one that fits Data / elapsed, or M where that says
/// nothing.
fn restore_units(lines: &mut [IoLine], elapsed_s: Option<f64>) -> bool {
    let mut restored = false;
    for line in lines {
        restored |= restore_unit(&mut line.read_bytes_per_s, line.read_bytes, elapsed_s);
        restored |= restore_unit(&mut line.written_bytes_per_s, line.written_bytes, elapsed_s);
    }
    restored
}

fn restore_unit(rate: &mut Option<Figure>, data: Option<Figure>, elapsed_s: Option<f64>) -> bool {
    // The resolution of a rate with a unit is a thousandth of a megabyte or more.
    let Some(bare) = rate.filter(|rate| rate.value > 0.0 && rate.resolution <= 1.0) else { return false };
    let expected = data.zip(elapsed_s).map(|(data, seconds)| data.value / seconds).filter(|rate| *rate > 0.0);
    let distance = |unit: &f64| expected.map_or(0.0, |expected| (bare.value * unit / expected).ln().abs());
    let units = [MIB, MIB * 1024.0, MIB * 1024.0 * 1024.0, MIB * MIB * 1024.0];
    let unit = units.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
    *rate = Some(bare.times(unit.unwrap_or(MIB)));
    true
}

/// Some releases print writes of tablespaces below `1-bk Rds/s`: taken if they are the writes of the files.
fn repair_tablespaces(tablespaces: &mut [FileIo], files: &[FileIo]) -> Option<String> {
    let sum = |lines: &[FileIo], of: fn(&FileIo) -> Option<Figure>| -> f64 {
        lines.iter().filter_map(of).map(|figure| figure.value).sum()
    };
    let expected = sum(files, |file| file.writes);
    let is_shifted = expected > 0.0
        && sum(tablespaces, |own| own.writes) != expected
        && sum(tablespaces, |own| own.one_block_rate) == expected;
    if !is_shifted {
        return None;
    }
    for own in tablespaces {
        own.writes = own.one_block_rate;
        own.writes_per_s = None;
    }
    Some("the headings of Tablespace IO Stats are shifted: writes stand below '1-bk Rds/s', as those of the files show".into())
}

/// One release exchanges total and average.
fn repair_classes(classes: &mut Vec<WaitEvent>) -> Option<String> {
    let fits = |event: &WaitEvent| -> Option<bool> {
        let (waits, total, average) = (event.waits?.value, event.total_s?, event.average_us?);
        let expected = total.times(1e6).per(waits)?;
        let slack = expected.resolution + average.resolution;
        Some((expected.value - average.value).abs() <= slack.max(0.02 * expected.value))
    };
    let score = |events: &[WaitEvent]| events.iter().filter_map(fits).filter(|fit| *fit).count();
    let count = classes.iter().filter_map(fits).count();
    if count < 3 || score(classes) * 2 > count {
        return None;
    }
    let mut exchanged = classes.clone();
    for event in &mut exchanged {
        let (total, average) = (event.total_s, event.average_us);
        event.total_s = average.map(|average| average.times(1e-3));
        event.average_us = total.map(|total| total.times(1e3));
    }
    if score(&exchanged) * 2 > count {
        *classes = exchanged;
        return Some(
            "the headings of the wait classes are shifted: total and average were told apart by arithmetic"
                .into(),
        );
    }
    Some("in the wait classes, total time, waits and average wait do not fit each other".into())
}
