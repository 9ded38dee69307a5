//! SQL: `SQL ordered by ...`, and which plans the samples of ASH saw.

use super::profile::cell;
use crate::figure::Figure;
use crate::report::{Report, SqlStatement};
use crate::table::{Head, Row, Table};

/// Letters and digits of a SQL Id.
const ID_LENGTH: usize = 13;

/// Whether a text is a SQL Id.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

/// Of a statement the totals; what is by execution, or a share, follows from them.
type Total = (fn(&str) -> bool, fn(&mut SqlStatement) -> &mut Option<Figure>);

const TOTALS: [Total; 7] = [
    (|head| matches!(head, "elapsedtime(s)" | "elapsed(s)"), |sql| &mut sql.elapsed_s),
    (|head| matches!(head, "cputime(s)" | "cpu(s)"), |sql| &mut sql.cpu_s),
    (|head| matches!(head, "useri/otime(s)" | "iowait(s)"), |sql| &mut sql.io_wait_s),
    (|head| matches!(head, "buffergets" | "gets"), |sql| &mut sql.gets),
    (|head| matches!(head, "physicalreads" | "diskreads" | "reads"), |sql| &mut sql.reads),
    (|head| matches!(head, "executions" | "execs"), |sql| &mut sql.executions),
    (|head| matches!(head, "rowsprocessed" | "rows"), |sql| &mut sql.rows),
];

/// What a table adds to the statements: each of them once, with all that any section says of it.
pub(super) fn fill(report: &mut Report, table: &Table) {
    let Some(id) = table.column(|head| head == "sqlid") else { return };
    // A global report has the same headings three times: totals, by execution, and shares.
    let is_total = |head: &Head| head.group.is_empty() || head.group == "total";
    let at = |fits: fn(&str) -> bool| table.heads.iter().position(|head| is_total(head) && fits(&head.name));
    let totals = TOTALS.map(|(fits, field)| (at(fits), field));
    let module = table.column(|head| head == "sqlmodule");
    let text = table.column(|head| head == "sqltext");
    let container = table.column(|head| head == "pdbname" || head == "containername");
    let mut last = None;
    for row in &table.rows {
        let Some(name) = row.text(Some(id)).filter(|name| is_id(name)) else {
            if let Some(at) = last {
                continued(&mut report.top_sql[at], row);
            }
            continue;
        };
        let at = place(&mut report.top_sql, name);
        let is_new = report.top_sql[at].text.is_empty();
        let sql = &mut report.top_sql[at];
        for (column, field) in totals {
            let known = field(sql);
            *known = Figure::finer(*known, cell(row, column));
        }
        let words = |column| row.text(column).map(str::to_owned);
        sql.module = sql.module.take().or_else(|| words(module));
        sql.container = sql.container.take().or_else(|| words(container));
        if let Some(words) = words(text).filter(|words| words.len() > sql.text.len()) {
            sql.text = words;
        }
        // Text lists a statement in each section again.
        last = is_new.then_some(at);
    }
}

/// A line below a statement in a text: its module, or a piece of it.
fn continued(sql: &mut SqlStatement, row: &Row) {
    // Text breaks statements anywhere, and blanks at the break belong to them.
    let line = row.cells.first().map_or("", String::as_str);
    match line.strip_prefix("Module: ") {
        Some(module) if sql.text.is_empty() => sql.module = Some(module.trim().to_owned()),
        _ => sql.text.push_str(line),
    }
}

fn place(statements: &mut Vec<SqlStatement>, id: &str) -> usize {
    statements.iter().position(|known| known.id == id).unwrap_or_else(|| {
        statements.push(SqlStatement { id: id.to_owned(), ..SqlStatement::default() });
        statements.len() - 1
    })
}

/// `Top SQL with Top Events`: the plans that samples of ASH saw.
pub(super) fn plans(report: &mut Report, table: &Table) {
    let (Some(id), Some(plan)) =
        (table.column(|head| head == "sqlid"), table.column(|head| head.starts_with("planhash")))
    else {
        return;
    };
    for row in &table.rows {
        let Some(name) = row.text(Some(id)).filter(|name| is_id(name)) else { continue };
        let Some(plan) = row.text(Some(plan)).filter(|plan| plan.bytes().all(|byte| byte.is_ascii_digit()))
        else {
            continue;
        };
        let at = place(&mut report.top_sql, name);
        let plans = &mut report.top_sql[at].plans;
        if !plans.iter().any(|known| known == plan) {
            plans.push(plan.to_owned());
        }
    }
}
