//! Rows of what sessions did: a row for each statement or segment, beside what its report is of.

use super::{Named, Value};
use crate::figure::Figure;
use crate::report::{Report, Segment, SqlStatement};

/// What a table has rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// SQL statements, the one that took most time first.
    Statements,
    /// Segments by what was done to them, as the report orders them.
    Segments,
}

/// What stands in a row before what it is of.
const OF_REPORT: [&str; 6] =
    ["Filename", "Database Name", "Instance Name", "Begin Time", "End Time", "Elapsed Time (s)"];

const OF_STATEMENT: [&str; 14] = [
    "SQL Id",
    "Module",
    "Container",
    "SQL Elapsed Time (s)",
    "SQL %DBTime",
    "CPU Time (s)",
    "User I/O Time (s)",
    "Buffer Gets",
    "Physical Reads",
    "Executions",
    "Rows Processed",
    "Elapsed Time per Execution (s)",
    "Plans",
    "SQL Text",
];

const OF_SEGMENT: [&str; 8] =
    ["Statistic", "Owner", "Tablespace", "Object", "Subobject", "Object Type", "Value", "%Total"];

type Cells = Vec<Option<Value>>;

impl Work {
    /// The names of its columns.
    #[must_use]
    pub fn heads(self) -> Vec<&'static str> {
        match self {
            Self::Statements => [&OF_REPORT[..], &OF_STATEMENT].concat(),
            Self::Segments => [&OF_REPORT[..], &OF_SEGMENT].concat(),
        }
    }

    /// The rows of a report, with a cell for each of the heads; `None` is not in the report.
    #[must_use]
    pub fn rows(self, named: &Named) -> Vec<Cells> {
        let report = &named.report;
        let own = of_report(named);
        let whole = |cells: Cells| [own.clone(), cells].concat();
        match self {
            Self::Statements => {
                let mut statements: Vec<&SqlStatement> = report.top_sql.iter().collect();
                let seconds = |sql: &SqlStatement| sql.elapsed_s.map_or(-1.0, |figure| figure.value);
                statements.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
                statements.into_iter().map(|sql| whole(statement(sql, report))).collect()
            }
            Self::Segments => report.segments.iter().map(|own| whole(segment(own))).collect(),
        }
    }
}

fn text(words: Option<&str>) -> Option<Value> {
    words.filter(|words| !words.is_empty()).map(|words| Value::Text(words.to_owned()))
}

fn number(figure: Option<Figure>) -> Option<Value> {
    figure.map(|figure| Value::Number(figure.value))
}

fn of_report(named: &Named) -> Cells {
    let Report { database, interval, .. } = &named.report;
    let time = |snapshot: &Option<crate::report::Snapshot>| {
        let time = snapshot.as_ref()?.time?;
        Some(Value::Text(time.strftime("%Y-%m-%d %H:%M:%S").to_string()))
    };
    vec![
        Some(Value::Text(named.label())),
        text(database.name.as_deref()),
        text(database.instance.as_deref()),
        time(&interval.begin),
        time(&interval.end),
        number(named.report.elapsed()),
    ]
}

fn statement(sql: &SqlStatement, report: &Report) -> Cells {
    let share = || Some(100.0 * sql.elapsed_s?.value / report.db_time_s()?.known()?);
    let per_execution = || {
        sql.elapsed_s?.known()?;
        sql.elapsed_s?.per(sql.executions?.value)
    };
    // Lines of a statement are one cell.
    let words = sql.text.split_whitespace().collect::<Vec<_>>().join(" ");
    vec![
        text(Some(&sql.id)),
        text(sql.module.as_deref()),
        text(sql.container.as_deref()),
        number(sql.elapsed_s),
        share().map(Value::Number),
        number(sql.cpu_s),
        number(sql.io_wait_s),
        number(sql.gets),
        number(sql.reads),
        number(sql.executions),
        number(sql.rows),
        number(per_execution()),
        text(Some(&sql.plans.join(" "))),
        text(Some(&words)),
    ]
}

fn segment(segment: &Segment) -> Cells {
    vec![
        text(Some(&segment.statistic)),
        text(segment.owner.as_deref()),
        text(segment.tablespace.as_deref()),
        text(Some(&segment.object)),
        text(segment.subobject.as_deref()),
        text(segment.kind.as_deref()),
        number(segment.value),
        number(segment.percent),
    ]
}
