//! Instance activity and parameters.

use super::profile::cell;
use crate::report::{AbsoluteValue, Activity, Parameter, Report, ThreadActivity};
use crate::table::Table;

/// Instance activity comes in three kinds of tables, told by their headings.
pub(super) fn fill(report: &mut Report, table: &Table) {
    let column = |name: &'static str| table.column(move |head| head == name);
    let names =
        || table.rows.iter().map(|row| (row, row.name().to_owned())).filter(|(_, name)| !name.is_empty());
    if let Some(begin) = column("beginvalue") {
        let end = column("endvalue");
        report.absolute_values.extend(names().map(|(row, name)| AbsoluteValue {
            name,
            begin: cell(row, Some(begin)),
            end: cell(row, end),
        }));
    } else if let Some(hour) = column("perhour") {
        let total = column("total");
        report.thread_activity.extend(names().map(|(row, name)| ThreadActivity {
            name,
            total: cell(row, total),
            per_hour: cell(row, Some(hour)),
        }));
    } else if let Some(total) = column("total") {
        let (second, transaction) = (column("persecond"), table.column(|head| head.starts_with("pertrans")));
        for (row, name) in names() {
            // The key statistics come again in the table of all of them.
            let line = Activity {
                name,
                total: cell(row, Some(total)),
                per_second: cell(row, second),
                per_transaction: cell(row, transaction),
            };
            let is_known = |known: &Activity| known.name == line.name && known.total == line.total;
            if !report.activity.iter().take(KEY_STATISTICS).any(is_known) {
                report.activity.push(line);
            }
        }
    }
}

/// There are fewer key statistics than this.
const KEY_STATISTICS: usize = 64;

pub(super) fn parameters(report: &mut Report, table: &Table) {
    let Some(begin) = table.column(|head| head.starts_with("beginvalue") || head == "value") else { return };
    let end = table.column(|head| head.starts_with("endvalue"));
    for row in &table.rows {
        let text = row.text(Some(begin)).unwrap_or_default();
        let ends = row.text(end).map(str::to_owned);
        match report.parameters.last_mut() {
            // Text wraps long values; HTML and multi-valued parameters leave the name out.
            Some(last) if row.name().is_empty() => {
                last.begin.push_str(text);
                if let Some(more) = ends {
                    last.end.get_or_insert_default().push_str(&more);
                }
            }
            _ if row.name().is_empty() => {}
            _ => {
                let name = row.name().trim_end_matches('*').to_owned();
                if !table.title.to_lowercase().contains("multi")
                    || !report.parameters.iter().any(|known| known.name == name)
                {
                    report.parameters.push(Parameter { name, begin: text.to_owned(), end: ends });
                }
            }
        }
    }
}
