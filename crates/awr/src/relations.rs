//! Reports as tables of a database: the same rows for every release and format. Columns carry their units in their names.

use crate::figure::Figure;
use crate::info::{Named, Value};
use crate::report::{FileIo, IoLine, Report, WaitEvent};

/// A table that all reports fill.
pub struct Relation {
    pub name: &'static str,
    /// Names of columns without the report's; texts begin with `@`.
    columns: &'static str,
    rows: fn(&Report) -> Vec<Vec<Option<Value>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    pub name: &'static str,
    pub is_text: bool,
}

impl Relation {
    pub fn columns(&self) -> impl Iterator<Item = RelationColumn> {
        columns(self.columns)
    }

    /// The rows of a report, with a cell for each column; `None` if the report lacks it.
    pub fn rows(&self, report: &Report) -> Vec<Vec<Option<Value>>> {
        (self.rows)(report)
    }
}

fn columns(names: &'static str) -> impl Iterator<Item = RelationColumn> {
    let column = |name: &'static str| match name.strip_prefix('@') {
        Some(name) => RelationColumn { name, is_text: true },
        None => RelationColumn { name, is_text: false },
    };
    names.split_whitespace().map(column)
}

type Cell = Option<Value>;

fn text(text: &str) -> Cell {
    Some(text).filter(|text| !text.is_empty()).map(|text| Value::Text(text.to_owned()))
}

fn words(words: &Option<String>) -> Cell {
    words.as_deref().and_then(text)
}

fn number(number: Option<f64>) -> Cell {
    number.filter(|number| number.is_finite()).map(Value::Number)
}

fn figure(figure: Option<Figure>) -> Cell {
    number(figure.map(|figure| figure.value))
}

const REPORT_COLUMNS: &str = "@file @period @kind @format @database @database_id @unique_name @role @release @instance \
    instance_number @container @host @platform cpus cores sockets memory_gb begin_snapshot end_snapshot @begin_time @end_time \
    elapsed_s db_time_s db_cpu_s @notes";

pub fn report_row(named: &Named) -> Vec<Cell> {
    let report = &named.report;
    let (database, host, interval) = (&report.database, &report.host, &report.interval);
    let snapshot = |snapshot: &Option<crate::report::Snapshot>| {
        number(snapshot.as_ref().and_then(|snapshot| snapshot.id).map(|id| id as f64))
    };
    let time = |time: Option<jiff::civil::DateTime>| {
        time.map(|time| Value::Text(time.strftime("%Y-%m-%d %H:%M:%S").to_string()))
    };
    let period = report.period.map(|period| Value::Number(f64::from(period as u8 + 1)));
    vec![
        text(&crate::info::part_of_file(&named.file, named.nth)),
        period.map(|period| Value::Text(period.plain())),
        text(&report.kind.to_string()),
        text(&report.format.to_string()),
        words(&database.name),
        words(&database.id),
        words(&database.unique_name),
        words(&database.role),
        words(&database.release),
        words(&database.instance),
        number(database.instance_number.map(f64::from)),
        words(&database.container),
        words(&host.name),
        words(&host.platform),
        number(report.cpus()),
        number(host.cores),
        number(host.sockets),
        number(host.memory_gb),
        snapshot(&interval.begin),
        snapshot(&interval.end),
        time(interval.begin_time()),
        time(interval.end_time()),
        number(report.elapsed_s()),
        figure(report.db_time_s()),
        figure(report.db_cpu_s()),
        text(&report.notes.join("; ")),
    ]
}

/// All tables but that of the reports themselves.
pub const RELATIONS: &[Relation] = &[
    Relation {
        name: "load_profile",
        columns: "@name per_second per_transaction per_exec per_call",
        rows: |report| {
            let row = |line: &crate::report::LoadLine| {
                let figures = [line.per_second, line.per_transaction, line.per_exec, line.per_call];
                [text(&line.name)].into_iter().chain(figures.map(figure)).collect()
            };
            report.load_profile.iter().map(row).collect()
        },
    },
    Relation {
        name: "time_model",
        columns: "@name seconds percent_of_db_time",
        rows: |report| {
            let lines = report.time_model.iter();
            lines
                .map(|line| vec![text(&line.name), figure(line.seconds), figure(line.percent_of_db_time)])
                .collect()
        },
    },
    Relation {
        name: "statistics",
        columns: "@name total per_second per_transaction",
        rows: |report| {
            let row = |line: &crate::report::Activity| {
                vec![
                    text(&line.name),
                    figure(line.total),
                    figure(report.per_s(line)),
                    figure(line.per_transaction),
                ]
            };
            report.activity.iter().map(row).collect()
        },
    },
    Relation {
        name: "os_statistics",
        columns: "@name value end_value",
        rows: |report| {
            let lines = report.os_statistics.iter();
            lines.map(|line| vec![text(&line.name), figure(line.value), figure(line.end)]).collect()
        },
    },
    Relation {
        name: "events",
        columns: "@scope @name @class waits total_s mean_us percent @percent_of",
        rows: events,
    },
    Relation {
        name: "histograms",
        columns: "@event from_us to_us percent waits",
        rows: |report| {
            let buckets = |own: &crate::histogram::EventHistogram| {
                let row = |bucket: &crate::histogram::Bucket| {
                    let waits = own.waits.map(|waits| bucket.waits_of(waits.value));
                    let from_to = [number(Some(bucket.from_us)), number(bucket.to_us)];
                    let shares = [figure(Some(bucket.percent)), number(waits)];
                    [text(&own.event)].into_iter().chain(from_to).chain(shares).collect()
                };
                own.buckets.iter().map(row).collect::<Vec<_>>()
            };
            report.histograms.iter().flat_map(buckets).collect()
        },
    },
    Relation {
        name: "sql",
        columns: "@sql_id @container @module elapsed_s cpu_s io_wait_s gets reads executions rows parse_calls sharable_bytes \
            versions @plans @text",
        rows: |report| {
            let row = |sql: &crate::report::SqlStatement| {
                let names = [text(&sql.id), words(&sql.container), words(&sql.module)];
                let times = [sql.elapsed_s, sql.cpu_s, sql.io_wait_s];
                let work = [
                    sql.gets,
                    sql.reads,
                    sql.executions,
                    sql.rows,
                    sql.parse_calls,
                    sql.sharable_bytes,
                    sql.versions,
                ];
                let texts = [
                    text(&sql.plans.join(" ")),
                    text(&sql.text.split_whitespace().collect::<Vec<_>>().join(" ")),
                ];
                names.into_iter().chain(times.map(figure)).chain(work.map(figure)).chain(texts).collect()
            };
            report.top_sql.iter().map(row).collect()
        },
    },
    Relation {
        name: "segments",
        columns: "@statistic @owner @tablespace @object @subobject @type @container value percent",
        rows: |report| {
            let row = |own: &crate::report::Segment| {
                let names =
                    [text(&own.statistic), words(&own.owner), words(&own.tablespace), text(&own.object)];
                let more = [words(&own.subobject), words(&own.kind), words(&own.container)];
                names.into_iter().chain(more).chain([figure(own.value), figure(own.percent)]).collect()
            };
            report.segments.iter().map(row).collect()
        },
    },
    Relation {
        name: "io",
        columns: "@kind @name read_bytes reads_per_s read_bytes_per_s written_bytes writes_per_s written_bytes_per_s waits mean_us",
        rows: |report| {
            let row = |kind: &str, line: &IoLine| {
                let read = [line.read_bytes, line.reads_per_s, line.read_bytes_per_s];
                let written = [line.written_bytes, line.writes_per_s, line.written_bytes_per_s];
                let waits = [line.waits, line.average_us];
                let names = [text(kind), text(&line.name)];
                names
                    .into_iter()
                    .chain(read.map(figure))
                    .chain(written.map(figure))
                    .chain(waits.map(figure))
                    .collect()
            };
            let functions = report.io_by_function.iter().map(|line| row("function", line));
            functions.chain(report.io_by_file_type.iter().map(|line| row("file type", line))).collect()
        },
    },
    Relation {
        name: "files",
        columns: "@kind @tablespace @file reads reads_per_s read_us blocks_per_read writes writes_per_s buffer_waits buffer_wait_us",
        rows: |report| {
            let row = |kind: &str, own: &FileIo| {
                let reads = [own.reads, own.reads_per_s, own.read_us, own.blocks_per_read];
                let writes = [own.writes, own.writes_per_s, own.buffer_waits, own.buffer_wait_us];
                let names = [text(kind), text(&own.tablespace), words(&own.file)];
                names.into_iter().chain(reads.map(figure)).chain(writes.map(figure)).collect()
            };
            let tablespaces = report.tablespaces.iter().map(|own| row("tablespace", own));
            tablespaces.chain(report.files.iter().map(|own| row("file", own))).collect()
        },
    },
    Relation {
        name: "parameters",
        columns: "@name @value @end_value",
        rows: |report| {
            let lines = report.parameters.iter();
            lines.map(|own| vec![text(&own.name), text(&own.begin), words(&own.end)]).collect()
        },
    },
];

fn events(report: &Report) -> Vec<Vec<Cell>> {
    let lists: [(&str, &[WaitEvent]); 6] = [
        ("top", &report.top_events),
        ("foreground", &report.foreground_events),
        ("background", &report.background_events),
        ("all", &report.all_events),
        ("foreground class", &report.wait_classes),
        ("class", &report.all_wait_classes),
    ];
    let row = |scope: &str, event: &WaitEvent| {
        let of = event.percent_of.filter(|_| event.percent.is_some()).map(|of| match of {
            crate::report::ShareOf::DbTime => "DB time",
            crate::report::ShareOf::BackgroundTime => "background time",
            crate::report::ShareOf::CallTime => "call time",
        });
        vec![
            text(scope),
            text(&event.name),
            words(&event.class),
            figure(event.waits),
            figure(event.time_s()),
            number(event.mean_us().and_then(Figure::known)),
            figure(event.percent),
            of.and_then(text),
        ]
    };
    lists.into_iter().flat_map(|(scope, list)| list.iter().map(move |event| row(scope, event))).collect()
}

pub fn report_columns() -> impl Iterator<Item = RelationColumn> {
    columns(REPORT_COLUMNS)
}
