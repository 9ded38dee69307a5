//! Reports as tables of a database, the same for every release and format.

use jiff::civil::DateTime;

use crate::figure::Figure;
use crate::info::{Named, Value, part_of_file};
use crate::report::{Report, ShareOf, WaitEvent};

pub(crate) type Cell = Option<Value>;

pub struct Relation {
    pub name: &'static str,
    /// Names without the report's number; those of texts begin with `@`.
    columns: &'static [&'static str],
    rows: fn(&Named) -> Vec<Vec<Cell>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    pub name: &'static str,
    pub is_text: bool,
}

impl Relation {
    pub fn columns(&self) -> impl Iterator<Item = RelationColumn> {
        self.columns.iter().map(|name| match name.strip_prefix('@') {
            Some(name) => RelationColumn { name, is_text: true },
            None => RelationColumn { name, is_text: false },
        })
    }

    pub fn rows(&self, named: &Named) -> Vec<Vec<Cell>> {
        (self.rows)(named)
    }
}

pub(crate) trait ToCell {
    fn cell(&self) -> Cell;
}

impl ToCell for str {
    fn cell(&self) -> Cell {
        Some(self).filter(|text| !text.is_empty()).map(|text| Value::Text(text.to_owned()))
    }
}

impl ToCell for String {
    fn cell(&self) -> Cell {
        self.as_str().cell()
    }
}

impl ToCell for f64 {
    fn cell(&self) -> Cell {
        self.is_finite().then_some(Value::Number(*self))
    }
}

impl ToCell for Figure {
    fn cell(&self) -> Cell {
        self.value.cell()
    }
}

impl ToCell for DateTime {
    fn cell(&self) -> Cell {
        self.strftime("%Y-%m-%d %H:%M:%S").to_string().cell()
    }
}

impl<T: ToCell + ?Sized> ToCell for &T {
    fn cell(&self) -> Cell {
        (**self).cell()
    }
}

impl<T: ToCell> ToCell for Option<T> {
    fn cell(&self) -> Cell {
        self.as_ref()?.cell()
    }
}

macro_rules! relation {
    ($name:literal, |$named:ident| $lines:expr, |$line:pat_param| { $($column:literal: $cell:expr,)* }) => {
        Relation {
            name: $name,
            columns: &[$($column),*],
            rows: |$named| $lines.into_iter().map(|$line| vec![$($cell.cell()),*]).collect(),
        }
    };
}

/// The table of the reports themselves comes first.
pub const RELATIONS: &[Relation] = &[
    relation!("reports", |named| [(named, &named.report)], |(named, report)| {
        "@file": part_of_file(&named.file, named.nth),
        "@period": report.period.map(|period| (period as u8 + 1).to_string()),
        "@kind": report.kind.to_string(),
        "@format": report.format.to_string(),
        "@database": report.database.name,
        "@database_id": report.database.id,
        "@unique_name": report.database.unique_name,
        "@role": report.database.role,
        "@release": report.database.release,
        "@instance": report.database.instance,
        "instance_number": report.database.instance_number.map(f64::from),
        "@container": report.database.container,
        "@host": report.host.name,
        "@platform": report.host.platform,
        "cpus": report.cpus(),
        "cores": report.host.cores,
        "sockets": report.host.sockets,
        "memory_gb": report.host.memory_gb,
        "begin_snapshot": report.interval.begin.as_ref().and_then(|snapshot| Some(snapshot.id? as f64)),
        "end_snapshot": report.interval.end.as_ref().and_then(|snapshot| Some(snapshot.id? as f64)),
        "@begin_time": report.interval.begin_time(),
        "@end_time": report.interval.end_time(),
        "elapsed_s": report.elapsed_s(),
        "db_time_s": report.db_time_s(),
        "db_cpu_s": report.db_cpu_s(),
        "@notes": report.notes.join("; "),
    }),
    relation!("load_profile", |named| &named.report.load_profile, |line| {
        "@name": line.name,
        "per_second": line.per_second,
        "per_transaction": line.per_transaction,
        "per_exec": line.per_exec,
        "per_call": line.per_call,
    }),
    relation!("time_model", |named| &named.report.time_model, |line| {
        "@name": line.name,
        "seconds": line.seconds,
        "percent_of_db_time": line.percent_of_db_time,
    }),
    relation!("statistics", |named| with_report(named, &named.report.activity), |(report, line)| {
        "@name": line.name,
        "total": line.total,
        "per_second": report.per_s(line),
        "per_transaction": line.per_transaction,
    }),
    relation!("os_statistics", |named| &named.report.os_statistics, |line| {
        "@name": line.name,
        "value": line.value,
        "end_value": line.end,
    }),
    relation!("events", |named| events(&named.report), |(scope, event)| {
        "@scope": scope,
        "@name": event.name,
        "@class": event.class,
        "waits": event.waits,
        "total_s": event.time_s(),
        "mean_us": event.mean_us().and_then(Figure::known),
        "percent": event.percent,
        "@percent_of": event.percent_of.filter(|_| event.percent.is_some()).map(|of| match of {
            ShareOf::DbTime => "DB time",
            ShareOf::BackgroundTime => "background time",
            ShareOf::CallTime => "call time",
        }),
    }),
    relation!(
        "histograms",
        |named| named.report.histograms.iter().flat_map(|own| own.buckets.iter().map(move |bucket| (own, bucket))),
        |(own, bucket)| {
            "@event": own.event,
            "from_us": bucket.from_us,
            "to_us": bucket.to_us,
            "percent": bucket.percent,
            "waits": own.waits.map(|waits| bucket.waits_of(waits.value)),
        }
    ),
    relation!("sql", |named| &named.report.top_sql, |sql| {
        "@sql_id": sql.id,
        "@container": sql.container,
        "@module": sql.module,
        "elapsed_s": sql.elapsed_s,
        "cpu_s": sql.cpu_s,
        "io_wait_s": sql.io_wait_s,
        "gets": sql.gets,
        "reads": sql.reads,
        "executions": sql.executions,
        "rows": sql.rows,
        "parse_calls": sql.parse_calls,
        "sharable_bytes": sql.sharable_bytes,
        "versions": sql.versions,
        "@plans": sql.plans.join(" "),
        "@text": sql.text.split_whitespace().collect::<Vec<_>>().join(" "),
    }),
    relation!("segments", |named| &named.report.segments, |own| {
        "@statistic": own.statistic,
        "@owner": own.owner,
        "@tablespace": own.tablespace,
        "@object": own.object,
        "@subobject": own.subobject,
        "@type": own.kind,
        "@container": own.container,
        "value": own.value,
        "percent": own.percent,
    }),
    relation!(
        "io",
        |named| of_kinds(
            [("function", &named.report.io_by_function), ("file type", &named.report.io_by_file_type)]
        ),
        |(kind, line)| {
            "@kind": kind,
            "@name": line.name,
            "read_bytes": line.read_bytes,
            "reads_per_s": line.reads_per_s,
            "read_bytes_per_s": line.read_bytes_per_s,
            "written_bytes": line.written_bytes,
            "writes_per_s": line.writes_per_s,
            "written_bytes_per_s": line.written_bytes_per_s,
            "waits": line.waits,
            "mean_us": line.average_us,
        }
    ),
    relation!(
        "files",
        |named| of_kinds([("tablespace", &named.report.tablespaces), ("file", &named.report.files)]),
        |(kind, own)| {
            "@kind": kind,
            "@tablespace": own.tablespace,
            "@file": own.file,
            "reads": own.reads,
            "reads_per_s": own.reads_per_s,
            "read_us": own.read_us,
            "blocks_per_read": own.blocks_per_read,
            "writes": own.writes,
            "writes_per_s": own.writes_per_s,
            "buffer_waits": own.buffer_waits,
            "buffer_wait_us": own.buffer_wait_us,
        }
    ),
    relation!("parameters", |named| &named.report.parameters, |own| {
        "@name": own.name,
        "@value": own.begin,
        "@end_value": own.end,
    }),
];

fn with_report<'a, T>(named: &'a Named, lines: &'a [T]) -> impl Iterator<Item = (&'a Report, &'a T)> {
    lines.iter().map(|line| (&named.report, line))
}

fn of_kinds<'a, T, const N: usize>(
    lists: [(&'static str, &'a Vec<T>); N],
) -> impl Iterator<Item = (&'static str, &'a T)> {
    lists.into_iter().flat_map(|(kind, lines)| lines.iter().map(move |line| (kind, line)))
}

fn events(report: &Report) -> impl Iterator<Item = (&'static str, &WaitEvent)> {
    of_kinds([
        ("top", &report.top_events),
        ("foreground", &report.foreground_events),
        ("background", &report.background_events),
        ("all", &report.all_events),
        ("foreground class", &report.wait_classes),
        ("class", &report.all_wait_classes),
    ])
}
